// The input is a preprocessed header, a zero byte, and a program: names are read without a fault,
// and none can be hidden behind what a program begins with.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "common/status_macros.h"
#include "cpu_bench_worker/build/header_names.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace whetstone;
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t header_size = std::min(text.find('\0'), size);
  const std::string header(text.substr(0, header_size));
  const std::string program(text.substr(std::min(header_size + 1, size)));
  const HeaderNames names("", "int brought;\n" + header);
  CHECK(names.UsedBy("int f() { return brought; }"));
  CHECK(names.UsedBy(program) || names.UsedBy(program + "\nbrought"));
  return 0;
}
