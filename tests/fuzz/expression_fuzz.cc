// The input is text, a zero byte, and the values of n and m: an expression is an error or a number,
// and means the same when parsed again.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>

#include "common/problem/expression.h"
#include "common/status_macros.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace whetstone;
  const void* const end = std::memchr(data, 0, size);
  const size_t length =
      end == nullptr ? size : static_cast<size_t>(static_cast<const uint8_t*>(end) - data);
  const std::string text(reinterpret_cast<const char*>(data), length);
  int64_t values[2] = {3, -7};
  if (length < size) {
    const size_t rest = size - length - 1;
    std::memcpy(values, data + length + 1, rest < sizeof values ? rest : sizeof values);
  }
  const absl::StatusOr<Expression> expression = Expression::Parse(text);
  if (!expression.ok()) return 0;
  const std::map<std::string, int64_t> variables = {{"n", values[0]}, {"m", values[1]}};
  const absl::StatusOr<int64_t> value = expression->Evaluate(variables);
  const absl::StatusOr<Expression> again = Expression::Parse(text + " + 0");
  CHECK(again.ok());
  const absl::StatusOr<int64_t> same = again->Evaluate(variables);
  CHECK(same.ok() == value.ok() && (!value.ok() || *same == *value));
  return 0;
}
