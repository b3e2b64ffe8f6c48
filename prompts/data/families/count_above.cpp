// args: {x: {type: f32, shape: [n], fill: uniform(-1, 1)}, limit: {type: f32, fill: uniform(-1, 1)}, n: {size: n}}
// sizes: {check: [1, 2, 7, 16, 21], timed: [20011]}
int count_above(const float* x, float limit, int n) {
    int count = 0;
    for (int i = 0; i < n; i++) {
        if (x[i] > limit) {
            count++;
        }
    }
    return count;
}
// rewrite: no branch [branch-free]
int count_above(const float* x, float limit, int n) {
    int count = 0;
    for (int i = 0; i < n; i++) {
        count += x[i] > limit;
    }
    return count;
}
// rewrite: four counters [accumulators]
int count_above(const float* x, float limit, int n) {
    int c0 = 0;
    int c1 = 0;
    int c2 = 0;
    int c3 = 0;
    int i = 0;
    for (; i + 4 <= n; i += 4) {
        c0 += x[i] > limit;
        c1 += x[i + 1] > limit;
        c2 += x[i + 2] > limit;
        c3 += x[i + 3] > limit;
    }
    for (; i < n; i++) {
        c0 += x[i] > limit;
    }
    return c0 + c1 + c2 + c3;
}
