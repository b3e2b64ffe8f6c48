// Does one kind of work for a while and times itself. sandbox_bench runs it inside a sandbox and
// outside, to see whether isolation slows what is measured.
//
//   speed_kernel compute|memory|calls      prints the nanoseconds of its fastest round
//
// It is static and plain, so that a sandbox needs nothing for it but the file.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

// Makes the compiler keep `value` as if it were used.
template <typename T>
void Use(T& value) {
  asm volatile("" : "+m"(value) : : "memory");
}

// Computes with floating-point numbers in registers.
void Compute() {
  double sums[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  for (int i = 0; i < 400'000; ++i) {
    for (double& sum : sums) sum = sum * 0.999'999 + 0.5;
  }
  Use(sums);
}

// The buffer is more than a cache holds; Memory reads it in order and then by steps of a page and a
// bit.
constexpr size_t kWords = size_t{4} << 20;
uint64_t* Buffer() {
  static uint64_t* const buffer = [] {
    auto* const words = static_cast<uint64_t*>(std::malloc(kWords * sizeof(uint64_t)));
    for (size_t i = 0; i < kWords; ++i) words[i] = i;
    return words;
  }();
  return buffer;
}
void Memory() {
  const uint64_t* const words = Buffer();
  uint64_t sum = 0;
  for (size_t i = 0; i < kWords; ++i) sum += words[i];
  for (size_t i = 0, at = 0; i < kWords / 64; ++i, at = (at + 4099 + words[at] % 2) % kWords) {
    sum ^= words[at];
  }
  Use(sum);
}

// No compiler or processor knows beforehand which of the functions is called.
using Function = uint64_t (*)(uint64_t);
__attribute__((noinline)) uint64_t Add(uint64_t x) { return x + 0x9e3779b97f4a7c15; }
__attribute__((noinline)) uint64_t Shift(uint64_t x) { return x ^ (x >> 29); }
__attribute__((noinline)) uint64_t Multiply(uint64_t x) { return x * 0xbf58476d1ce4e5b9; }
__attribute__((noinline)) uint64_t Turn(uint64_t x) { return (x << 13) | (x >> 51); }
void Calls() {
  static Function functions[] = {Add, Shift, Multiply, Turn};
  Use(functions);
  uint64_t x = 42;
  for (int i = 0; i < 800'000; ++i) x = functions[(x >> 7) & 3](x);
  Use(x);
}

}  // namespace

int main(int argc, char** argv) {
  void (*work)() = nullptr;
  const char* const name = argc == 2 ? argv[1] : "";
  if (std::strcmp(name, "compute") == 0) work = Compute;
  if (std::strcmp(name, "memory") == 0) work = Memory;
  if (std::strcmp(name, "calls") == 0) work = Calls;
  if (work == nullptr) {
    std::fprintf(stderr, "usage: speed_kernel compute|memory|calls\n");
    return 2;
  }
  int64_t best = INT64_MAX;
  for (int round = 0; round < 12; ++round) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const int64_t ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                           std::chrono::steady_clock::now() - start)
                           .count();
    if (ns < best) best = ns;
  }
  std::printf("%lld\n", static_cast<long long>(best));
  return 0;
}
