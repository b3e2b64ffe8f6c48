// "Did you mean" needs the known word closest to a misspelt one.
#ifndef WHETSTONE_COMMON_NEAREST_H_
#define WHETSTONE_COMMON_NEAREST_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace whetstone {

// Returns how many insertions, deletions, replacements and swaps of neighbours turn `a` into `b`
// (optimal string alignment). Only the first 64 characters count.
size_t EditDistance(absl::string_view a, absl::string_view b);

// Returns the closest of `words`, the first of equals; empty only if `words` is empty.
std::string Nearest(absl::string_view word, const std::vector<std::string>& words);

// Returns "; did you mean 'A'? There are: A, B", which goes behind "there is no X"; "; there are
// none" if `words` is empty.
std::string DidYouMean(absl::string_view word, const std::vector<std::string>& words);

}  // namespace whetstone

#endif  // WHETSTONE_COMMON_NEAREST_H_
