// args: {x: {type: f32, shape: [n], fill: uniform(0, 1)}, y: {type: f32, shape: [n], fill: uniform(0, 1)}, c: {type: f32, shape: [n, n], out: true}, n: {size: n}}
// sizes: {check: [1, 2, 7, 16, 21], timed: [200]}
void outer(const float* x, const float* y, float* c, int n) {
    for (int j = 0; j < n; j++) {
        for (int i = 0; i < n; i++) {
            c[i * n + j] = x[i] * y[j];
        }
    }
}
// rewrite: along rows [interchange]
void outer(const float* x, const float* y, float* c, int n) {
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            c[i * n + j] = x[i] * y[j];
        }
    }
}
// rewrite: row pointer, restrict [restrict, row-pointers]
void outer(const float* __restrict x, const float* __restrict y, float* __restrict c, int n) {
    for (int i = 0; i < n; i++) {
        float t = x[i];
        float* r = c + i * n;
        for (int j = 0; j < n; j++) {
            r[j] = t * y[j];
        }
    }
}
