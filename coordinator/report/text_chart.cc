#include "coordinator/report/text_chart.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace whetstone {
namespace {

// A character has this many heights.
constexpr int kEighths = 8;
constexpr const char* kBars[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

// Returns the means of equally many neighbours, at most `columns` of them; NaN where none is
// finite.
std::vector<double> Columns(const std::vector<double>& values, size_t columns) {
  const size_t each = (values.size() + columns - 1) / columns;
  std::vector<double> means;
  for (size_t begin = 0; begin < values.size(); begin += each) {
    double sum = 0;
    int count = 0;
    for (size_t i = begin; i < std::min(values.size(), begin + each); ++i) {
      if (!std::isfinite(values[i])) continue;
      sum += values[i];
      ++count;
    }
    means.push_back(count > 0 ? sum / count : std::numeric_limits<double>::quiet_NaN());
  }
  return means;
}

}  // namespace

std::string TextChart(const std::string& title, const std::vector<double>& values, int columns,
                      int rows) {
  const auto last = std::find_if(values.rbegin(), values.rend(),
                                 [](double value) { return std::isfinite(value); });
  if (last == values.rend()) return "";
  const std::vector<double> means = Columns(values, static_cast<size_t>(std::max(columns, 1)));
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const double mean : means) {
    if (!std::isfinite(mean)) continue;
    low = std::min(low, mean);
    high = std::max(high, mean);
  }
  // Heights begin at one eighth, so that the lowest value shows.
  std::vector<int> heights;
  for (const double mean : means) {
    const double share = high > low ? (mean - low) / (high - low) : 0.5;
    heights.push_back(
        std::isfinite(mean) ? 1 + static_cast<int>(std::lround(share * (rows * kEighths - 1))) : 0);
  }
  std::string text = absl::StrFormat("%s  %.4g\n", title, *last);
  for (int row = rows - 1; row >= 0; --row) {
    const std::string label = row == rows - 1 ? absl::StrFormat("%.3g", high)
                              : row == 0      ? absl::StrFormat("%.3g", low)
                                              : "";
    absl::StrAppend(&text, absl::StrFormat("%10s ┤", label));
    for (const int height : heights) {
      absl::StrAppend(&text, kBars[std::clamp(height - row * kEighths, 0, kEighths)]);
    }
    text += "\n";
  }
  return text;
}

}  // namespace whetstone
