// args: {a: {type: f32, shape: [n, n], fill: uniform(0, 1)}, x: {type: f32, shape: [n], fill: uniform(0, 1)}, y: {type: f32, shape: [n], out: true}, n: {size: n}}
// sizes: {check: [1, 2, 7, 16, 21], timed: [200]}
void matvec_transposed(const float* a, const float* x, float* y, int n) {
    for (int j = 0; j < n; j++) {
        float s = 0.0f;
        for (int i = 0; i < n; i++) {
            s += a[i * n + j] * x[i];
        }
        y[j] = s;
    }
}
// rewrite: along rows [interchange]
void matvec_transposed(const float* a, const float* x, float* y, int n) {
    for (int j = 0; j < n; j++) {
        y[j] = 0.0f;
    }
    for (int i = 0; i < n; i++) {
        float t = x[i];
        for (int j = 0; j < n; j++) {
            y[j] += a[i * n + j] * t;
        }
    }
}
// rewrite: along rows, restrict [restrict, interchange]
void matvec_transposed(const float* __restrict a, const float* __restrict x, float* __restrict y, int n) {
    for (int j = 0; j < n; j++) {
        y[j] = 0.0f;
    }
    for (int i = 0; i < n; i++) {
        const float* p = a + i * n;
        for (int j = 0; j < n; j++) {
            y[j] += p[j] * x[i];
        }
    }
}
// rewrite: two rows at once [blocking]
void matvec_transposed(const float* a, const float* x, float* y, int n) {
    for (int j = 0; j < n; j++) {
        y[j] = 0.0f;
    }
    int i = 0;
    for (; i + 2 <= n; i += 2) {
        const float* p = a + i * n;
        const float* q = p + n;
        for (int j = 0; j < n; j++) {
            y[j] += p[j] * x[i] + q[j] * x[i + 1];
        }
    }
    for (; i < n; i++) {
        for (int j = 0; j < n; j++) {
            y[j] += a[i * n + j] * x[i];
        }
    }
}
