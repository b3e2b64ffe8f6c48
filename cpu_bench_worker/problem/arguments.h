// The arguments of a problem's function: parsed once, then evaluated at each size point.
//
//   ASSIGN_OR_RETURN(Arguments arguments, Arguments::Parse(problem));
//   ASSIGN_OR_RETURN(CallShape shape, arguments.At(problem.sizes().timed(0)));
//   shape.args[0].count;   // elements of the first argument at that size
//
// Immutable and thread-safe after Parse.
#ifndef WHETSTONE_CPU_BENCH_WORKER_PROBLEM_ARGUMENTS_H_
#define WHETSTONE_CPU_BENCH_WORKER_PROBLEM_ARGUMENTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/problem/expression.h"
#include "common/problem/struct_type.h"
#include "whetstone/v1/problem.pb.h"

namespace whetstone {

enum class ArgumentKind { kSize, kScalar, kIn, kOut, kInOut };

struct ArgumentSpec {
  std::string name;
  ArgumentKind kind = ArgumentKind::kSize;
  ElementLayout element;            // nothing for kSize
  std::vector<Expression> extents;  // kSize: the one value; arrays: the shape
  // kScalar, kIn, kInOut: one for each field of the element; none: the generator writes it.
  std::vector<v1::Fill> fills;

  bool is_array() const {
    return kind == ArgumentKind::kIn || kind == ArgumentKind::kOut || kind == ArgumentKind::kInOut;
  }
  // A struct that is passed by value: kept in memory like an array of one, not in a word.
  bool is_struct_value() const { return kind == ArgumentKind::kScalar && element.is_struct(); }
  bool is_output() const { return kind == ArgumentKind::kOut || kind == ArgumentKind::kInOut; }
};

// One argument at one size point.
struct ArgumentShape {
  int64_t count = 0;                 // elements; 0 for scalars and sizes
  int64_t value = 0;                 // kSize only
  std::vector<v1::Fill> fills = {};  // the spec's, with their bounds there
};

struct CallShape {
  std::map<std::string, int64_t> size;  // the size variables
  std::vector<ArgumentShape> args;      // as Arguments::specs
  int64_t bytes = 0;                    // of all arrays of one call
};

// All arrays of one call together: a problem may not ask for more.
inline constexpr int64_t kCallBytesMax = int64_t{1} << 30;

class Arguments {
 public:
  // INVALID_ARGUMENT names the argument and what is wrong with it.
  static absl::StatusOr<Arguments> Parse(const v1::Problem& problem);
  // INVALID_ARGUMENT: an expression that fails, a negative extent, more than kCallBytesMax.
  absl::StatusOr<CallShape> At(const v1::SizePoint& point) const;

  const std::vector<ArgumentSpec>& specs() const { return specs_; }
  // It has no fields when the function returns nothing.
  const ElementLayout& returned() const { return returned_; }
  bool has_return() const { return !returned_.fields.empty(); }
  // True when some input has no fill, so the problem's generator must run.
  bool needs_generator() const;

 private:
  std::vector<ArgumentSpec> specs_;
  ElementLayout returned_;
};

// "n=96, m=3".
std::string SizeText(const std::map<std::string, int64_t>& size);

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_PROBLEM_ARGUMENTS_H_
