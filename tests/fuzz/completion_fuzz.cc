// The program found in a completion is text of that completion, whatever the fences; the first line
// of the input stands for the response prefix.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"
#include "coordinator/durable/code_extractor.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace whetstone;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const size_t line = text.find('\n');
  const std::string prefix = line == std::string::npos ? "" : text.substr(0, line + 1);
  const std::string completion = line == std::string::npos ? text : text.substr(line + 1);
  const std::optional<std::string> code = ExtractCode(completion, prefix);
  if (!code.has_value()) return 0;
  CHECK(code->find_first_not_of(" \t\r\n") != std::string::npos);
  // Line ends may be made plain.
  const auto plain = [](const std::string& s) { return absl::StrReplaceAll(s, {{"\r", ""}}); };
  CHECK(absl::StrContains(plain(prefix + completion) + "\n", plain(*code)));
  return 0;
}
