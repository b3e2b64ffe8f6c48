// reference
void running_sum(const float* x, float* y, int n) {
    for (int i = 0; i < n; i++) {
        float s = 0.0f;
        for (int j = 0; j <= i; j++) {
            s += x[j];
        }
        y[i] = s;
    }
}
// rewrite: one pass
void running_sum(const float* x, float* y, int n) {
    float s = 0.0f;
    for (int i = 0; i < n; i++) {
        s += x[i];
        y[i] = s;
    }
}
// rewrite: from the neighbour
void running_sum(const float* x, float* y, int n) {
    y[0] = x[0];
    for (int i = 1; i < n; i++) {
        y[i] = y[i - 1] + x[i];
    }
}
