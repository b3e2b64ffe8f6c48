// What the answers to an import's questions say: of parameter "a" "a.kind", "a.shape", "a.fill",
// and the sizes at which it is checked and timed.
#ifndef WHETSTONE_COORDINATOR_DISCOVER_ANSWER_KEYS_H_
#define WHETSTONE_COORDINATOR_DISCOVER_ANSWER_KEYS_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace whetstone {

using Answers = std::map<std::string, std::string>;  // by key

inline constexpr char kChecksKey[] = "check";
inline constexpr char kTimedKey[] = "timed";
// How a whole number is filled that says how often, or how many.
inline constexpr char kFewTimes[] = "uniform(1, 8)";

// How a floating-point number is filled that is to be positive.
inline constexpr char kPositiveFloat[] = "uniform(0.5, 1.5)";

// How one is filled of which a whole number is made.
inline constexpr char kManyTimes[] = "uniform(10, 100)";

// Returns the parameter that a key is about: "a" of "a.shape".
std::string ParameterOf(const std::string& key);

// Says whether this answer tells how an array is filled.
bool FillsAnArray(const Answers& answers, const std::string& key);

// Returns b of "uniform(a, b)", of whole numbers; 0 of anything else.
uint64_t HighestOf(const std::string& fill);

// Returns b of "uniform(a, b)" where these are all whole numbers of a type, the usual fill; 0 of
// anything else.
uint64_t HighestOfType(const std::string& fill);

// Returns the parameters that are sizes, the largest of the last check the last.
std::vector<std::string> SizesIn(const Answers& answers);

// Returns the least of them: "min(n, m)".
std::string LeastSize(const Answers& answers);

// Sizes by name, in their order; the only one may have no name.
using PointSizes = std::vector<std::pair<std::string, int64_t>>;

// Returns the sizes of a point: of "n=96 k=12", or of "96".
PointSizes SizesOfPoint(absl::string_view point);
// Returns the point of sizes: "n=96 k=12".
std::string PointOf(const PointSizes& sizes);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_DISCOVER_ANSWER_KEYS_H_
