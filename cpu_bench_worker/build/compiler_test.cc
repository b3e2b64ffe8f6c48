#include "cpu_bench_worker/build/compiler.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/problem/compile_flags.h"
#include "cpu_bench_worker/build/compiler_testing.h"
#include "cpu_bench_worker/build/readable_file.h"
#include "cpu_bench_worker/build/shim.h"
#include "cpu_bench_worker/problem/test_problems.h"

namespace whetstone {
namespace {

// CompilerTest runs a test with each of the host's compilers and the headers of the matmul problem.
class CompilerTest : public CompilingTest {
 protected:
  void ForEach(const std::function<void()>& test) {
    for (const ToolChain& tools : compiler_->tool_chains()) {
      SCOPED_TRACE(tools.name);
      v1::Problem problem = MatmulProblem();
      rules_ = problem.compile();
      rules_.set_compiler(tools.name);
      rules_.add_headers("cstring");
      auto config = compiler_->Prepare(rules_, 20);
      ASSERT_TRUE(config.ok()) << config.status();
      config_ = *config;
      auto source = ShimSource(problem.signature(), *Arguments::Parse(problem), CallRole::kKernel);
      ASSERT_TRUE(source.ok()) << source.status();
      auto shim = compiler_->CompileShim(config_, *source);
      ASSERT_TRUE(shim.ok()) << shim.status();
      shim_ = *shim;
      test();
    }
  }

  CompileResult Compile(const std::string& source) {
    return compiler_->Compile(config_, shim_, source, "matmul");
  }

  v1::CompileRules rules_;
  CompileConfig config_;
  std::string shim_;
};

// Whoever builds a proof of a verdict has them from the same place.
TEST_F(CompilerTest, FlagsAreThoseOfEveryProgram) {
  ForEach([&] { EXPECT_EQ(config_.flags, CompileFlags(rules_)); });
}

TEST_F(CompilerTest, NamesOfTheAllowedHeaders) {
  ForEach([&] {
    for (const char* name :
         {"_mm256_add_ps", "__m256", "_MM_SHUFFLE", "_CMP_LT_OS", "malloc", "memcpy",
          "__builtin_memcpy", "UINT64_MAX", "abs", "new", "delete", "__gnu_cxx", "std"})
      EXPECT_TRUE(config_.headers->names.UsedBy(name)) << name;
    for (const char* text :
         {"i", "n", "c", "count", "size", "matmul", "a", "b", "x", "sum", "block", "row", "size_t",
          "int64_t", "__restrict", "__builtin_expect", "#pragma GCC optimize(\"O3\")",
          "__attribute__((target(\"avx2\"), always_inline))",
          "typedef float v8 __attribute__((vector_size(32), aligned(4)));"})
      EXPECT_FALSE(config_.headers->names.UsedBy(text)) << text;
  });
}

TEST_F(CompilerTest, APlainProgramNeverReadsTheAllowedHeaders) {
  ForEach([&] {
    const CompileResult before = Compile(kMatmulIkj);
    // The headers have a folder of their own: whoever reads these now, fails. (g++ takes bare.h.gch
    // for bare.h; clang++ looks whether bare.h is as it was.)
    rules_.add_headers("cmath");
    config_ = *compiler_->Prepare(rules_, 20);
    const std::string allowed = config_.headers->folder->path() + "/allowed.h";
    const std::string bare = config_.headers->folder->path() + "/bare.h";
    ASSERT_TRUE(WriteReadableFile(allowed, "#error read\n").ok());
    ASSERT_TRUE(WriteReadableFile(allowed + config_.tools->precompiled_suffix, "broken").ok());
    if (config_.tools->name == "g++") {
      ASSERT_TRUE(WriteReadableFile(bare, "#error read\n").ok());
    }
    EXPECT_FALSE(Compile(absl::StrCat("using std::size_t;\n", kMatmulIkj)).compiled);
    const CompileResult without = Compile(kMatmulIkj);
    EXPECT_TRUE(without.compiled) << without.diagnostics;
    EXPECT_EQ(without.object_hash, before.object_hash);
  });
}

TEST_F(CompilerTest, ProgramsThatNeedTheHeadersGetThem) {
  ForEach([&] {
    for (const char* body : {
             "_mm256_storeu_ps(c, _mm256_add_ps(_mm256_loadu_ps(a), _mm256_loadu_ps(b)));",
             "std::sort(c, c + n);",
             "memcpy(c, a, n * sizeof(float));",
             "new (c) float(n);",
             "for (float x : {1.f, 2.f}) c[0] += x;",  // Only the compiler sees this.
             "auto x = {1, 2}; c[0] = *(x.begin() + 1);",
             "c[0] = (n <=> 1) < 0;",
         }) {
      const CompileResult result = Compile(absl::StrCat(
          "__attribute__((target(\"avx2\"))) void matmul(const float* a, const float* b, "
          "float* c, int n) {\n",
          body, "\n}\n"));
      EXPECT_TRUE(result.compiled) << body << "\n" << result.status << result.diagnostics;
    }
  });
}

TEST_F(CompilerTest, MistakesAreDescribedAsWithTheHeaders) {
  ForEach([&] {
    for (const char* source : {"void matmul(const float* a) { return x; }\nint = 3;\n",
                               "int f(int i) { return mallocc(i); }", "void other() {}"}) {
      EXPECT_FALSE(config_.headers->names.UsedBy(source)) << source;
      const CompileResult plain = Compile(source);
      const CompileResult with = Compile(absl::StrCat(source, "\nusing std::size_t;"));
      EXPECT_FALSE(plain.compiled);
      EXPECT_NE(plain.diagnostics, "");
      EXPECT_EQ(plain.diagnostics, with.diagnostics);
      EXPECT_EQ(plain.entry_missing, with.entry_missing);
    }
  });
}

}  // namespace
}  // namespace whetstone
