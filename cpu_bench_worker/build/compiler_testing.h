// A fixture for tests that compile: one compiler for all tests of a suite, which keeps what it
// precompiled.
#ifndef WHETSTONE_CPU_BENCH_WORKER_BUILD_COMPILER_TESTING_H_
#define WHETSTONE_CPU_BENCH_WORKER_BUILD_COMPILER_TESTING_H_

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "common/file.h"
#include "cpu_bench_worker/build/compiler.h"

namespace whetstone {

class CompilingTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto dir = TempDir::Make("compiling");
    ASSERT_TRUE(dir.ok()) << dir.status();
    dir_ = std::make_unique<TempDir>(std::move(*dir));
    auto compiler = Compiler::Create(dir_->path(), {});
    ASSERT_TRUE(compiler.ok()) << compiler.status();
    compiler_ = std::move(*compiler);
  }
  static void TearDownTestSuite() {
    compiler_.reset();
    dir_.reset();
  }
  void SetUp() override { ASSERT_NE(compiler_, nullptr); }

  // The compiler of the suite that runs.
  inline static std::unique_ptr<TempDir> dir_;
  inline static std::unique_ptr<Compiler> compiler_;
};

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_BUILD_COMPILER_TESTING_H_
