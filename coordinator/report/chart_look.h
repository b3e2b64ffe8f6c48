// How a chart tells its series apart: each has a look, which is a colour and, for grey paper and
// for who does not see colours, a marker and dashes, or hatching.
//
//   page += ChartPatterns();                                     // once, before what is hatched
//   page += absl::StrCat("<li>", ChartSwatch(2), " crash</li>");
//
// Colours are classes k0 … of LookStyle, so that they differ in the dark. All functions are pure.
#ifndef WHETSTONE_COORDINATOR_REPORT_CHART_LOOK_H_
#define WHETSTONE_COORDINATOR_REPORT_CHART_LOOK_H_

#include <cstddef>
#include <string>

namespace whetstone {

// So many looks have a colour, dashes and a hatching of their own; the next ones begin again, with
// other markers.
inline constexpr size_t kChartLooks = 10;

// Returns the looks' part of the style sheet.
std::string LookStyle();
// Returns what hatching is made of; it shows nothing itself.
std::string ChartPatterns();
// Returns a small hatched square, to stand before a name.
std::string ChartSwatch(size_t look);
// Returns a line with a marker, to stand before a name.
std::string ChartKey(size_t look);

// Returns the attributes of a line, of what is filled with the colour, and of what is hatched.
std::string StrokeAttributes(size_t look);
std::string FillAttributes(size_t look);
std::string HatchAttributes(size_t look);
// Returns a marker around a point.
std::string MarkerSvg(size_t look, double x, double y);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_REPORT_CHART_LOOK_H_
