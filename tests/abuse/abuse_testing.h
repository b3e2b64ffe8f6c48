// What hostile candidates are measured with, and how one sees what they left behind.
#ifndef WHETSTONE_TESTS_ABUSE_ABUSE_TESTING_H_
#define WHETSTONE_TESTS_ABUSE_ABUSE_TESTING_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cpu_bench_worker/measure/measure.h"
#include "tests/abuse/hostile_program.h"
#include "whetstone/v1/problem.pb.h"

namespace whetstone {

// The problem that a hostile program names, with short limits: one of prompts/, "chain" (a hash of
// bytes, each step of which waits for the last), "threads" (a matrix product on two cores), "huge"
// (a sum over more than an invocation's inputs may be copied), "slow" (the product below, in two
// seconds altogether), or, where it names none, a matrix
// product with one timed size. Ends the process where there is none so called.
v1::Problem AbuseProblem(const std::string& name = "");

// How a program is measured.
enum class Path {
  kCampaign,  // as campaigns do: verdicts of equal code are reused, and clear ones stopped early
  kPrecise,   // as leaders, proofs and `whet measure` are
};

// All programs of tests/abuse/; ends the process where one can not be read.
std::vector<HostileProgram> HostilePrograms();

// One measurer that screens and one that does not, each made when it is first needed.
class Workers {
 public:
  static Workers& Get();

  // Null, with a failed expectation, where the worker does not start.
  Measurer* Of(bool screened);

  // With an empty `id` it takes one that nobody had before.
  v1::Verdict Measure(Measurer* measurer, const std::string& source, std::string id = "",
                      Path path = Path::kPrecise, const std::string& problem = "");

  // Makes the problem known to the measurer; returns its hash.
  std::string Put(Measurer* measurer, const std::string& problem);

 private:
  std::map<std::string, v1::Calibration> calibrations_;           // by the problem's name
  std::map<std::pair<Measurer*, std::string>, std::string> put_;  // hashes
  std::unique_ptr<Measurer> measurers_[2];
  int candidates_ = 0;
};

// Measures `program`: its verdict must be one of those allowed, its text clean, and it may not earn
// more than its twin. Returns the verdict.
v1::Verdict ExpectGetsNothing(const HostileProgram& program, bool screened, Path path);

// Measures the reference, which must score 1.
void ExpectHonestIsMeasured(Measurer* measurer);

// Where a hostile program of tests/abuse/ that got out would write.
inline constexpr char kLeftBehind[] = "/tmp/whetstone-abuse-left";

// How many entries a folder has, and all folders below it together; 0 where there is none.
int64_t CountIn(const std::string& folder);
int64_t CountBelow(const std::string& folder);

// What an attack could have changed outside: compare before and after.
std::string HostState();

}  // namespace whetstone

#endif  // WHETSTONE_TESTS_ABUSE_ABUSE_TESTING_H_
