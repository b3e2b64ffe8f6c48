// reference
void column_sums(const float* a, float* c, int n) {
    for (int j = 0; j < n; j++) {
        float s = 0.0f;
        for (int i = 0; i < n; i++) {
            s += a[i * n + j];
        }
        c[j] = s;
    }
}
// rewrite: along rows
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
// rewrite: along rows, restrict
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
// rewrite: begins with the first row
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
