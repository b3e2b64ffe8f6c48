// A BenchmarkProblem is a problem as the parts of a benchmark's text (benchmark_source.h) see it.
#ifndef WHETSTONE_COORDINATOR_PROOF_BENCHMARK_PROBLEM_H_
#define WHETSTONE_COORDINATOR_PROOF_BENCHMARK_PROBLEM_H_

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "common/problem/struct_type.h"
#include "coordinator/prompt/signature.h"
#include "whetstone/v1/problem.pb.h"

namespace whetstone {

struct BenchmarkProblem {
  // `problem` is borrowed for the object's life.
  BenchmarkProblem(const v1::Problem& problem, Signature signature);

  const Parameter& ParameterOf(int argument) const {
    return signature.parameters[static_cast<size_t>(argument)];
  }
  // Returns `type` as the benchmark's own code names it: the problem's structs are global, and may
  // be named like anything of whet_proof's.
  std::string Cpp(const std::string& type) const;
  // Returns the arguments of a call, from the members of `data`.
  std::string Arguments(const std::string& data) const;

  const v1::Problem& problem;
  const Signature signature;
  std::set<std::string> variables;  // those of the timed sizes
};

// A BenchmarkField is one field of an element, and what the text says of all its numbers.
struct BenchmarkField {
  size_t first = 0;  // of the element's fields, of which each is one number
  std::string name;
  std::string loop;  // "  for (…) " over the numbers of an array; of a plain number "  "
  std::string at;    // ", whet_at" within that loop; of a plain number nothing
};
std::vector<BenchmarkField> BenchmarkFields(const ElementLayout& element);

// Returns the name that benchmark_support.h has for elements of `type`.
std::string BenchmarkElement(v1::ElementType type);

// Returns a C++ literal of exactly this number.
std::string BenchmarkNumber(double value);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_PROOF_BENCHMARK_PROBLEM_H_
