// args: {a: {type: f32, shape: [n, n], fill: uniform(0, 1)}, c: {type: f32, shape: [n, n], out: true}, n: {size: n}}
// sizes: {check: [1, 2, 7, 16, 21], timed: [200]}
void symmetric_part(const float* a, float* c, int n) {
    for (int j = 0; j < n; j++) {
        for (int i = 0; i < n; i++) {
            c[i * n + j] = 0.5f * (a[i * n + j] + a[j * n + i]);
        }
    }
}
// rewrite: tiles [blocking]
void symmetric_part(const float* a, float* c, int n) {
    for (int p = 0; p < n; p += 16) {
        for (int q = 0; q < n; q += 16) {
            for (int i = p; i < n && i < p + 16; i++) {
                for (int j = q; j < n && j < q + 16; j++) {
                    c[i * n + j] = 0.5f * (a[i * n + j] + a[j * n + i]);
                }
            }
        }
    }
}
// rewrite: writes along rows [interchange]
void symmetric_part(const float* __restrict a, float* __restrict c, int n) {
    for (int i = 0; i < n; i++) {
        const float* p = a + i * n;
        float* r = c + i * n;
        for (int j = 0; j < n; j++) {
            r[j] = 0.5f * (p[j] + a[j * n + i]);
        }
    }
}
// rewrite: each pair once [algorithm]
void symmetric_part(const float* a, float* c, int n) {
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++) {
            float t = 0.5f * (a[i * n + j] + a[j * n + i]);
            c[i * n + j] = t;
            c[j * n + i] = t;
        }
    }
}
