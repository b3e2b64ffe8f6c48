#include "cpu_bench_worker/object_hash.h"

#include <elf.h>

#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/sha256.h"

namespace whetstone {
namespace {

// The object comes out of a sandbox: nothing in it is believed.
bool Inside(uint64_t offset, uint64_t size, size_t total) {
  return offset <= total && size <= total - offset;
}

}  // namespace

absl::StatusOr<std::string> ObjectHash(absl::string_view bytes, absl::string_view context) {
  Elf64_Ehdr header;
  if (bytes.size() < sizeof header) return absl::InvalidArgumentError("the object is too short");
  std::memcpy(&header, bytes.data(), sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_shentsize != sizeof(Elf64_Shdr) ||
      !Inside(header.e_shoff, uint64_t{header.e_shnum} * sizeof(Elf64_Shdr), bytes.size()))
    return absl::InvalidArgumentError("the object is not a 64-bit little-endian ELF file");
  std::string loaded = absl::StrCat(context, "\n");
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, bytes.data() + header.e_shoff + i * sizeof section, sizeof section);
    if ((section.sh_flags & SHF_ALLOC) == 0 || section.sh_type == SHT_NOTE) continue;
    absl::StrAppend(&loaded, section.sh_type, " ", section.sh_flags, " ", section.sh_addr, " ",
                    section.sh_size, "\n");
    if (section.sh_type == SHT_NOBITS) continue;
    if (!Inside(section.sh_offset, section.sh_size, bytes.size()))
      return absl::InvalidArgumentError("a section of the object lies outside of it");
    loaded.append(bytes.data() + section.sh_offset, section.sh_size);
  }
  return Sha256Hex(loaded);
}

}  // namespace whetstone
