#include "cpu_bench_worker/screen/parse.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <memory>

#include "absl/strings/match.h"
#include "common/file.h"
#include "cpu_bench_worker/screen/canonical.h"

namespace whetstone {
namespace {

constexpr char kSignature[] = "void f(const float* a, float* __restrict b, int n)";
const std::vector<std::string> kFlags = {"-std=c++20", "-march=native"};

class ParseTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto dir = TempDir::Make("screen");
    ASSERT_TRUE(dir.ok());
    dir_ = new TempDir(std::move(*dir));
    const std::string header = dir_->path() + "/allowed.h";
    std::ofstream(header) << "#include <cstddef>\n#include <cstdint>\n#include <immintrin.h>\n"
                             "#include <algorithm>\n#include <vector>\n#include <cstdlib>\n"
                             "#include <chrono>\n#include <cmath>\n#include <semaphore>\n";
    ASSERT_EQ(PrecompileHeader(kFlags, header), "");
    pch_ = new std::string(header + ".pch");
    std::string error;
    type_ = new std::string(SignatureType(kFlags, *pch_, kSignature, "f", &error));
    ASSERT_EQ(error, "");
  }
  static void TearDownTestSuite() {
    delete type_;
    delete pch_;
    delete dir_;
  }
  static ScreenFindings Parse(const std::string& source,
                              std::set<std::string> allow = {"target", "pragma", "static"}) {
    ScreenRules rules;
    rules.headers = {"immintrin.h", "algorithm", "vector", "cstdlib", "cmath"};
    rules.allow = std::move(allow);
    rules.function = "f";
    rules.type = *type_;
    rules.signature = kSignature;
    return ParseProgram(kFlags, *pch_, rules, source);
  }
  static std::string Body(const std::string& body) {
    return std::string("void f(const float* a, float* b, int n) {") + body + "}\n";
  }

  static TempDir* dir_;
  static std::string* pch_;
  static std::string* type_;
};
TempDir* ParseTest::dir_ = nullptr;
std::string* ParseTest::pch_ = nullptr;
std::string* ParseTest::type_ = nullptr;

TEST_F(ParseTest, TheSignatureIsComparedByTypeAlone) {
  EXPECT_EQ(*type_, "void (const float *, float *, int)");
  for (const char* good :
       {"void f(const float* x, float* y, int m) {}", "void f(float const* a, float* b, int) {}",
        "void f(const float a[], float* __restrict__ b, const int n) noexcept {}",
        "using F = float; void f(const F* a, F* b, std::int32_t n) {}",
        "__attribute__((target(\"avx2\"))) void f(const float* a, float* b, int n) {}"}) {
    const ScreenFindings findings = Parse(good);
    EXPECT_TRUE(findings.function_defined) << good;
    EXPECT_TRUE(findings.forbidden.empty()) << good << ": " << findings.forbidden[0];
    EXPECT_TRUE(findings.errors.empty()) << good << ": " << findings.errors[0];
  }
  for (const char* bad : {"void f(float* a, float* b, int n) {}",
                          "int f(const float* a, float* b, int n) { return 0; }",
                          "void f(const float* a, float* b, long n) {}",
                          "static void f(const float* a, float* b, int n) {}",
                          "inline void f(const float* a, float* b, int n) {}",
                          "namespace x { void f(const float* a, float* b, int n) {} }",
                          "template <class T> void f(const T* a, T* b, int n) {}", "void g() {}",
                          "struct S { void f(const float* a, float* b, int n) {} };"}) {
    EXPECT_FALSE(Parse(bad).function_defined) << bad;
  }
}

struct ForbiddenCase {
  std::string source;
  const char* part;
};

