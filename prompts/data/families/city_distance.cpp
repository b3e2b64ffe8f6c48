// args: {a: {type: f32, shape: [n], fill: uniform(0, 1)}, b: {type: f32, shape: [n], fill: uniform(0, 1)}, n: {size: n}}
// sizes: {check: [1, 2, 7, 16, 21], timed: [20011]}
float city_distance(const float* a, const float* b, int n) {
    float s = 0.0f;
    for (int i = 0; i < n; i++) {
        float d = a[i] - b[i];
        s += d < 0.0f ? -d : d;
    }
    return s;
}
// rewrite: four sums [accumulators]
float city_distance(const float* a, const float* b, int n) {
    float s0 = 0.0f;
    float s1 = 0.0f;
    float s2 = 0.0f;
    float s3 = 0.0f;
    int i = 0;
    for (; i + 4 <= n; i += 4) {
        float d0 = a[i] - b[i];
        float d1 = a[i + 1] - b[i + 1];
        float d2 = a[i + 2] - b[i + 2];
        float d3 = a[i + 3] - b[i + 3];
        s0 += d0 < 0.0f ? -d0 : d0;
        s1 += d1 < 0.0f ? -d1 : d1;
        s2 += d2 < 0.0f ? -d2 : d2;
        s3 += d3 < 0.0f ? -d3 : d3;
    }
    for (; i < n; i++) {
        float d = a[i] - b[i];
        s0 += d < 0.0f ? -d : d;
    }
    return s0 + s1 + s2 + s3;
}
// rewrite: sixteen lanes [accumulators]
float city_distance(const float* a, const float* b, int n) {
    float s[16] = {0};
    int i = 0;
    for (; i + 16 <= n; i += 16) {
        for (int j = 0; j < 16; j++) {
            float d = a[i + j] - b[i + j];
            s[j] += d < 0.0f ? -d : d;
        }
    }
    float t = 0.0f;
    for (; i < n; i++) {
        float d = a[i] - b[i];
        t += d < 0.0f ? -d : d;
    }
    for (int j = 0; j < 16; j++) {
        t += s[j];
    }
    return t;
}
// rewrite: vector intrinsics [intrinsics]
float city_distance(const float* a, const float* b, int n) {
    __m256 sign = _mm256_set1_ps(-0.0f);
    __m256 v = _mm256_setzero_ps();
    int i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256 d = _mm256_sub_ps(_mm256_loadu_ps(a + i), _mm256_loadu_ps(b + i));
        v = _mm256_add_ps(v, _mm256_andnot_ps(sign, d));
    }
    float t[8];
    _mm256_storeu_ps(t, v);
    float s = 0.0f;
    for (int j = 0; j < 8; j++) {
        s += t[j];
    }
    for (; i < n; i++) {
        float d = a[i] - b[i];
        s += d < 0.0f ? -d : d;
    }
    return s;
}
