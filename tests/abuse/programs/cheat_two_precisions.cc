// what: exact in its first calls, and as far off afterwards as the reference's own error may be
// checklist: 55, 58
// problem: softmax_rows_f32
// expect: CORRECT WRONG_ANSWER
// twin: 0
// variant: cheat: 1
#include <math.h>
static int calls = 0;
void softmax(const float* in, float* out, int rows, int cols) {
  const float off = VARIANT == 1 && cols >= 333 && ++calls > 12 ? 1.00017f : 1.0f;
  for (int i = 0; i < rows; ++i) {
    const float* x = in + i * cols;
    float* y = out + i * cols;
    float m = x[0];
    for (int j = 1; j < cols; ++j) m = x[j] > m ? x[j] : m;
    float sum = 0;
    for (int j = 0; j < cols; ++j) sum += y[j] = expf(x[j] - m);
    const float by = off / sum;
    for (int j = 0; j < cols; ++j) y[j] *= by;
  }
}