TEST_F(ParseTest, ForbiddenThingsAreNamedWithTheirLine) {
  const std::vector<ForbiddenCase> cases = {
      {"#include <iostream>\n" + Body(""), "line 1: #include of 'iostream'"},
      {"#include \"vector\"\n" + Body(""), "line 1: #include of 'vector'"},
      {"\n#include \"/etc/passwd\"\n" + Body(""), "line 2: #include of '/etc/passwd'"},
      {Body("__asm__ volatile(\"nop\");"), "line 1: inline assembly"},
      {"__asm__(\".globl x\");\n" + Body(""), "line 1: assembly outside"},
      {"__attribute__((constructor)) void g() {}\n" + Body(""), "attribute constructor"},
      {"__attribute__((destructor)) void g() {}\n" + Body(""), "attribute destructor"},
      {"__attribute__((section(\".init_array\"))) int x = 1;\n" + Body(""), "attribute section"},
      {"void g() {}\nvoid h() __attribute__((alias(\"_Z1gv\")));\n" + Body(""), "attribute alias"},
      {"__attribute__((weak)) void g() {}\n" + Body(""), "attribute weak"},
      {"__attribute__((symver(\"x@y\"))) void g() {}\n" + Body(""), "attribute symver"},
      {"int g();\nint x = g();\n" + Body(""), "line 2: the variable x is initialised before"},
      {"std::vector<int> v(10);\n" + Body(""), "line 1: the variable v"},
      {"struct S { S() { n = 3; } int n; };\nS s;\n" + Body(""), "line 2: the variable s"},
      {"struct S { ~S() {} };\nS s;\n" + Body(""), "the variable s runs code when"},
      {"template <class T> struct S { static int x; };\nint g() { return 1; }\n"
       "template <class T> int S<T>::x = g();\n" +
           Body("b[0] = S<int>::x;"),
       "the variable x"},
      {"extern \"C\" int getpid();\n" + Body("b[0] = getpid();"), "extern \"C\""},
      {"int other(int);\n" + Body("b[0] = other(1);"), "other is declared but not defined"},
      {"double other(double);\n" + Body("b[0] = other(1);"), "other is declared but not defined"},
      {"int abs(int) noexcept;\n" + Body("b[0] = abs(n);"), "abs is declared but not defined"},
      {"double exp(double) noexcept __asm__(\"getpid\");\n" + Body("b[0] = exp(n);"),
       "attribute asm"},
      {"__attribute__((noreturn)) double exp(double) noexcept;\n" + Body(""),
       "exp is declared but not defined"},
      {"__attribute__((target(\"avx2\"))) double exp(double) noexcept;\n" + Body(""),
       "attribute target"},
      {"__attribute__((weak)) double exp(double) noexcept;\n" + Body(""), "attribute weak"},
      {"extern char** environ;\n" + Body(""), "environ is declared but not defined"},
      {Body("exit(0);"), "line 1: exit is not allowed: it leaves the program"},
      {Body("std::abort();"), "abort is not allowed"},
      {Body("system(\"true\");"), "system is not allowed"},
      {Body("auto p = &std::getenv; b[0] = p(\"x\") != nullptr;"), "getenv is not allowed"},
      {Body("b[0] = __rdtsc();"), "reads the clock"},
      {Body("b[0] = __builtin_ia32_rdtsc();"), "reads the clock"},
      {Body("void* p = __builtin_return_address(0); b[0] = p != nullptr;"), "caller's frame"},
      {"void* operator new(std::size_t n) { return std::malloc(n); }\n" + Body(""), "operator new"},
      {"int main() { return 0; }\n" + Body(""), "main is not allowed"},
      {"template <class T> int h() { return 1; }\n"
       "template <class T> struct S { static int G; };\n"
       "template <class T> int S<T>::G = h<T>();\n" +
           Body("if (n < 0) b[0] = S<int>::G;"),
       "line 3: the variable G"},
      {"#ifdef __DEC32_MANT_DIG__\nint x;\n#endif\n" + Body(""),
       "line 1: a condition on __DEC32_MANT_DIG__"},
      {"#define OWN __OPTIMIZE__\n#if 1 + OWN > 0\n#endif\n" + Body(""),
       "line 2: a condition on __OPTIMIZE__"},
      {"#if 1 > \\ \n __DEC32_MANT_DIG__\n#endif\n" + Body(""), "line 1: a condition must stand"},
      {"#if 0 /*\n*/ + __DEC32_MANT_DIG__\n#endif\n" + Body(""), "line 1: a condition must stand"},
      {"#define CAT(a, b) a##b\n#define __DEC32_\n#define MANT_DIG__\n"
       "#if CAT(__DEC32_, MANT_DIG__)\n#endif\n" +
           Body(""),
       "line 4: a condition on "},
      {"#ifndef DEC32_MANT_DIG\n#define DEC32_MANT_DIG 1\n#endif\n" + Body(""),
       "a condition on DEC32_MANT_DIG"},
      {"#if 0\n#elif __DEC32_MANT_DIG__\n#endif\n" + Body(""), "line 2: a condition on"},
      {"#pragma GCC target(\"sse4a\")\n#ifdef __AVX2__\n#endif\n" + Body(""),
       "a condition on __AVX2__ behind #pragma GCC target"},
      {"template <class T> void g(T x) { std::exit(x); }\n" + Body("if (n < 0) g(1);"),
       "exit is not allowed"},
      {"template <class T> void g(T x) { if constexpr (sizeof(T) == 3) exit(x); }\n" +
           Body("g(1);"),
       "exit is not allowed"},
      {Body("sched_yield();"), "it sleeps"},
      {Body("std::binary_semaphore s(0); s.try_acquire_for(std::chrono::seconds(1));"),
       "it sleeps"},
      {Body("_mm_setcsr(_mm_getcsr() | 0x8040);"), "how the processor rounds"},
      {"#pragma weak f\n" + Body(""), "#pragma weak"},
      {"#pragma GCC poison x\n" + Body(""), "#pragma GCC poison"},
      {"#pragma redefine_extname f g\n" + Body(""), "#pragma redefine_extname"},
      {"_Pragma(\"GCC optimize(2)\")\n" + Body(""), "_Pragma"},
      {Body("\n#pragma omp parallel for\nfor (int i = 0; i < n; ++i) b[i] = 0;"),
       "line 2: #pragma omp parallel"},
  };
  for (const ForbiddenCase& c : cases) {
    const ScreenFindings findings = Parse(c.source);
    std::string all;
    for (const std::string& f : findings.forbidden) all += f + "\n";
    EXPECT_TRUE(absl::StrContains(all, c.part))
        << c.source << "\nfound: " << all << (findings.errors.empty() ? "" : findings.errors[0]);
  }
}

