// args: {x: {type: f32, shape: [n], fill: uniform(0, 1)}, y: {type: f32, shape: [n], out: true}, n: {size: n}}
// sizes: {check: [1, 2, 7, 16, 21], timed: [20011]}
void polynomial(const float* x, float* y, int n) {
    for (int i = 0; i < n; i++) {
        y[i] = 1.0f + 2.0f * x[i] + 3.0f * x[i] * x[i] + 4.0f * x[i] * x[i] * x[i];
    }
}
// rewrite: Horner [algorithm]
void polynomial(const float* __restrict x, float* __restrict y, int n) {
    for (int i = 0; i < n; i++) {
        float t = x[i];
        y[i] = 1.0f + t * (2.0f + t * (3.0f + t * 4.0f));
    }
}
