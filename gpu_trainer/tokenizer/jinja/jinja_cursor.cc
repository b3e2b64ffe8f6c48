#include "gpu_trainer/tokenizer/jinja/jinja_cursor.h"

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace whetstone::jinja {
namespace {

constexpr int kDepthMax = 200;

}  // namespace

absl::Status TokenCursor::Fail(absl::string_view what) const {
  return absl::InvalidArgumentError(absl::StrCat("line ", Peek().line, ": ", what));
}

absl::Status TokenCursor::Expect(Token::Kind kind, absl::string_view what) {
  if (Peek().kind != kind) {
    return Fail(absl::StrCat("expected ", what, ", found '", Peek().text, "'"));
  }
  ++at_;
  return absl::OkStatus();
}

absl::Status TokenCursor::ExpectOp(absl::string_view op) {
  if (TakeOp(op)) return absl::OkStatus();
  return Fail(absl::StrCat("expected '", op, "', found '", Peek().text, "'"));
}

absl::StatusOr<std::string> TokenCursor::ExpectName() {
  const std::string name = Peek().text;
  RETURN_IF_ERROR(Expect(Token::kName, "a name"));
  return name;
}

absl::Status TokenCursor::Enter() {
  if (++depth_ > kDepthMax) return Fail("nested too deeply");
  return absl::OkStatus();
}

}  // namespace whetstone::jinja
