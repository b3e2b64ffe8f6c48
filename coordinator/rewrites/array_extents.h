// How long a function's arrays are, as far as its loops say it: what an import suggests.
#ifndef WHETSTONE_COORDINATOR_REWRITES_ARRAY_EXTENTS_H_
#define WHETSTONE_COORDINATOR_REWRITES_ARRAY_EXTENTS_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace whetstone {

struct ArrayExtents {
  std::map<std::string, std::string> arrays;  // parameters: "n*m", "n+63"; those that are not known
                                              // are left out
  std::set<std::string> sizes;  // parameters that lengths or loops' bounds are made of
};

// Looks at `function` of a C++ source, whose headers a candidate may include. FAILED_PRECONDITION:
// it cannot be looked at; the rest as CallRewriter.
absl::StatusOr<ArrayExtents> ArrayExtentsOf(const std::string& code,
                                            const std::vector<std::string>& headers,
                                            const std::string& function);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_REWRITES_ARRAY_EXTENTS_H_
