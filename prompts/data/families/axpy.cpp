// args: {s: {type: f32, fill: uniform(0, 1)}, x: {type: f32, shape: [n], fill: uniform(0, 1)}, y: {type: f32, shape: [n], fill: uniform(0, 1), inout: true}, n: {size: n}}
// sizes: {check: [1, 2, 7, 16, 21], timed: [20011]}
void axpy(float s, const float* x, float* y, int n) {
    for (int i = 0; i < n; i++) {
        y[i] = y[i] + s * x[i];
    }
}
// rewrite: restrict [restrict]
void axpy(float s, const float* __restrict x, float* __restrict y, int n) {
    for (int i = 0; i < n; i++) {
        y[i] += s * x[i];
    }
}
// rewrite: unrolled by four [unrolling]
void axpy(float s, const float* x, float* y, int n) {
    int i = 0;
    for (; i + 4 <= n; i += 4) {
        y[i] += s * x[i];
        y[i + 1] += s * x[i + 1];
        y[i + 2] += s * x[i + 2];
        y[i + 3] += s * x[i + 3];
    }
    for (; i < n; i++) {
        y[i] += s * x[i];
    }
}
// rewrite: vector intrinsics [intrinsics]
void axpy(float s, const float* x, float* y, int n) {
    __m256 t = _mm256_set1_ps(s);
    int i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256 u = _mm256_loadu_ps(x + i);
        __m256 v = _mm256_loadu_ps(y + i);
        _mm256_storeu_ps(y + i, _mm256_fmadd_ps(t, u, v));
    }
    for (; i < n; i++) {
        y[i] += s * x[i];
    }
}
