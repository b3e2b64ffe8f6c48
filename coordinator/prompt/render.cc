#include "coordinator/prompt/render.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/problem/struct_type.h"

namespace whetstone {
namespace {
constexpr char kRequest[] =
    "Rewrite this function so that it runs faster. Keep its name and signature.";
}

std::vector<v1::Message> RenderMessages(absl::string_view prose, absl::string_view code) {
  v1::Message message;
  message.set_role("user");
  message.set_content(
      absl::StrCat(prose, prose.empty() ? "" : "\n\n", kRequest, "\n```cpp\n", code, "\n```"));
  return {message};
}

std::vector<v1::Message> RenderMessages(const v1::Problem& problem) {
  const std::string structs = StructText(problem);
  if (structs.empty()) return RenderMessages(problem.prose(), problem.reference());
  // What stood above the function in the file may be blank now (WithoutStructs).
  return RenderMessages(
      problem.prose(),
      absl::StrCat(structs, "\n", absl::StripLeadingAsciiWhitespace(problem.reference())));
}

std::string RenderAnswer(absl::string_view code) { return absl::StrCat("```cpp\n", code, "\n```"); }

}  // namespace whetstone
