// args: {a: {type: f32, shape: [n, n], fill: uniform(0, 1)}, c: {type: f32, shape: [n, n], fill: zero, inout: true}, n: {size: n}}
// sizes: {check: [1, 2, 7, 16, 21], timed: [200]}
void laplace(const float* a, float* c, int n) {
    for (int j = 1; j < n - 1; j++) {
        for (int i = 1; i < n - 1; i++) {
            c[i * n + j] = a[(i - 1) * n + j] + a[(i + 1) * n + j] + a[i * n + j - 1] + a[i * n + j + 1] - 4.0f * a[i * n + j];
        }
    }
}
// rewrite: along rows [interchange]
void laplace(const float* a, float* c, int n) {
    for (int i = 1; i < n - 1; i++) {
        for (int j = 1; j < n - 1; j++) {
            c[i * n + j] = a[(i - 1) * n + j] + a[(i + 1) * n + j] + a[i * n + j - 1] + a[i * n + j + 1] - 4.0f * a[i * n + j];
        }
    }
}
// rewrite: row pointers, restrict [restrict, row-pointers]
void laplace(const float* __restrict a, float* __restrict c, int n) {
    for (int i = 1; i < n - 1; i++) {
        const float* p = a + i * n;
        const float* u = p - n;
        const float* v = p + n;
        float* r = c + i * n;
        for (int j = 1; j < n - 1; j++) {
            r[j] = u[j] + v[j] + p[j - 1] + p[j + 1] - 4.0f * p[j];
        }
    }
}
