// args: {x: {type: f32, shape: [n], fill: uniform(0, 1)}, n: {size: n}}
// sizes: {check: [1, 2, 7, 16, 21], timed: [20011]}
float total(const float* x, int n) {
    float s = 0.0f;
    for (int i = 0; i < n; i++) {
        s += x[i];
    }
    return s;
}
// rewrite: two sums [accumulators]
float total(const float* x, int n) {
    float s0 = 0.0f;
    float s1 = 0.0f;
    int i = 0;
    for (; i + 2 <= n; i += 2) {
        s0 += x[i];
        s1 += x[i + 1];
    }
    if (i < n) {
        s0 += x[i];
    }
    return s0 + s1;
}
// rewrite: eight lanes [accumulators]
float total(const float* x, int n) {
    float s[8] = {0};
    int i = 0;
    for (; i + 8 <= n; i += 8) {
        for (int j = 0; j < 8; j++) {
            s[j] += x[i + j];
        }
    }
    float t = 0.0f;
    for (; i < n; i++) {
        t += x[i];
    }
    for (int j = 0; j < 8; j++) {
        t += s[j];
    }
    return t;
}
// rewrite: halves [accumulators]
float total(const float* x, int n) {
    int m = n / 2;
    const float* y = x + m;
    float s = 0.0f;
    float t = 0.0f;
    for (int i = 0; i < m; i++) {
        s += x[i];
        t += y[i];
    }
    for (int i = 2 * m; i < n; i++) {
        s += x[i];
    }
    return s + t;
}