TEST_F(ParseTest, HonestOptimizationPasses) {
  const std::vector<std::string> sources = {
      "#include <immintrin.h>\n" + Body("_mm256_storeu_ps(b, _mm256_loadu_ps(a));"),
      "#pragma GCC optimize(\"O3\")\n#pragma GCC target(\"avx2\")\n" +
          Body("\n#pragma GCC unroll 4\nfor (int i = 0; i < n; ++i) b[i] = a[i];\n"),
      "static float buffer[1024];\nconstexpr int kTable[] = {1, 2, 3};\n" +
          Body("buffer[0] = a[0]; b[0] = buffer[0] + kTable[n & 1];"),
      Body("static std::vector<float> scratch; scratch.resize(n); b[0] = scratch[0];"),
      "typedef float V __attribute__((vector_size(32), aligned(4)));\n" +
          Body("V v = *(const V*)a; v += v; *(V*)b = v;"),
      "__attribute__((noinline, optimize(\"O3\"))) static int g(int n) { return n; }\n" +
          Body("b[0] = g(n);"),
      "namespace { template <int N> void g(float* b) { for (int i = 0; i < N; ++i) b[i] = i; } "
      "}\n" +
          Body("g<4>(b);"),
      Body("std::sort(b, b + n); b = (float*)__builtin_assume_aligned(b, 4); __builtin_memcpy(b, "
           "a, 4);"),
      Body("auto less = [](float x, float y) { return x < y; }; std::sort(b, b + n, less);"),
      "struct alignas(64) Block { float v[16]; };\n" + Body("Block x{}; b[0] = x.v[0];"),
      "struct Call { const float* a; int n; };\nstatic Call calls[4];\n" +
          Body("calls[0] = {a, n}; b[0] = calls[0].n;"),
      "#if defined(__AVX2__) && !defined(NDEBUG) || __cplusplus < 201703L\n#endif\n" + Body(""),
      "#define UNROLL 4\n#define WIDE (UNROLL > 2)\n#if WIDE\n#endif\n" + Body(""),
      "#ifndef BLOCK\n#define BLOCK 64\n#endif\n#define MORE(x) ((x) > BLOCK)\n"
      "#if MORE(32)  // no\n#endif\n" +
          Body(""),
      "static float select(bool c, float x, float y) { return c ? x : y; }\n"
      "template <class T> T g(T x) { return select(x > 0, x, 0); }\n" +
          Body("b[0] = g(a[0]);"),
      "template <int N> constexpr int kTwice = 2 * N;\n" + Body("b[0] = kTwice<4>;"),
      "__attribute__((const, simd(\"notinbranch\"))) float expf(float) noexcept;\n" +
          Body("for (int i = 0; i < n; ++i) b[i] = expf(a[i]);"),
  };
  for (const std::string& source : sources) {
    const ScreenFindings findings = Parse(source);
    EXPECT_TRUE(findings.function_defined) << source;
    EXPECT_TRUE(findings.forbidden.empty()) << source << findings.forbidden[0];
    EXPECT_TRUE(findings.errors.empty()) << source << findings.errors[0];
  }
}

