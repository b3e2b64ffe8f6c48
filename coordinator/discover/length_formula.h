// A formula for an array's length, from lengths that were seen at a few sizes.
//
//   LengthFormula({{{{"w", 29}, {"h", 17}}, 68}, {{{"w", 16}, {"h", 64}}, 128}, …});
//   // "h*((w+7)/8)"
#ifndef WHETSTONE_COORDINATOR_DISCOVER_LENGTH_FORMULA_H_
#define WHETSTONE_COORDINATOR_DISCOVER_LENGTH_FORMULA_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace whetstone {

using Sizes = std::map<std::string, int64_t>;  // by name

// Sizes at which formulas differ: with multiples of powers of two and without, of two parameters
// now this one the larger and now that one.
struct SizesToSee {
  std::vector<Sizes> all;
  // Numbers of those that go together: all; with the first parameter the largest; the smallest.
  std::vector<std::vector<size_t>> together;
};
// For one to six names; for more there are none.
SizesToSee SizesOf(const std::vector<std::string>& names);

struct SeenLength {
  Sizes sizes;  // the same names in all
  int64_t length = 0;
};

// Returns the shortest of the usual formulas (common/problem/expression.h) that gives every length
// seen: a number; one or two factors such as n, n+2, n-k+1, (n+7)/8, (n-k)/s+1 or n*(n+1)/2, three
// of the simpler ones, or four names, a constant one among them, and what is added to their
// product. Empty: none does, or lengths were seen at fewer than three sizes. (At three there is no
// product.)
std::string LengthFormula(const std::vector<SeenLength>& seen);

// The same where at some sizes an array may be longer than was seen by little, as the last elements
// made no difference or data decide. It gives most lengths.
std::string LengthFormulaOfRead(const std::vector<SeenLength>& seen);

// Returns the least name, product of names, one of them or a small constant, or rows of
// whole blocks, that is nowhere less than what was seen; empty where it is more than half as much
// again in all, or lengths were seen at fewer than three sizes. Where an array may be longer.
std::string LengthBound(const std::vector<SeenLength>& seen);

// Says whether a formula gives at least what was seen; any does where nothing was.
bool IsEnough(const std::string& formula, const std::vector<SeenLength>& seen);

// Returns the largest size and a constant of at least `factor` times what was seen, for where data
// alone tell how far an array is read. Empty at fewer than three sizes.
std::string LengthRoom(const std::vector<SeenLength>& seen, int64_t factor);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_DISCOVER_LENGTH_FORMULA_H_
