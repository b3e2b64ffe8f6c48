// Measures how long the pre-started screener takes over one candidate of some sixty lines with
// <vector> and <immintrin.h>, and over one that does not parse.
//
//   screen_bench --benchmark_enable_random_interleaving=true --benchmark_repetitions=5
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cpu_bench_worker/screen/screen_client.h"

namespace whetstone {
namespace {

constexpr char kCandidate[] = R"(#include <immintrin.h>

#include <vector>

namespace {

constexpr int kBlock = 64;

// Four rows of b at once.
inline __m256 MulAdd4(const float* a, const float* b, int n, __m256 sum) {
  for (int i = 0; i < 4; ++i) {
    const __m256 x = _mm256_set1_ps(a[i]);
    sum = _mm256_fmadd_ps(x, _mm256_loadu_ps(b + i * n), sum);
  }
  return sum;
}

void Pack(const float* b, int n, int row, int rows, std::vector<float>& packed) {
  packed.resize(static_cast<size_t>(rows) * n);
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < n; ++j) {
      packed[static_cast<size_t>(i) * n + j] = b[static_cast<size_t>(row + i) * n + j];
    }
  }
}

void Rest(const float* a, const float* b, float* c, int n, int begin, int end) {
  for (int k = begin; k < end; ++k) {
    const float x = a[k];
    for (int j = 0; j < n; ++j) {
      c[j] += x * b[static_cast<size_t>(k - begin) * n + j];
    }
  }
}

}  // namespace

__attribute__((target("avx2,fma"))) void matmul(const float* a, const float* b, float* c, int n) {
  std::vector<float> packed;
  for (int i = 0; i < n * n; ++i) c[i] = 0;
  for (int k = 0; k < n; k += kBlock) {
    const int rows = n - k < kBlock ? n - k : kBlock;
    Pack(b, n, k, rows, packed);
    for (int i = 0; i < n; ++i) {
      const float* row = a + static_cast<size_t>(i) * n;
      float* out = c + static_cast<size_t>(i) * n;
      if (n % 8 != 0 || rows % 4 != 0) {
        Rest(row, packed.data(), out, n, k, k + rows);
        continue;
      }
      for (int j = 0; j < n; j += 8) {
        __m256 sum = _mm256_loadu_ps(out + j);
        for (int l = 0; l < rows; l += 4) {
          sum = MulAdd4(row + k + l, packed.data() + static_cast<size_t>(l) * n + j, n, sum);
        }
        _mm256_storeu_ps(out + j, sum);
      }
    }
  }
}
)";

v1::Problem Matmul() {
  v1::Problem problem;
  problem.set_id("matmul");
  problem.set_signature("void matmul(const float* a, const float* b, float* c, int n)");
  problem.mutable_compile()->set_std("c++20");
  problem.mutable_compile()->add_flags("-O3");
  problem.mutable_compile()->add_flags("-march=native");
  problem.mutable_compile()->add_headers("immintrin.h");
  problem.mutable_compile()->add_headers("vector");
  problem.mutable_compile()->add_allow("target");
  return problem;
}

// Every candidate differs, as real ones do: `number` is part of its text.
void Screen(benchmark::State& state, const std::string& text, v1::Outcome expected) {
  const std::string bin = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const auto screener = ScreenClient::Create(bin, /*cores=*/{}, /*screeners=*/1);
  if (!screener.ok()) {
    state.SkipWithError(std::string(screener.status().message()).c_str());
    return;
  }
  const absl::StatusOr<ScreenConfig> config = (*screener)->Prepare(Matmul());
  if (!config.ok()) {
    state.SkipWithError(std::string(config.status().message()).c_str());
    return;
  }
  std::vector<double> milliseconds;
  int number = 0;
  for (auto _ : state) {
    const std::string source = absl::StrCat(text, "// ", ++number, "\n");
    const auto start = std::chrono::steady_clock::now();
    const ScreenReport report = (*screener)->Screen(*config, source);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    if (!report.status.ok() || report.outcome != expected) {
      state.SkipWithError(
          absl::StrCat(v1::Outcome_Name(report.outcome), " ", report.detail).c_str());
      return;
    }
    state.SetIterationTime(elapsed.count());
    milliseconds.push_back(elapsed.count() * 1e3);
  }
  std::sort(milliseconds.begin(), milliseconds.end());
  state.counters["p50_ms"] = milliseconds[milliseconds.size() / 2];
  state.counters["p99_ms"] = milliseconds[milliseconds.size() * 99 / 100];
}

BENCHMARK_CAPTURE(Screen, correct, kCandidate, v1::OUTCOME_UNSPECIFIED)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond)
    ->Iterations(100);
BENCHMARK_CAPTURE(Screen, does_not_parse,
                  absl::StrReplaceAll(kCandidate, {{"if (n % 8", "if n % 8"}}), v1::COMPILE_ERROR)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond)
    ->Iterations(100);

}  // namespace
}  // namespace whetstone

BENCHMARK_MAIN();
