// reference
void normalize(const float* x, float* y, int n) {
    for (int i = 0; i < n; i++) {
        float s = 1.0f;
        for (int j = 0; j < n; j++) {
            s += x[j] * x[j];
        }
        y[i] = x[i] / s;
    }
}
// rewrite: the sum once
void normalize(const float* x, float* y, int n) {
    float s = 1.0f;
    for (int j = 0; j < n; j++) {
        s += x[j] * x[j];
    }
    for (int i = 0; i < n; i++) {
        y[i] = x[i] / s;
    }
}
// rewrite: the sum once, one division
void normalize(const float* __restrict x, float* __restrict y, int n) {
    float s = 1.0f;
    for (int j = 0; j < n; j++) {
        s += x[j] * x[j];
    }
    float t = 1.0f / s;
    for (int i = 0; i < n; i++) {
        y[i] = x[i] * t;
    }
}
