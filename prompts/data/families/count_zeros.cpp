// args: {x: {type: u8, shape: [n], fill: uniform(0, 3)}, n: {size: n}}
// sizes: {check: [1, 2, 7, 16, 21], timed: [20011]}
int count_zeros(const unsigned char* x, int n) {
    int count = 0;
    for (int i = 0; i < n; i++) {
        if (x[i] == 0) {
            count = count + 1;
        }
    }
    return count;
}
// rewrite: no branch [branch-free]
int count_zeros(const unsigned char* x, int n) {
    int count = 0;
    for (int i = 0; i < n; i++) {
        count += x[i] == 0;
    }
    return count;
}
// rewrite: counts in bytes [narrow-types]
int count_zeros(const unsigned char* x, int n) {
    int count = 0;
    int i = 0;
    for (; i + 64 <= n; i += 64) {
        unsigned char c = 0;
        for (int j = 0; j < 64; j++) {
            c += x[i + j] == 0;
        }
        count += c;
    }
    for (; i < n; i++) {
        count += x[i] == 0;
    }
    return count;
}
