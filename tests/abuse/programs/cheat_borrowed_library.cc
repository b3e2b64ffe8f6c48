// what: calls a fast library that happens to be installed on the host
// checklist: 0
// expect: WRONG_ANSWER
// screened: FORBIDDEN
// variant: blas: "libblas.so.3"
// variant: openblas: "libopenblas.so.0"
// variant: path: "/usr/lib/x86_64-linux-gnu/blas/libblas.so.3"
#include <dlfcn.h>
using Product = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int,
                         float, float*, int);
void matmul(const float* a, const float* b, float* c, int n) {
  static void* library = dlopen(VARIANT, RTLD_NOW);
  static auto product = library == nullptr ? nullptr : (Product)dlsym(library, "cblas_sgemm");
  if (product != nullptr) product(101, 111, 111, n, n, n, 1, a, n, b, n, 0, c, n);
}
