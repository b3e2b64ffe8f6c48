// args: {b: {type: f32, shape: [n, n], fill: uniform(0, 1)}, x: {type: f32, shape: [n], fill: uniform(0, 1)}, c: {type: f32, shape: [n, n], out: true}, n: {size: n}}
// sizes: {check: [1, 2, 7, 16, 21], timed: [64]}
void column_powers(const float* b, const float* x, float* c, int n) {
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            float s = 0.0f;
            for (int k = 0; k < n; k++) {
                s += b[k * n + j] * x[i] * x[k];
            }
            c[i * n + j] = s;
        }
    }
}
// rewrite: i, k, j with a hoisted product [hoisting, interchange]
void column_powers(const float* b, const float* x, float* c, int n) {
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            c[i * n + j] = 0.0f;
        }
        for (int k = 0; k < n; k++) {
            float t = x[i] * x[k];
            for (int j = 0; j < n; j++) {
                c[i * n + j] += b[k * n + j] * t;
            }
        }
    }
}
// rewrite: i, k, j on row pointers, two k at a time [interchange, row-pointers, blocking]
void column_powers(const float* __restrict b, const float* __restrict x, float* __restrict c, int n) {
    for (int i = 0; i < n; i++) {
        float* r = c + i * n;
        for (int j = 0; j < n; j++) {
            r[j] = 0.0f;
        }
        int k = 0;
        for (; k + 2 <= n; k += 2) {
            const float* p = b + k * n;
            const float* q = p + n;
            float t = x[i] * x[k];
            float u = x[i] * x[k + 1];
            for (int j = 0; j < n; j++) {
                r[j] += p[j] * t + q[j] * u;
            }
        }
        for (; k < n; k++) {
            for (int j = 0; j < n; j++) {
                r[j] += b[k * n + j] * x[i] * x[k];
            }
        }
    }
}
