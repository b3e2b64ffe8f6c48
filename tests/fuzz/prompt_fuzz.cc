// A prompt file is an error that names its place, or a problem that everything after it can use.
#include <google/protobuf/util/message_differencer.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "common/problem/problem_hash.h"
#include "common/status_macros.h"
#include "coordinator/prompt/prompt_file.h"
#include "coordinator/prompt/render.h"
#include "cpu_bench_worker/problem/arguments.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace whetstone;
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<v1::Problem> problem = ParsePrompt(text, "fuzz.md");
  if (!problem.ok()) {
    CHECK(absl::StrContains(problem.status().message(), "fuzz.md"));
    return 0;
  }
  const absl::StatusOr<v1::Problem> again = ParsePrompt(text, "fuzz.md");
  CHECK(again.ok() && google::protobuf::util::MessageDifferencer::Equals(*again, *problem));
  CHECK(ProblemHash(*again) == ProblemHash(*problem));
  CHECK(!RenderMessages(*problem).empty());
  // The worker's own reading of it may refuse, but not stumble.
  const absl::StatusOr<Arguments> arguments = Arguments::Parse(*problem);
  if (!arguments.ok()) return 0;
  for (const v1::SizePoint& point : problem->sizes().check()) {
    const absl::StatusOr<CallShape> shape = arguments->At(point);
    CHECK(!shape.ok() || shape->bytes <= kCallBytesMax);
  }
  return 0;
}
