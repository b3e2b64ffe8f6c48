#include "cpu_bench_worker/problem/test_problems.h"

#include <initializer_list>
#include <utility>

namespace whetstone {
namespace {

void SetCommon(v1::Problem* problem) {
  v1::CompileRules* compile = problem->mutable_compile();
  compile->set_std("c++20");
  for (const char* flag : {"-O3", "-march=native"}) compile->add_flags(flag);
  for (const char* header : {"immintrin.h", "algorithm", "vector"}) compile->add_headers(header);
  for (const char* allow : {"target", "pragma", "static"}) compile->add_allow(allow);
  compile->set_threads(1);
  v1::Limits* limits = problem->mutable_limits();
  limits->set_compile_s(20);
  limits->set_run_s(0.5);
  limits->set_memory_mb(512);
  limits->set_total_s(30);
}

void AddSize(v1::Problem* problem, const char* name, const char* expression) {
  v1::Argument* arg = problem->add_args();
  arg->set_name(name);
  arg->set_size(expression);
}

v1::Array* AddArray(v1::Problem* problem, const char* name, v1::ElementType type,
                    std::initializer_list<const char*> shape, v1::Array::Direction direction) {
  v1::Argument* arg = problem->add_args();
  arg->set_name(name);
  v1::Array* array = arg->mutable_array();
  array->set_type(type);
  for (const char* extent : shape) array->add_shape(extent);
  array->set_direction(direction);
  return array;
}

void SetUniform(v1::Fill* fill, double lo, double hi) {
  fill->set_kind(v1::Fill::UNIFORM);
  fill->add_parameters(lo);
  fill->add_parameters(hi);
}

}  // namespace

v1::Problem MatmulProblem() {
  v1::Problem problem;
  problem.set_id("matmul_f32");
  problem.set_signature("void matmul(const float* a, const float* b, float* c, int n)");
  AddMatrices(&problem);
  for (const int n : {1, 2, 3, 17})
    (*problem.mutable_sizes()->add_check()->mutable_values())["n"] = n;
  for (const int n : {64, 96}) (*problem.mutable_sizes()->add_timed()->mutable_values())["n"] = n;
  (*problem.mutable_sizes()->add_hidden()->mutable_values())["n"] = 65;
  problem.mutable_compare()->set_rule(v1::Compare::SCALED);
  problem.mutable_compare()->set_rtol(1e-5);
  problem.mutable_cost()->set_flops("2*n*n*n");
  problem.mutable_cost()->set_bytes("12*n*n");
  SetCommon(&problem);
  problem.set_reference(kMatmulIjk);
  problem.set_expert(kMatmulIkj);
  return problem;
}

v1::Problem TransposeProblem() {
  v1::Problem problem;
  problem.set_id("transpose_i32");
  problem.set_signature("void transpose(const int* in, int* out, int rows, int columns)");
  SetUniform(AddArray(&problem, "in", v1::I32, {"r", "c"}, v1::Array::IN)->mutable_fill(), -1000,
             1000);
  AddArray(&problem, "out", v1::I32, {"c", "r"}, v1::Array::OUT);
  AddSize(&problem, "rows", "r");
  AddSize(&problem, "columns", "c");
  const auto set = [](v1::SizePoint* point, int r, int c) {
    (*point->mutable_values())["r"] = r;
    (*point->mutable_values())["c"] = c;
  };
  set(problem.mutable_sizes()->add_check(), 1, 1);
  set(problem.mutable_sizes()->add_check(), 3, 5);
  set(problem.mutable_sizes()->add_check(), 17, 33);
  set(problem.mutable_sizes()->add_timed(), 256, 320);
  set(problem.mutable_sizes()->add_hidden(), 257, 319);
  problem.mutable_compare()->set_rule(v1::Compare::EXACT);
  problem.mutable_cost()->set_bytes("8*r*c");
  SetCommon(&problem);
  problem.set_reference(R"cpp(
    void transpose(const int* in, int* out, int rows, int columns) {
      for (int i = 0; i < rows; ++i)
        for (int j = 0; j < columns; ++j) out[j * rows + i] = in[i * columns + j];
    }
  )cpp");
  problem.set_expert(R"cpp(
    void transpose(const int* in, int* __restrict out, int rows, int columns) {
      constexpr int kBlock = 16;
      for (int i0 = 0; i0 < rows; i0 += kBlock)
        for (int j0 = 0; j0 < columns; j0 += kBlock)
          for (int j = j0; j < std::min(j0 + kBlock, columns); ++j)
            for (int i = i0; i < std::min(i0 + kBlock, rows); ++i)
              out[j * rows + i] = in[i * columns + j];
    }
  )cpp");
  return problem;
}

v1::Problem PartitionProblem() {
  v1::Problem problem;
  problem.set_id("partition_i32");
  problem.set_signature("int partition(int* data, int n, int pivot)");
  AddArray(&problem, "data", v1::I32, {"n"}, v1::Array::INOUT);
  AddSize(&problem, "n", "n");
  v1::Argument* pivot = problem.add_args();
  pivot->set_name("pivot");
  pivot->mutable_scalar()->set_type(v1::I32);
  SetUniform(pivot->mutable_scalar()->mutable_fill(), -50, 50);
  problem.mutable_returns()->set_type(v1::I32);
  for (const int n : {1, 2, 31}) (*problem.mutable_sizes()->add_check()->mutable_values())["n"] = n;
  (*problem.mutable_sizes()->add_timed()->mutable_values())["n"] = 20000;
  problem.mutable_compare()->set_rule(v1::Compare::EXACT);
  SetCommon(&problem);
  problem.set_generator(R"cpp(
    void generate(int* data, int n, int pivot, unsigned long long seed) {
      for (int i = 0; i < n; ++i) {
        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        data[i] = static_cast<int>(seed >> 33) % 100;
      }
    }
  )cpp");
  problem.set_checker(R"cpp(
    bool check(const int* before, const int* data, int n, int pivot, int returned) {
      std::vector<int> a(before, before + n), b(data, data + n);
      int below = 0;
      for (int i = 0; i < n; ++i) below += before[i] < pivot;
      if (returned != below) return false;
      for (int i = 0; i < n; ++i)
        if ((data[i] < pivot) != (i < below)) return false;
      std::sort(a.begin(), a.end());
      std::sort(b.begin(), b.end());
      return a == b;
    }
  )cpp");
  problem.set_reference(R"cpp(
    int partition(int* data, int n, int pivot) {
      int below = 0;
      for (int i = 0; i < n; ++i)
        if (data[i] < pivot) std::swap(data[i], data[below++]);
      return below;
    }
  )cpp");
  problem.set_expert(R"cpp(
    int partition(int* data, int n, int pivot) {
      static std::vector<int> high;
      high.resize(n + 1);
      int below = 0, above = 0;
      for (int i = 0; i < n; ++i) {
        const int x = data[i];
        const bool low = x < pivot;
        data[below] = x;
        high[above] = x;
        below += low;
        above += !low;
      }
      std::copy(high.begin(), high.begin() + above, data + below);
      return below;
    }
  )cpp");
  return problem;
}

namespace {

void AddStruct(v1::Problem* problem, const char* name,
               std::initializer_list<std::pair<const char*, v1::ElementType>> fields) {
  v1::StructType* type = problem->add_structs();
  type->set_name(name);
  for (const auto& [field, element] : fields) {
    v1::StructType::Field* made = type->add_fields();
    made->set_name(field);
    made->set_type(element);
  }
}

}  // namespace

v1::Problem DriftProblem() {
  v1::Problem problem;
  problem.set_id("drift");
  problem.set_signature(
      "Moved drift(const Body* from, Body* to, const Bounds* bounds, Step step, int n)");
  AddStruct(&problem, "Body", {{"x", v1::F32}, {"y", v1::F32}, {"mass", v1::F64}, {"id", v1::I32}});
  AddStruct(&problem, "Bounds", {{"low", v1::F32}, {"high", v1::F32}});
  AddStruct(&problem, "Step", {{"x", v1::F32}, {"by", v1::U8}, {"y", v1::F32}});
  AddStruct(&problem, "Moved", {{"mass", v1::F64}, {"count", v1::I32}});
  const auto add = [&](const char* name, const char* type, const char* extent,
                       v1::Array::Direction direction) {
    v1::Array* array = AddArray(&problem, name, v1::ELEMENT_TYPE_UNSPECIFIED, {extent}, direction);
    array->set_struct_type(type);
    return array;
  };
  add("from", "Body", "n", v1::Array::IN);
  add("to", "Body", "n", v1::Array::OUT);
  v1::Array* bounds = add("bounds", "Bounds", "1", v1::Array::IN);
  SetUniform(bounds->add_field_fills(), -0.5, -0.4);
  SetUniform(bounds->add_field_fills(), 0.4, 0.5);
  v1::Argument* step = problem.add_args();
  step->set_name("step");
  step->mutable_scalar()->set_struct_type("Step");
  SetUniform(step->mutable_scalar()->add_field_fills(), 0.1, 0.2);
  SetUniform(step->mutable_scalar()->add_field_fills(), 1, 9);
  SetUniform(step->mutable_scalar()->add_field_fills(), -0.2, -0.1);
  AddSize(&problem, "n", "n");
  problem.mutable_returns()->set_struct_type("Moved");
  for (const int n : {1, 2, 31}) (*problem.mutable_sizes()->add_check()->mutable_values())["n"] = n;
  (*problem.mutable_sizes()->add_timed()->mutable_values())["n"] = 5000;
  problem.mutable_compare()->set_rule(v1::Compare::SCALED);
  problem.mutable_compare()->set_rtol(1e-5);
  SetCommon(&problem);
  problem.set_generator(R"cpp(
    void generate(Body* from, Body* to, Bounds* bounds, Step step, int n, unsigned long long seed) {
      for (int i = 0; i < n; ++i) {
        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        const float unit = static_cast<float>(seed >> 40) * 0x1p-24f;
        from[i] = {unit - 0.5f, 0.5f - unit, 1 + unit, static_cast<int>(seed >> 33) % 1000};
      }
    }
  )cpp");
  problem.set_reference(R"cpp(
    Moved drift(const Body* from, Body* to, const Bounds* bounds, Step step, int n) {
      Moved moved = {0, 0};
      for (int i = 0; i < n; ++i) {
        const float x = from[i].x + step.x;
        const bool inside = x < bounds->high;
        to[i].x = inside ? x : bounds->low;
        to[i].y = from[i].y + step.y;
        double mass = 0;
        for (int k = 0; k < 16; ++k) mass += from[i].mass * 0.0625;
        to[i].mass = mass;
        to[i].id = from[i].id + step.by;
        if (inside) moved.mass += mass;
        moved.count += inside;
      }
      return moved;
    }
  )cpp");
  problem.set_expert(R"cpp(
    Moved drift(const Body* from, Body* to, const Bounds* bounds, Step step, int n) {
      Moved moved = {0, 0};
      for (int i = 0; i < n; ++i) {
        const float x = from[i].x + step.x;
        const bool inside = x < bounds->high;
        to[i] = {inside ? x : bounds->low, from[i].y + step.y, from[i].mass, from[i].id + step.by};
        if (inside) moved.mass += from[i].mass;
        moved.count += inside;
      }
      return moved;
    }
  )cpp");
  return problem;
}

}  // namespace whetstone
