// args: {a: {type: f32, shape: [n, n], fill: uniform(0, 1)}, c: {type: f32, shape: [n], out: true}, n: {size: n}}
// sizes: {check: [1, 2, 7, 16, 21], timed: [200]}
void column_sums(const float* a, float* c, int n) {
    for (int j = 0; j < n; j++) {
        float s = 0.0f;
        for (int i = 0; i < n; i++) {
            s += a[i * n + j];
        }
        c[j] = s;
    }
}
// rewrite: along rows [interchange]
void column_sums(const float* a, float* c, int n) {
    for (int j = 0; j < n; j++) {
        c[j] = 0.0f;
    }
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            c[j] += a[i * n + j];
        }
    }
}
// rewrite: along rows, restrict [restrict, interchange]
void column_sums(const float* __restrict a, float* __restrict c, int n) {
    for (int j = 0; j < n; j++) {
        c[j] = 0.0f;
    }
    for (int i = 0; i < n; i++) {
        const float* p = a + i * n;
        for (int j = 0; j < n; j++) {
            c[j] += p[j];
        }
    }
}
// rewrite: begins with the first row [interchange]
void column_sums(const float* a, float* c, int n) {
    for (int j = 0; j < n; j++) {
        c[j] = a[j];
    }
    for (int i = 1; i < n; i++) {
        for (int j = 0; j < n; j++) {
            c[j] += a[i * n + j];
        }
    }
}
