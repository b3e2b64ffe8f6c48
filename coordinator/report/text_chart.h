// TextChart draws a curve as lines of text, for terminals:
//
//   reward  0.412
//        0.5 ┤      ▃▆
//            ┤  ▁▅▇███
//       -0.6 ┤▂▇██████
#ifndef WHETSTONE_COORDINATOR_REPORT_TEXT_CHART_H_
#define WHETSTONE_COORDINATOR_REPORT_TEXT_CHART_H_

#include <string>
#include <vector>

namespace whetstone {

// `values` has one value per step, NaN where there is none. Each gets a column; where there are
// more than `columns`, each column is the mean of as many neighbours as needed. The title is
// followed by the last value; the scale covers all columns (its lower end is not shown in one row).
// `rows` >= 1. The chart is empty if no value is finite.
std::string TextChart(const std::string& title, const std::vector<double>& values, int columns,
                      int rows);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_REPORT_TEXT_CHART_H_
