#include "cpu_bench_worker/problem/small_kernel.h"

namespace whetstone {

const char kMatmulIjk[] = R"cpp(
  void matmul(const float* a, const float* b, float* c, int n) {
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) {
        float sum = 0;
        for (int k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
        c[i * n + j] = sum;
      }
  }
)cpp";

const char kMatmulIkj[] = R"cpp(
  void matmul(const float* a, const float* b, float* __restrict c, int n) {
    for (int i = 0; i < n * n; ++i) c[i] = 0;
    for (int i = 0; i < n; ++i)
      for (int k = 0; k < n; ++k) {
        const float x = a[i * n + k];
        for (int j = 0; j < n; ++j) c[i * n + j] += x * b[k * n + j];
      }
  }
)cpp";

void AddMatrices(v1::Problem* problem) {
  for (const char* name : {"a", "b", "c"}) {
    v1::Argument* arg = problem->add_args();
    arg->set_name(name);
    v1::Array* array = arg->mutable_array();
    array->set_type(v1::F32);
    for (int dimension = 0; dimension < 2; ++dimension) array->add_shape("n");
    if (*name == 'c') {
      array->set_direction(v1::Array::OUT);
      continue;
    }
    array->mutable_fill()->set_kind(v1::Fill::UNIFORM);
    array->mutable_fill()->add_parameters(-1);
    array->mutable_fill()->add_parameters(1);
  }
  v1::Argument* n = problem->add_args();
  n->set_name("n");
  n->set_size("n");
}

v1::Problem SmallKernelProblem() {
  v1::Problem problem;
  problem.set_id("small_matmul_f32");
  problem.set_signature("void matmul(const float* a, const float* b, float* c, int n)");
  AddMatrices(&problem);
  v1::Sizes* sizes = problem.mutable_sizes();
  for (const int size : {1, 2, 3, 17, 64}) (*sizes->add_check()->mutable_values())["n"] = size;
  for (const int size : {64, 88}) (*sizes->add_timed()->mutable_values())["n"] = size;
  (*sizes->add_hidden()->mutable_values())["n"] = 65;
  problem.mutable_compare()->set_rule(v1::Compare::SCALED);
  problem.mutable_compare()->set_rtol(1e-5);
  problem.mutable_cost()->set_flops("2*n*n*n");
  problem.mutable_cost()->set_bytes("12*n*n");
  v1::CompileRules* compile = problem.mutable_compile();
  compile->set_std("c++20");
  for (const char* flag : {"-O3", "-march=native"}) compile->add_flags(flag);
  for (const char* header : {"immintrin.h", "algorithm", "vector"}) compile->add_headers(header);
  for (const char* allow : {"target", "pragma", "static"}) compile->add_allow(allow);
  compile->set_threads(1);
  problem.mutable_limits()->set_compile_s(10);
  problem.mutable_limits()->set_run_s(5);
  problem.mutable_limits()->set_memory_mb(512);
  problem.mutable_limits()->set_total_s(30);
  problem.set_reference(kMatmulIjk);
  problem.set_expert(kMatmulIkj);
  return problem;
}

}  // namespace whetstone
