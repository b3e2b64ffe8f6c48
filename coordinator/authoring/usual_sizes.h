// Sizes at which an imported problem is checked and timed where nobody says other ones.
#ifndef WHETSTONE_COORDINATOR_AUTHORING_USUAL_SIZES_H_
#define WHETSTONE_COORDINATOR_AUTHORING_USUAL_SIZES_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/problem/expression.h"

namespace whetstone {

// A usual size for each variable: all about `size`, each a little larger than the one before, but
// an eighth of that for those that make an array shorter the larger they are, such as the k of
// n-k+1 (a window) and the s of (n-1)/s+1 (a step).
class UsualSizes {
 public:
  UsualSizes(std::vector<std::string> variables, const std::vector<Expression>& extents);

  // "n=17 k=3"; alike: they are not a little larger. Of one variable "17".
  std::string At(int size, bool alike = false) const;
  // Says whether every array has an element there.
  bool HaveElements(int size) const;

 private:
  std::map<std::string, int64_t> Values(int size, bool alike) const;

  const std::vector<std::string> variables_;
  const std::vector<Expression> extents_;
  std::set<std::string> small_;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_AUTHORING_USUAL_SIZES_H_
