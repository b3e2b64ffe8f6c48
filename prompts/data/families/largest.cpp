// args: {x: {type: f32, shape: [n], fill: uniform(-1, 1)}, n: {size: n}}
// sizes: {check: [1, 2, 7, 16, 21], timed: [20011]}
float largest(const float* x, int n) {
    float m = x[0];
    for (int i = 1; i < n; i++) {
        if (x[i] > m) {
            m = x[i];
        }
    }
    return m;
}
// rewrite: two maxima [accumulators]
float largest(const float* x, int n) {
    float m0 = x[0];
    float m1 = x[0];
    int i = 0;
    for (; i + 2 <= n; i += 2) {
        m0 = x[i] > m0 ? x[i] : m0;
        m1 = x[i + 1] > m1 ? x[i + 1] : m1;
    }
    if (i < n) {
        m0 = x[i] > m0 ? x[i] : m0;
    }
    return m0 > m1 ? m0 : m1;
}
// rewrite: eight lanes [accumulators]
float largest(const float* x, int n) {
    float m[8];
    for (int j = 0; j < 8; j++) {
        m[j] = x[0];
    }
    int i = 0;
    for (; i + 8 <= n; i += 8) {
        for (int j = 0; j < 8; j++) {
            m[j] = x[i + j] > m[j] ? x[i + j] : m[j];
        }
    }
    float t = x[0];
    for (; i < n; i++) {
        t = x[i] > t ? x[i] : t;
    }
    for (int j = 0; j < 8; j++) {
        t = m[j] > t ? m[j] : t;
    }
    return t;
}
