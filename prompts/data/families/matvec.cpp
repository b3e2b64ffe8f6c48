// args: {a: {type: f32, shape: [n, n], fill: uniform(0, 1)}, x: {type: f32, shape: [n], fill: uniform(0, 1)}, y: {type: f32, shape: [n], out: true}, n: {size: n}}
// sizes: {check: [1, 2, 7, 16, 21], timed: [200]}
void matvec(const float* a, const float* x, float* y, int n) {
    for (int i = 0; i < n; i++) {
        float s = 0.0f;
        for (int j = 0; j < n; j++) {
            s += a[i * n + j] * x[j];
        }
        y[i] = s;
    }
}
// rewrite: four sums [accumulators]
void matvec(const float* a, const float* x, float* y, int n) {
    for (int i = 0; i < n; i++) {
        const float* p = a + i * n;
        float s0 = 0.0f;
        float s1 = 0.0f;
        float s2 = 0.0f;
        float s3 = 0.0f;
        int j = 0;
        for (; j + 4 <= n; j += 4) {
            s0 += p[j] * x[j];
            s1 += p[j + 1] * x[j + 1];
            s2 += p[j + 2] * x[j + 2];
            s3 += p[j + 3] * x[j + 3];
        }
        for (; j < n; j++) {
            s0 += p[j] * x[j];
        }
        y[i] = s0 + s1 + s2 + s3;
    }
}
// rewrite: eight lanes [accumulators]
void matvec(const float* a, const float* x, float* y, int n) {
    for (int i = 0; i < n; i++) {
        const float* p = a + i * n;
        float s[8] = {0};
        int j = 0;
        for (; j + 8 <= n; j += 8) {
            for (int q = 0; q < 8; q++) {
                s[q] += p[j + q] * x[j + q];
            }
        }
        float t = 0.0f;
        for (; j < n; j++) {
            t += p[j] * x[j];
        }
        for (int q = 0; q < 8; q++) {
            t += s[q];
        }
        y[i] = t;
    }
}
