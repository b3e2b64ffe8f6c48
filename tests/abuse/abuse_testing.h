// What hostile candidates are measured with, and how one sees what they left behind.
#ifndef WHETSTONE_TESTS_ABUSE_ABUSE_TESTING_H_
#define WHETSTONE_TESTS_ABUSE_ABUSE_TESTING_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cpu_bench_worker/measure/measure.h"
#include "tests/abuse/hostile_program.h"
#include "whetstone/v1/problem.pb.h"

namespace whetstone {

// A matrix product with one timed size, which is enough to see a gain, and short limits.
v1::Problem AbuseProblem();

// All programs of tests/abuse/; ends the process where one can not be read.
std::vector<HostileProgram> HostilePrograms();

// One measurer that screens and one that does not, each made when it is first needed.
class Workers {
 public:
  static Workers& Get();

  // Null, with a failed expectation, where the worker does not start.
  Measurer* Of(bool screened);

  // With an empty `id` it takes one that nobody had before; with `fresh` the verdict is not from
  // the cache.
  v1::Verdict Measure(Measurer* measurer, const std::string& source, std::string id = "",
                      bool fresh = true);

 private:
  v1::Calibration calibration_;
  std::unique_ptr<Measurer> measurers_[2];
  int candidates_ = 0;
};

// Measures `program`: its verdict must be one of those allowed, without a gain, its text clean.
// Returns the verdict.
v1::Verdict ExpectGetsNothing(const HostileProgram& program, bool screened);

// Measures the reference, which must score 1.
void ExpectHonestIsMeasured(Measurer* measurer);

// Where a hostile program of tests/abuse/ that got out would write.
inline constexpr char kLeftBehind[] = "/tmp/whetstone-abuse-left";

// What an attack could have changed outside: compare before and after.
std::string HostState();

}  // namespace whetstone

#endif  // WHETSTONE_TESTS_ABUSE_ABUSE_TESTING_H_
