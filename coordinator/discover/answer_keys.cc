#include "coordinator/discover/answer_keys.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace whetstone {

std::string ParameterOf(const std::string& key) { return key.substr(0, key.find('.')); }

bool FillsAnArray(const Answers& answers, const std::string& key) {
  return absl::EndsWith(key, ".fill") &&
         answers.count(absl::StrCat(ParameterOf(key), ".shape")) > 0;
}

uint64_t HighestOf(const std::string& fill) {
  uint64_t highest = 0;
  const size_t comma = fill.find(", ");
  const bool whole = comma != std::string::npos &&
                     absl::SimpleAtoi(fill.substr(comma + 2, fill.size() - comma - 3), &highest);
  return whole ? highest : 0;
}

uint64_t HighestOfType(const std::string& fill) {
  const uint64_t highest = HighestOf(fill);
  const bool all_ones = highest >= 127 && (highest & (highest + 1)) == 0;
  const bool from_lowest = absl::StartsWith(fill, "uniform(0, ") ||
                           absl::StartsWith(fill, absl::StrCat("uniform(-", highest + 1, ", "));
  return all_ones && from_lowest ? highest : 0;
}

std::vector<std::string> SizesIn(const Answers& answers) {
  std::vector<std::string> sizes;
  for (const auto& [key, answer] : answers) {
    if (absl::EndsWith(key, ".kind") && answer == "size") sizes.push_back(ParameterOf(key));
  }
  const std::vector<std::string> points = absl::StrSplit(answers.at(kChecksKey), ',');
  std::map<std::string, int64_t> last;
  for (const auto& [name, size] : SizesOfPoint(points.back())) last[name] = size;
  absl::c_sort(sizes,
               [&](const std::string& a, const std::string& b) { return last[a] < last[b]; });
  return sizes;
}

std::string LeastSize(const Answers& answers) {
  std::string least;
  for (const std::string& size : SizesIn(answers)) {
    least = least.empty() ? size : absl::StrCat("min(", least, ", ", size, ")");
  }
  return least;
}

PointSizes SizesOfPoint(absl::string_view point) {
  PointSizes sizes;
  for (const absl::string_view word : absl::StrSplit(point, ' ', absl::SkipWhitespace())) {
    const size_t equals = word.find('=');
    const bool named = equals != absl::string_view::npos;
    auto& [name, size] = sizes.emplace_back(named ? word.substr(0, equals) : "", 0);
    if (!absl::SimpleAtoi(named ? word.substr(equals + 1) : word, &size)) size = 0;
  }
  return sizes;
}

std::string PointOf(const PointSizes& sizes) {
  return absl::StrJoin(sizes, " ", [](std::string* text, const auto& each) {
    absl::StrAppend(text, each.first, each.first.empty() ? "" : "=", each.second);
  });
}

}  // namespace whetstone
