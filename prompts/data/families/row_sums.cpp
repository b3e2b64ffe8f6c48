// args: {a: {type: f32, shape: [n, n], fill: uniform(0, 1)}, c: {type: f32, shape: [n], out: true}, n: {size: n}}
// sizes: {check: [1, 2, 7, 16, 21], timed: [200]}
void row_sums(const float* a, float* c, int n) {
    for (int i = 0; i < n; i++) {
        float s = 0.0f;
        for (int j = 0; j < n; j++) {
            s += a[i * n + j];
        }
        c[i] = s;
    }
}
// rewrite: row pointer and two sums [accumulators, row-pointers]
void row_sums(const float* a, float* c, int n) {
    for (int i = 0; i < n; i++) {
        const float* p = a + i * n;
        float s0 = 0.0f;
        float s1 = 0.0f;
        int j = 0;
        for (; j + 2 <= n; j += 2) {
            s0 += p[j];
            s1 += p[j + 1];
        }
        for (; j < n; j++) {
            s0 += p[j];
        }
        c[i] = s0 + s1;
    }
}
// rewrite: two rows at once [blocking]
void row_sums(const float* a, float* c, int n) {
    int i = 0;
    for (; i + 2 <= n; i += 2) {
        const float* p = a + i * n;
        const float* q = p + n;
        float s = 0.0f;
        float t = 0.0f;
        for (int j = 0; j < n; j++) {
            s += p[j];
            t += q[j];
        }
        c[i] = s;
        c[i + 1] = t;
    }
    for (; i < n; i++) {
        float s = 0.0f;
        for (int j = 0; j < n; j++) {
            s += a[i * n + j];
        }
        c[i] = s;
    }
}
