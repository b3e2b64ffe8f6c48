// args: {x: {type: f32, shape: [n], fill: uniform(-1, 1)}, y: {type: f32, shape: [n], out: true}, n: {size: n}}
// sizes: {check: [1, 2, 7, 16, 21], timed: [20011]}
void clamp_values(const float* x, float* y, int n) {
    for (int i = 0; i < n; i++) {
        if (x[i] < 0.0f) {
            y[i] = 0.0f;
        } else if (x[i] > 0.25f) {
            y[i] = 0.25f;
        } else {
            y[i] = x[i];
        }
    }
}
// rewrite: no branch [branch-free]
void clamp_values(const float* __restrict x, float* __restrict y, int n) {
    for (int i = 0; i < n; i++) {
        float t = x[i] < 0.0f ? 0.0f : x[i];
        y[i] = t > 0.25f ? 0.25f : t;
    }
}
// rewrite: vector intrinsics [intrinsics]
void clamp_values(const float* x, float* y, int n) {
    __m256 lo = _mm256_setzero_ps();
    __m256 hi = _mm256_set1_ps(0.25f);
    int i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256 v = _mm256_loadu_ps(x + i);
        _mm256_storeu_ps(y + i, _mm256_min_ps(_mm256_max_ps(v, lo), hi));
    }
    for (; i < n; i++) {
        float t = x[i] < 0.0f ? 0.0f : x[i];
        y[i] = t > 0.25f ? 0.25f : t;
    }
}
