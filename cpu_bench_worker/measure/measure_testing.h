// Tests of the measurer share one: setting up and calibrating costs a second or two.
#ifndef WHETSTONE_CPU_BENCH_WORKER_MEASURE_MEASURE_TESTING_H_
#define WHETSTONE_CPU_BENCH_WORKER_MEASURE_MEASURE_TESTING_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/problem/problem_hash.h"
#include "common/tree_testing.h"
#include "cpu_bench_worker/measure/measure.h"
#include "cpu_bench_worker/problem/test_problems.h"

namespace whetstone {

class MeasureTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    MeasurerOptions options;
    options.bin_dir = BinDir();
    auto measurer = Measurer::Create(options);
    ASSERT_TRUE(measurer.ok()) << measurer.status();
    measurer_ = std::move(*measurer).release();
    problem_ = new v1::Problem(MatmulProblem());
    auto calibration = measurer_->PutProblem(*problem_, nullptr);
    ASSERT_TRUE(calibration.ok()) << calibration.status();
    calibration_ = new v1::Calibration(*calibration);
  }
  static void TearDownTestSuite() {
    delete calibration_;
    delete problem_;
    delete measurer_;
  }
  void SetUp() override { ASSERT_NE(calibration_, nullptr); }

  static v1::MeasureRequest Request(const std::string& id, const std::string& source, bool time) {
    v1::MeasureRequest request;
    request.set_problem_hash(ProblemHash(*problem_));
    request.set_candidate_id(id);
    request.set_source(source);
    request.set_time(time);
    request.set_seed(11);
    return request;
  }
  static v1::Verdict Measure(const std::string& id, const std::string& source, bool time = false) {
    auto verdict = measurer_->Measure(Request(id, source, time));
    EXPECT_TRUE(verdict.ok()) << verdict.status();
    return verdict.ok() ? *verdict : v1::Verdict();
  }
  // Returns a matmul with `body`.
  static std::string Matmul(const std::string& body) {
    return absl::StrCat("void matmul(const float* a, const float* b, float* c, int n) {", body,
                        "}\n");
  }

  inline static Measurer* measurer_ = nullptr;
  inline static v1::Problem* problem_ = nullptr;
  inline static v1::Calibration* calibration_ = nullptr;
};

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_MEASURE_MEASURE_TESTING_H_
