// args: {a: {type: f32, shape: [n, n, n], fill: uniform(0, 1)}, c: {type: f32, shape: [n, n], out: true}, n: {size: n}}
// sizes: {check: [1, 2, 7, 16, 21], timed: [64]}
void plane_sums(const float* a, float* c, int n) {
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            float s = 0.0f;
            for (int k = 0; k < n; k++) {
                s += a[(k * n + i) * n + j];
            }
            c[i * n + j] = s;
        }
    }
}
// rewrite: i, k, j [interchange]
void plane_sums(const float* a, float* c, int n) {
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            c[i * n + j] = 0.0f;
        }
        for (int k = 0; k < n; k++) {
            for (int j = 0; j < n; j++) {
                c[i * n + j] += a[(k * n + i) * n + j];
            }
        }
    }
}
// rewrite: whole planes [interchange]
void plane_sums(const float* a, float* c, int n) {
    for (int i = 0; i < n * n; i++) {
        c[i] = 0.0f;
    }
    for (int k = 0; k < n; k++) {
        const float* p = a + k * n * n;
        for (int i = 0; i < n * n; i++) {
            c[i] += p[i];
        }
    }
}