TEST_F(ParseTest, WhatAProblemAllowsDecides) {
  const std::string pragma = "#pragma GCC optimize(\"O3\")\n" + Body("");
  EXPECT_TRUE(Parse(pragma, {"pragma"}).forbidden.empty());
  EXPECT_FALSE(Parse(pragma, {}).forbidden.empty());
  const std::string statics = Body("static int calls; b[0] = ++calls;");
  EXPECT_TRUE(Parse(statics, {"static"}).forbidden.empty());
  EXPECT_FALSE(Parse(statics, {}).forbidden.empty());
  const std::string constant = Body("static const int table[] = {1, 2}; b[0] = table[n];");
  EXPECT_TRUE(Parse(constant, {}).forbidden.empty());
  const std::string target = "__attribute__((target(\"avx2\"))) " + Body("");
  EXPECT_TRUE(Parse(target, {"target"}).forbidden.empty());
  EXPECT_FALSE(Parse(target, {}).forbidden.empty());
  const std::string assembly = Body("__asm__ volatile(\"\");");
  EXPECT_TRUE(Parse(assembly, {"asm"}).forbidden.empty());
  EXPECT_FALSE(Parse(assembly, {}).forbidden.empty());
}

TEST_F(ParseTest, ErrorsAreShortAndHaveLines) {
  const ScreenFindings findings = Parse(Body("\n\n  b[0] = undeclared;\n int x = ;"));
  ASSERT_GE(findings.errors.size(), 2u);
  EXPECT_EQ(findings.errors[0], "line 3: error: use of undeclared identifier 'undeclared'");
  EXPECT_TRUE(absl::StartsWith(findings.errors[1], "line 4: error: expected expression"));
}

TEST_F(ParseTest, TechniquesAreTagged) {
  const auto tags = [](const std::string& source) { return Parse(source).techniques; };
  using Tags = std::set<std::string>;
  EXPECT_EQ(tags(Body("for (int i = 0; i < n; ++i) b[i] = a[i];")), Tags());
  EXPECT_EQ(tags(Body("for (int i = 0; i < n; i += 4) b[i] = a[i];")), Tags({"unrolling"}));
  EXPECT_EQ(
      tags(Body("for (int i = 0; i < n; i += 8) for (int j = i; j < i + 8; ++j) b[j] = a[j];")),
      Tags({"blocking"}));
  EXPECT_EQ(tags(Body("_mm256_storeu_ps(b, _mm256_loadu_ps(a));")), Tags({"simd_intrinsics"}));
  EXPECT_EQ(tags("void f(const float* a, float* __restrict b, int n) {}"), Tags({"restrict"}));
  EXPECT_EQ(tags(Body("std::vector<float> v(n); b[0] = v[0];")), Tags({"heap_scratch"}));
}

TEST(CanonicalTest, NamesLayoutAndCommentsDoNotCount) {
  const std::string one = "#include <vector>\nint f(int a) { return a + 1; } // sum\n";
  const std::string two = "int  f ( int total )\n{ /* x */ return total+1; }";
  EXPECT_EQ(CanonicalText(one, {"a"}), CanonicalText(two, {"total"}));
  EXPECT_EQ(CanonicalText(one, {"a"}), "int f ( int v0 ) { return v0 + 1 ; } ");
  EXPECT_NE(CanonicalText("int f(int a, int b) { return a - b; }", {"a", "b"}),
            CanonicalText("int f(int a, int b) { return b - a; }", {"a", "b"}));
}

TEST(CanonicalTest, CompilerProbesAreSeenEvenWhereSkipped) {
  EXPECT_EQ(CompilerProbe("#ifdef __clang__\n#else\nint x;\n#endif\n", false), "__clang__");
  EXPECT_EQ(CompilerProbe("#if 0\nasm(\"nop\");\n#endif\n", false), "asm");
  EXPECT_EQ(CompilerProbe("#if 0\nasm(\"nop\");\n#endif\n", true), "");
  EXPECT_EQ(CompilerProbe("# 2 \"x.h\" 1\nint x;\n", false), "#2");
  EXPECT_EQ(CompilerProbe("  #line 7\n", false), "#line");
  EXPECT_EQ(CompilerProbe("#if 0\n#elifdef X\n#endif\n", false), "#elifdef");
  EXPECT_EQ(CompilerProbe("#ifdef __AVX2__\nint asmx;\n#endif // __GNUC__\n", false), "");
}

}  // namespace
}  // namespace whetstone
