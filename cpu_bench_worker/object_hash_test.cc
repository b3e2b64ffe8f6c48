#include "cpu_bench_worker/object_hash.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>

namespace whetstone {
namespace {

// A tiny ELF object: header, two sections' bytes, two section headers.
std::string MakeElf(const std::string& loaded, const std::string& unloaded) {
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 2;
  header.e_shoff = sizeof header + loaded.size() + unloaded.size();
  Elf64_Shdr sections[2] = {};
  sections[0].sh_type = SHT_PROGBITS;
  sections[0].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
  sections[0].sh_offset = sizeof header;
  sections[0].sh_size = loaded.size();
  sections[1].sh_type = SHT_PROGBITS;
  sections[1].sh_offset = sizeof header + loaded.size();
  sections[1].sh_size = unloaded.size();
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  bytes += loaded + unloaded;
  bytes.append(reinterpret_cast<const char*>(sections), sizeof sections);
  return bytes;
}

TEST(ObjectHashTest, OnlyWhatIsLoadedCounts) {
  const auto hash = ObjectHash(MakeElf("code", "debug"), "flags");
  ASSERT_TRUE(hash.ok()) << hash.status();
  EXPECT_EQ(hash->size(), 64u);
  EXPECT_EQ(*hash, *ObjectHash(MakeElf("code", "other"), "flags"));
  EXPECT_NE(*hash, *ObjectHash(MakeElf("cod2", "debug"), "flags"));
  EXPECT_NE(*hash, *ObjectHash(MakeElf("code", "debug"), "other flags"));
}

TEST(ObjectHashTest, MalformedObjectsAreRefused) {
  const std::string good = MakeElf("code", "debug");
  EXPECT_FALSE(ObjectHash("", "").ok());
  EXPECT_FALSE(ObjectHash(std::string(64, 'x'), "").ok());
  // Every truncation and every single corrupt byte: an error or a hash, never a crash.
  for (size_t n = 0; n < good.size(); ++n) {
    (void)ObjectHash(good.substr(0, n), "");
    std::string bad = good;
    bad[n] = static_cast<char>(0xFF);
    (void)ObjectHash(bad, "");
  }
  std::string outside = good;
  const uint64_t huge = ~uint64_t{0} - 8;
  std::memcpy(
      outside.data() + good.size() - 2 * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_offset),
      &huge, sizeof huge);
  EXPECT_FALSE(ObjectHash(outside, "").ok());
}

}  // namespace
}  // namespace whetstone
