// reference
void flip(const float* a, float* c, int n) {
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            c[j * n + i] = a[i * n + j];
        }
    }
}
// rewrite: tiles
void flip(const float* a, float* c, int n) {
    for (int p = 0; p < n; p += 16) {
        for (int q = 0; q < n; q += 16) {
            for (int i = p; i < n && i < p + 16; i++) {
                for (int j = q; j < n && j < q + 16; j++) {
                    c[j * n + i] = a[i * n + j];
                }
            }
        }
    }
}
// rewrite: writes along rows
void flip(const float* __restrict a, float* __restrict c, int n) {
    for (int j = 0; j < n; j++) {
        float* r = c + j * n;
        for (int i = 0; i < n; i++) {
            r[i] = a[i * n + j];
        }
    }
}
// rewrite: four rows at a time
void flip(const float* a, float* c, int n) {
    int i = 0;
    for (; i + 4 <= n; i += 4) {
        const float* p = a + i * n;
        for (int j = 0; j < n; j++) {
            float* r = c + j * n + i;
            r[0] = p[j];
            r[1] = p[n + j];
            r[2] = p[2 * n + j];
            r[3] = p[3 * n + j];
        }
    }
    for (; i < n; i++) {
        for (int j = 0; j < n; j++) {
            c[j * n + i] = a[i * n + j];
        }
    }
}
