// args: {a: {type: f32, shape: [n, n, n], fill: uniform(0, 1)}, w: {type: f32, shape: [n], fill: uniform(0, 1)}, c: {type: f32, shape: [n, n], out: true}, n: {size: n}}
// sizes: {check: [1, 2, 7, 16, 21], timed: [64]}
void weighted_planes(const float* a, const float* w, float* c, int n) {
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            float s = 0.0f;
            for (int k = 0; k < n; k++) {
                s += w[k] * a[(k * n + i) * n + j];
            }
            c[i * n + j] = s;
        }
    }
}
// rewrite: i, k, j with the weight hoisted [hoisting, interchange]
void weighted_planes(const float* a, const float* w, float* c, int n) {
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            c[i * n + j] = 0.0f;
        }
        for (int k = 0; k < n; k++) {
            float t = w[k];
            for (int j = 0; j < n; j++) {
                c[i * n + j] += t * a[(k * n + i) * n + j];
            }
        }
    }
}
// rewrite: i, k, j on row pointers [interchange, row-pointers]
void weighted_planes(const float* __restrict a, const float* __restrict w, float* __restrict c, int n) {
    for (int i = 0; i < n; i++) {
        float* r = c + i * n;
        for (int j = 0; j < n; j++) {
            r[j] = 0.0f;
        }
        for (int k = 0; k < n; k++) {
            const float* p = a + (k * n + i) * n;
            float t = w[k];
            for (int j = 0; j < n; j++) {
                r[j] += t * p[j];
            }
        }
    }
}
