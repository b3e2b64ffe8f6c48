#include "coordinator/report/chart_look.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace whetstone {
namespace {

struct ChartLook {
  const char* color;  // on white
  const char* dark;   // on black
  const char* dashes;
  const char* hatch;  // a path over a tile of 8 by 8, in the page's colour
};

// The first colours are Okabe and Ito's, which the colour-blind tell apart.
constexpr ChartLook kLooks[kChartLooks] = {
    {"#0072b2", "#4aa8de", "none", ""},
    {"#d55e00", "#f0803c", "9 4", "M-2 2l4-4M0 8l8-8M6 10l4-4"},
    {"#009e73", "#2bbf95", "2 3", "M0 4h8"},
    {"#cc79a7", "#d990b8", "12 4 2 4", "M3 4h2"},
    {"#e69f00", "#e69f00", "5 5", "M-2 6l4 4M0 0l8 8M6-2l4 4"},
    {"#56b4e9", "#8accf2", "14 3", "M4 0v8"},
    {"#222222", "#eeeeee", "1 4", "M0 4h8M4 0v8"},
    {"#8a8a8a", "#9a9a9a", "8 3 2 3 2 3", "M0 0l8 8M8 0l-8 8"},
    {"#7f4f24", "#c08a55", "4 2", "M0 6l4-4 4 4"},
    {"#1f3a5f", "#9db4d6", "16 6", "M0 2h8M0 6h8"},
};

std::string ClassOf(size_t look) { return absl::StrCat("k", look % kChartLooks); }

}  // namespace

std::string LookStyle() {
  std::string light, dark;
  for (size_t k = 0; k < kChartLooks; ++k) {
    absl::StrAppend(&light, ".", ClassOf(k), "{color:", kLooks[k].color, "}");
    absl::StrAppend(&dark, ".", ClassOf(k), "{color:", kLooks[k].dark, "}");
  }
  return absl::StrCat(
      "svg.patterns{position:absolute}.hatch{fill:none;stroke:var(--paper);stroke-width:1.5}"
      ".swatch{vertical-align:-2px}",
      light, "@media screen and (prefers-color-scheme:dark){", dark, "}");
}

std::string ChartPatterns() {
  std::string svg =
      "<svg class=\"patterns\" viewBox=\"0 0 8 8\" width=\"0\" height=\"0\" aria-hidden=\"true\">"
      "<defs>";
  for (size_t k = 0; k < kChartLooks; ++k) {
    absl::StrAppend(&svg, "<pattern id=\"hatch", k, "\" class=\"", ClassOf(k),
                    "\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\"><rect "
                    "width=\"8\" height=\"8\" fill=\"currentColor\"/><path class=\"hatch\" d=\"",
                    kLooks[k].hatch, "\"/></pattern>");
  }
  return svg + "</defs></svg>\n";
}

std::string ChartSwatch(size_t look) {
  return absl::StrCat(
      "<svg class=\"swatch\" viewBox=\"0 0 14 14\" width=\"14\" height=\"14\" aria-hidden=\"true\">"
      "<rect x=\"1\" y=\"1\" width=\"12\" height=\"12\" ",
      HatchAttributes(look), "/></svg>");
}

std::string ChartKey(size_t look) {
  return absl::StrCat(
      "<svg class=\"swatch\" viewBox=\"0 0 44 14\" width=\"44\" height=\"14\" aria-hidden=\"true\">"
      "<line x1=\"1\" y1=\"7\" x2=\"43\" y2=\"7\" ",
      StrokeAttributes(look), "/>", MarkerSvg(look, 22, 7), "</svg>");
}

std::string StrokeAttributes(size_t look) {
  return absl::StrCat("class=\"", ClassOf(look),
                      "\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"2\" "
                      "stroke-dasharray=\"",
                      kLooks[look % kChartLooks].dashes, "\"");
}

std::string FillAttributes(size_t look) {
  return absl::StrCat("class=\"", ClassOf(look), "\" fill=\"currentColor\"");
}

std::string HatchAttributes(size_t look) {
  return absl::StrCat("fill=\"url(#hatch", look % kChartLooks, ")\"");
}

std::string MarkerSvg(size_t look, double x, double y) {
  constexpr double r = 4;
  const std::string fill = FillAttributes(look);
  switch (look % 4) {
    case 0:
      return absl::StrFormat("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" %s/>", x, y, r, fill);
    case 1:
      return absl::StrFormat("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" %s/>",
                             x - r, y - r, 2 * r, 2 * r, fill);
    case 2:
      return absl::StrFormat("<polygon points=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f\" %s/>", x, y - r,
                             x + r, y + r, x - r, y + r, fill);
    default:
      return absl::StrFormat("<polygon points=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f %.1f,%.1f\" %s/>", x,
                             y - 1.3 * r, x + 1.3 * r, y, x, y + 1.3 * r, x - 1.3 * r, y, fill);
  }
}

}  // namespace whetstone
