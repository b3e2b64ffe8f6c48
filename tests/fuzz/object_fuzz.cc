// An object file that a hostile source made the compiler write: an error, or a hash that depends on
// nothing but the bytes and the context.
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "common/status_macros.h"
#include "cpu_bench_worker/object_hash.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace whetstone;
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<std::string> hash = ObjectHash(bytes, "-O3");
  if (!hash.ok()) return 0;
  const absl::StatusOr<std::string> again = ObjectHash(bytes, "-O3");
  const absl::StatusOr<std::string> other = ObjectHash(bytes, "-O2");
  CHECK(hash->size() == 64 && again.ok() && *again == *hash);
  CHECK(other.ok() && *other != *hash);
  return 0;
}
