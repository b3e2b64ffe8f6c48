// reference
void count_values(const unsigned char* x, int* c, int n) {
    for (int k = 0; k < 256; k++) {
        c[k] = 0;
        for (int i = 0; i < n; i++) {
            if (x[i] == k) {
                c[k]++;
            }
        }
    }
}
// rewrite: one pass
void count_values(const unsigned char* x, int* c, int n) {
    for (int k = 0; k < 256; k++) {
        c[k] = 0;
    }
    for (int i = 0; i < n; i++) {
        c[x[i]]++;
    }
}
// rewrite: two tables
void count_values(const unsigned char* x, int* c, int n) {
    int d[256] = {0};
    for (int k = 0; k < 256; k++) {
        c[k] = 0;
    }
    int i = 0;
    for (; i + 2 <= n; i += 2) {
        c[x[i]]++;
        d[x[i + 1]]++;
    }
    if (i < n) {
        c[x[i]]++;
    }
    for (int k = 0; k < 256; k++) {
        c[k] += d[k];
    }
}
