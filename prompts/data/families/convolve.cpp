// args: {x: {type: f32, shape: [n + 4], fill: uniform(0, 1)}, w: {type: f32, shape: [5], fill: uniform(0, 1)}, y: {type: f32, shape: [n], out: true}, n: {size: n}}
// sizes: {check: [1, 2, 7, 16, 21], timed: [20011]}
void convolve(const float* x, const float* w, float* y, int n) {
    for (int i = 0; i < n; i++) {
        float s = 0.0f;
        for (int k = 0; k < 5; k++) {
            s += x[i + k] * w[k];
        }
        y[i] = s;
    }
}
// rewrite: weights in registers [hoisting]
void convolve(const float* __restrict x, const float* __restrict w, float* __restrict y, int n) {
    float w0 = w[0];
    float w1 = w[1];
    float w2 = w[2];
    float w3 = w[3];
    float w4 = w[4];
    for (int i = 0; i < n; i++) {
        y[i] = x[i] * w0 + x[i + 1] * w1 + x[i + 2] * w2 + x[i + 3] * w3 + x[i + 4] * w4;
    }
}
// rewrite: one weight after the other [interchange]
void convolve(const float* __restrict x, const float* __restrict w, float* __restrict y, int n) {
    for (int i = 0; i < n; i++) {
        y[i] = 0.0f;
    }
    for (int k = 0; k < 5; k++) {
        float t = w[k];
        for (int i = 0; i < n; i++) {
            y[i] += x[i + k] * t;
        }
    }
}
