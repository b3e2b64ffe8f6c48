// reference
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
// rewrite: i, k, j
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
// rewrite: whole planes
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
