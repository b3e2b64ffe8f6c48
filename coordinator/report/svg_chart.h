// These functions draw small charts for an HTML page as inline SVG: lines over steps, and shares
// stacked to one. Above each is a legend, with every series' look (chart_look.h). The values of a
// step are shown where the pointer is, and all of them in a table to unfold below, for keyboards,
// fingers and ears. They scale with the page, from a telephone on, in the dark and in print.
//
//   std::string page = PageHead(title, ChartStyle()) + ChartPatterns();   // chart_look.h
//   page += LineChart("Reward", {{"mean", 0, rewards}}, Scale::kData);
//
// A long series is drawn as at most kChartColumnsMax means of equally many neighbours, and says so.
// All functions are pure.
#ifndef WHETSTONE_COORDINATOR_REPORT_SVG_CHART_H_
#define WHETSTONE_COORDINATOR_REPORT_SVG_CHART_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace whetstone {

struct Series {
  std::string name;
  size_t look = 0;  // chart_look.h
  // One per step; what is not finite, or too large for a chart, is no point.
  std::vector<double> values;
  std::vector<double> spread = {};  // empty, or half the height of a band around each value
};

inline constexpr size_t kChartColumnsMax = 100;

// What the x axis counts.
struct ChartAxis {
  std::string unit = "step";     // its plural ends in s
  std::vector<int64_t> at = {};  // the number of each value; empty: 1, 2, 3, …
};

// The y axis covers the data, bands included; those and 0; or 0 to 100 %.
enum class Scale { kData, kFromZero, kPercent };

// Returns what the charts need of the page's style sheet, besides that of all pages (html.h).
// `charts` is the class of what holds several.
std::string ChartStyle();

// Draws lines with points. Series without any point are left out; the result is empty if there is
// no other.
std::string LineChart(const std::string& title, const std::vector<Series>& series, Scale scale,
                      const ChartAxis& axis = {});
// Draws shares of 1 on top of each other. Series that are never above 0 are left out.
std::string StackedChart(const std::string& title, const std::vector<Series>& series,
                         const ChartAxis& axis = {});

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_REPORT_SVG_CHART_H_
