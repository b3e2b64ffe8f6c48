#include "common/sha256.h"

#include <openssl/evp.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace whetstone {
namespace {

class Hasher {
 public:
  Hasher() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    CHECK(context_ != nullptr && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
  }
  void Add(const void* data, size_t size) {
    CHECK(EVP_DigestUpdate(context_.get(), data, size) == 1);
  }
  std::string Hex() {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    CHECK(EVP_DigestFinal_ex(context_.get(), digest, &size) == 1);
    return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(digest), size));
  }

 private:
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_;
};

}  // namespace

std::string Sha256Hex(absl::string_view bytes) {
  Hasher hasher;
  hasher.Add(bytes.data(), bytes.size());
  return hasher.Hex();
}

absl::StatusOr<std::string> Sha256HexOfFile(const std::string& path) {
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "rb"));
  if (!file) return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", path));
  Hasher hasher;
  std::vector<char> buffer(1 << 20);
  while (size_t n = std::fread(buffer.data(), 1, buffer.size(), file.get())) {
    hasher.Add(buffer.data(), n);
  }
  if (std::ferror(file.get())) return absl::ErrnoToStatus(EIO, absl::StrCat("cannot read ", path));
  return hasher.Hex();
}

}  // namespace whetstone
