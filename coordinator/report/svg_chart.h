// These functions draw small charts for an HTML page as inline SVG with a legend above: lines over
// steps, and shares stacked to one. They scale with the page and stay readable on a telephone.
//
//   page += "<style>" + ChartStyle() + "</style>" + LineChart("Reward", {reward}, Scale::kData);
//
// A long series is drawn as at most kChartColumnsMax means of equally many neighbours. All
// functions are pure.
#ifndef WHETSTONE_COORDINATOR_REPORT_SVG_CHART_H_
#define WHETSTONE_COORDINATOR_REPORT_SVG_CHART_H_

#include <cstddef>
#include <string>
#include <vector>

namespace whetstone {

struct Series {
  std::string name;
  std::string color;           // "#1f77b4"
  std::vector<double> values;  // one per step, from step 1; NaN: no point
  std::vector<double> spread;  // empty, or half the height of a band around each value
};

// The y axis covers the data, bands included; those and 0; or 0 to 100 %.
enum class Scale { kData, kFromZero, kPercent };

inline constexpr size_t kChartColumnsMax = 160;

// Returns what the charts need of the page's style sheet.
std::string ChartStyle();

// Draws lines with points; each series has a colour and a shape. Series without any point are left
// out; the result is empty if there is no other.
std::string LineChart(const std::string& title, const std::vector<Series>& series, Scale scale);
// Draws shares of 1 on top of each other. Series that are never above 0 are left out.
std::string StackedChart(const std::string& title, const std::vector<Series>& series);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_REPORT_SVG_CHART_H_
