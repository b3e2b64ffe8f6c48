#include "coordinator/authoring/problem_new.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "coordinator/prompt/signature.h"

namespace whetstone {
namespace {

constexpr char kSkeleton[] = R"md(---
# See prompts/README.md for every key. This skeleton works as it stands: edit it piece by piece and
# run `whet problem check` after each.
id: NAME
signature: void NAME(const float* a, float* out, int rows, int cols)
args:                                  # one entry for each parameter
  a: {type: f32, shape: [rows, cols], fill: uniform(-1, 1)}
  out: {type: f32, shape: [cols], out: true}
  rows: {size: rows}
  cols: {size: cols}
sizes:
  check: [{rows: 1, cols: 1}, {rows: 3, cols: 5}, {rows: 17, cols: 31}]    # odd, prime, one
  timed: [{rows: 256, cols: 256}, {rows: 300, cols: 500}]                  # 0.05 to 1 ms a call
  hidden: [{rows: 257, cols: 255}]                                         # for doubted results
compare: {rule: scaled, rtol: 1.0e-5}
cost: {flops: rows*cols, bytes: 4*rows*cols + 4*cols}
compile: {headers: [immintrin.h]}
---
Sum each column of a matrix stored by rows. The arrays do not overlap.

## reference

```cpp
void NAME(const float* a, float* out, int rows, int cols) {
    for (int j = 0; j < cols; j++) {
        float s = 0.0f;
        for (int i = 0; i < rows; i++) {
            s += a[i * cols + j];
        }
        out[j] = s;
    }
}
```

## expert

Walks along the rows, so that memory is read in order and the inner loop becomes vector code.

```cpp
void NAME(const float* __restrict a, float* __restrict out, int rows, int cols) {
    for (int j = 0; j < cols; j++) {
        out[j] = 0.0f;
    }
    for (int i = 0; i < rows; i++) {
        const float* row = a + i * cols;
        for (int j = 0; j < cols; j++) {
            out[j] += row[j];
        }
    }
}
```
)md";

}  // namespace

absl::StatusOr<std::string> NewPromptFile(absl::string_view name) {
  const bool lower =
      !name.empty() && name[0] >= 'a' && name[0] <= 'z' &&
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == absl::string_view::npos;
  if (!lower || !IsIdentifier(name)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", name, "' cannot name a problem: use lower-case letters, digits and '_', ",
                     "begin with a letter, and choose no C++ keyword"));
  }
  return absl::StrReplaceAll(kSkeleton, {{"NAME", name}});
}

}  // namespace whetstone
