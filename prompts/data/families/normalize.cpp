// args: {x: {type: f32, shape: [n], fill: uniform(0, 1)}, y: {type: f32, shape: [n], out: true}, n: {size: n}}
// sizes: {check: [1, 2, 7, 16, 21], timed: [200]}
void normalize(const float* x, float* y, int n) {
    for (int i = 0; i < n; i++) {
        float s = 1.0f;
        for (int j = 0; j < n; j++) {
            s += x[j] * x[j];
        }
        y[i] = x[i] / s;
    }
}
// rewrite: the sum once [hoisting]
void normalize(const float* x, float* y, int n) {
    float s = 1.0f;
    for (int j = 0; j < n; j++) {
        s += x[j] * x[j];
    }
    for (int i = 0; i < n; i++) {
        y[i] = x[i] / s;
    }
}
// rewrite: the sum once, one division [hoisting, strength-reduction]
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
