// args: {x: {type: f32, shape: [n], fill: uniform(-1, 1)}, y: {type: f32, shape: [n], out: true}, n: {size: n}}
// sizes: {check: [1, 2, 7, 16, 21], timed: [200]}
void running_max(const float* x, float* y, int n) {
    for (int i = 0; i < n; i++) {
        float m = x[0];
        for (int j = 1; j <= i; j++) {
            if (x[j] > m) {
                m = x[j];
            }
        }
        y[i] = m;
    }
}
// rewrite: one pass [algorithm]
void running_max(const float* x, float* y, int n) {
    float m = x[0];
    for (int i = 0; i < n; i++) {
        if (x[i] > m) {
            m = x[i];
        }
        y[i] = m;
    }
}
// rewrite: from the neighbour [algorithm]
void running_max(const float* x, float* y, int n) {
    y[0] = x[0];
    for (int i = 1; i < n; i++) {
        y[i] = y[i - 1] > x[i] ? y[i - 1] : x[i];
    }
}
