#include "coordinator/authoring/usual_sizes.h"

#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"

namespace whetstone {
namespace {

// Sizes that fall and rise, at which it shows what makes an array shorter.
constexpr int64_t kFalling[] = {64, 16, 8, 4, 2, 2};

}  // namespace

UsualSizes::UsualSizes(std::vector<std::string> variables, const std::vector<Expression>& extents)
    : variables_(std::move(variables)), extents_(extents) {
  for (const bool rising : {false, true}) {
    std::map<std::string, int64_t> sizes;
    for (size_t i = 0; i < variables_.size(); ++i) {
      const size_t place = rising ? variables_.size() - 1 - i : i;
      sizes[variables_[i]] = place < std::size(kFalling) ? kFalling[place] : 2;
    }
    for (const std::string& variable : variables_) {
      std::map<std::string, int64_t> less = sizes;
      less[variable] /= 2;
      // A product of two that are below 0 says nothing: this one is not.
      std::map<std::string, int64_t> one;
      for (const std::string& name : variables_) one[name] = name == variable ? 1 : 16;
      for (const Expression& extent : extents_) {
        const int64_t before = extent.Evaluate(sizes).value_or(0);
        if (before >= 1 && extent.Evaluate(less).value_or(0) > before &&
            extent.Evaluate(one).value_or(0) >= 1) {
          small_.insert(variable);
        }
      }
    }
  }
  if (small_.size() == variables_.size()) small_.clear();
}

std::map<std::string, int64_t> UsualSizes::Values(int size, bool alike) const {
  std::map<std::string, int64_t> values;
  for (const std::string& variable : variables_) {
    const auto larger = static_cast<int>(values.size());
    values[variable] = small_.count(variable) > 0 ? (size + 7) / 8
                       : alike || size == 1       ? size
                                                  : size + larger;
  }
  return values;
}

std::string UsualSizes::At(int size, bool alike) const {
  const std::map<std::string, int64_t> values = Values(size, alike);
  if (variables_.size() == 1) return absl::StrCat(values.begin()->second);
  std::string text;
  for (const std::string& variable : variables_) {
    absl::StrAppend(&text, text.empty() ? "" : " ", variable, "=", values.at(variable));
  }
  return text;
}

bool UsualSizes::HaveElements(int size) const {
  const std::map<std::string, int64_t> values = Values(size, /*alike=*/false);
  // What has no value is told elsewhere.
  return absl::c_all_of(
      extents_, [&](const Expression& extent) { return extent.Evaluate(values).value_or(1) >= 1; });
}

}  // namespace whetstone
