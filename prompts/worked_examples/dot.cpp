// reference
float dot(const float* a, const float* b, int n) {
    float s = 0.0f;
    for (int i = 0; i < n; i++) {
        s += a[i] * b[i];
    }
    return s;
}
// rewrite: four sums
float dot(const float* a, const float* b, int n) {
    float s0 = 0.0f;
    float s1 = 0.0f;
    float s2 = 0.0f;
    float s3 = 0.0f;
    int i = 0;
    for (; i + 4 <= n; i += 4) {
        s0 += a[i] * b[i];
        s1 += a[i + 1] * b[i + 1];
        s2 += a[i + 2] * b[i + 2];
        s3 += a[i + 3] * b[i + 3];
    }
    for (; i < n; i++) {
        s0 += a[i] * b[i];
    }
    return s0 + s1 + s2 + s3;
}
// rewrite: sixteen lanes
float dot(const float* a, const float* b, int n) {
    float s[16] = {0};
    int i = 0;
    for (; i + 16 <= n; i += 16) {
        for (int j = 0; j < 16; j++) {
            s[j] += a[i + j] * b[i + j];
        }
    }
    float t = 0.0f;
    for (; i < n; i++) {
        t += a[i] * b[i];
    }
    for (int j = 0; j < 16; j++) {
        t += s[j];
    }
    return t;
}
// rewrite: vector intrinsics
float dot(const float* a, const float* b, int n) {
    __m256 v = _mm256_setzero_ps();
    int i = 0;
    for (; i + 8 <= n; i += 8) {
        v = _mm256_fmadd_ps(_mm256_loadu_ps(a + i), _mm256_loadu_ps(b + i), v);
    }
    float t[8];
    _mm256_storeu_ps(t, v);
    float s = 0.0f;
    for (int j = 0; j < 8; j++) {
        s += t[j];
    }
    for (; i < n; i++) {
        s += a[i] * b[i];
    }
    return s;
}
