// args: {x: {type: f32, shape: [n + 8], fill: uniform(0, 1)}, y: {type: f32, shape: [n], out: true}, n: {size: n}}
// sizes: {check: [1, 2, 7, 16, 21], timed: [20011]}
void mean_filter(const float* x, float* y, int n) {
    for (int i = 0; i < n; i++) {
        float s = 0.0f;
        for (int k = 0; k < 8; k++) {
            s += x[i + k];
        }
        y[i] = s / 8.0f;
    }
}
// rewrite: the sum slides [algorithm]
void mean_filter(const float* x, float* y, int n) {
    float s = 0.0f;
    for (int k = 0; k < 8; k++) {
        s += x[k];
    }
    for (int i = 0; i < n; i++) {
        y[i] = s * 0.125f;
        s += x[i + 8] - x[i];
    }
}
// rewrite: multiplies, restrict [restrict, strength-reduction]
void mean_filter(const float* __restrict x, float* __restrict y, int n) {
    for (int i = 0; i < n; i++) {
        float s = x[i] + x[i + 1] + x[i + 2] + x[i + 3];
        s += x[i + 4] + x[i + 5] + x[i + 6] + x[i + 7];
        y[i] = s * 0.125f;
    }
}
