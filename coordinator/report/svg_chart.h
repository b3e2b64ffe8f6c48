// These functions draw small charts as inline SVG: lines over steps, and shares stacked to one.
#ifndef WHETSTONE_COORDINATOR_REPORT_SVG_CHART_H_
#define WHETSTONE_COORDINATOR_REPORT_SVG_CHART_H_

#include <string>
#include <vector>

namespace whetstone {

struct Series {
  std::string name;
  std::string color;           // "#1f77b4"
  std::vector<double> values;  // one per step, from step 1; NaN: no point
  std::vector<double> spread;  // empty, or half the height of a band around each value
};

// Draws lines with points; the y axis covers all values (and 0 if `from_zero`).
std::string LineChart(const std::string& title, const std::vector<Series>& series, bool from_zero);
// Draws shares of 1 on top of each other: the values of every series.
std::string StackedChart(const std::string& title, const std::vector<Series>& series);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_REPORT_SVG_CHART_H_
