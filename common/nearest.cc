#include "common/nearest.h"

#include <algorithm>
#include <array>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace whetstone {
namespace {
constexpr size_t kLengthMax = 64;
}

size_t EditDistance(absl::string_view a, absl::string_view b) {
  a = a.substr(0, kLengthMax);
  b = b.substr(0, kLengthMax);
  std::array<std::array<size_t, kLengthMax + 1>, kLengthMax + 1> d;
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      d[i][j] =
          std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

std::string Nearest(absl::string_view word, const std::vector<std::string>& words) {
  std::string best;
  size_t best_distance = std::numeric_limits<size_t>::max();
  for (const std::string& candidate : words) {
    const size_t distance = EditDistance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string DidYouMean(absl::string_view word, const std::vector<std::string>& words) {
  if (words.empty()) return "; there are none";
  return absl::StrCat("; did you mean '", Nearest(word, words),
                      "'? There are: ", absl::StrJoin(words, ", "));
}

}  // namespace whetstone
