#include "coordinator/report/svg_chart.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coordinator/report/chart_look.h"
#include "coordinator/report/html.h"

namespace whetstone {
namespace {

// All lengths are in the chart's own units, which the page scales: a chart is 720 of them wide.
constexpr double kWidth = 720;
constexpr double kHeight = 270;
constexpr double kTop = 14;
constexpr double kBottom = 34;
constexpr double kRight = 30;
constexpr double kInset = 12;  // from the plot's edge to the first and last point of a line
constexpr double kFont = 13;
// A unit is half a pixel on a narrow screen, so text is larger there. Margins are for this size.
constexpr double kFontNarrow = 21;
constexpr double kGlyph = 0.6;  // width of a character, by its height
constexpr size_t kTicksMax = 8;
constexpr size_t kMarkersMax = 40;  // of a line: its dashes show between them
constexpr size_t kBarsApartMax = 30;
constexpr double kDrawnMax = 1e100;  // beyond it, differences would no longer be finite

bool IsDrawn(double value) { return std::isfinite(value) && std::abs(value) <= kDrawnMax; }

double TextWidth(const std::string& text) {
  return kGlyph * kFontNarrow * static_cast<double>(text.size());
}

// Returns a step of 1, 2 or 5 times a power of ten that cuts `range` into about five.
double NiceStep(double range) {
  const double raw = range / 5;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw) return factor * power;
  }
  return 10 * power;
}

// A column stands for one step, or for several neighbours.
struct ChartColumns {
  const ChartAxis* axis;
  size_t steps = 0;
  size_t each = 1;  // steps a column
  size_t count = 0;

  ChartColumns(const std::vector<Series>& series, const ChartAxis* of) : axis(of) {
    for (const Series& s : series) steps = std::max(steps, s.values.size());
    each = std::max<size_t>(1, (steps + kChartColumnsMax - 1) / kChartColumnsMax);
    count = (steps + each - 1) / each;
  }
  // Returns the mean of column `i`'s values that can be drawn; NaN where there is none.
  double Mean(const std::vector<double>& values, size_t i) const {
    double sum = 0;
    int drawn = 0;
    for (size_t v = i * each; v < std::min(values.size(), (i + 1) * each); ++v) {
      if (!IsDrawn(values[v])) continue;
      sum += values[v];
      ++drawn;
    }
    return drawn > 0 ? sum / drawn : std::numeric_limits<double>::quiet_NaN();
  }
  // Returns the number of value `v`, both counted from 0.
  int64_t Number(size_t v) const {
    return v < axis->at.size() ? axis->at[v] : static_cast<int64_t>(v) + 1;
  }
  // Returns "step 7" or "steps 11 to 20".
  std::string Name(size_t i) const {
    const int64_t first = Number(i * each), last = Number(std::min(steps, (i + 1) * each) - 1);
    return first == last ? absl::StrCat(axis->unit, " ", last)
                         : absl::StrCat(axis->unit, "s ", first, " to ", last);
  }
};

struct Frame {
  ChartColumns columns;
  bool bars = false;
  bool percent = false;
  double low = 0;
  double high = 1;
  double left = 0;

  double Span() const { return kWidth - kRight - left; }
  double Band() const { return Span() / static_cast<double>(columns.count); }
  double X(size_t i) const {
    if (bars || columns.count < 2) return left + (static_cast<double>(i) + 0.5) * Band();
    return left + kInset +
           (Span() - 2 * kInset) * static_cast<double>(i) / static_cast<double>(columns.count - 1);
  }
  double Y(double v) const { return kTop + (kHeight - kTop - kBottom) * (high - v) / (high - low); }
  std::string Label(double v, double step) const {
    if (std::abs(v) < 1e-9 * step) v = 0;  // nor "-0"
    return percent ? absl::StrFormat("%.0f%%", 100 * v) : absl::StrFormat("%.4g", v);
  }
  std::string ValueText(double v) const {
    return percent ? absl::StrFormat("%.1f%%", 100 * v) : absl::StrFormat("%.4g", v);
  }
  // Returns "0.412 ± 0.07", or "–" where there is no point.
  std::string PointText(const Series& s, size_t i) const {
    const double value = columns.Mean(s.values, i), spread = columns.Mean(s.spread, i);
    if (!std::isfinite(value)) return "–";
    return absl::StrCat(ValueText(value),
                        std::isfinite(spread) ? absl::StrCat(" ± ", ValueText(spread)) : "");
  }
};

// Returns the grid with its labels, which lie beside and below the plot.
std::string Axes(Frame* f) {
  const double step = NiceStep(f->high - f->low);
  std::vector<double> ticks;
  for (double v = std::ceil(f->low / step) * step; v <= f->high + 1e-9 * step; v += step) {
    ticks.push_back(v);
    f->left = std::max(f->left, 14 + TextWidth(f->Label(v, step)));
  }
  std::string svg;
  for (const double v : ticks) {
    absl::StrAppendFormat(&svg,
                          "<line class=\"grid\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>"
                          "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text>",
                          f->left, f->Y(v), kWidth - kRight, f->Y(v), f->left - 8, f->Y(v) + 5,
                          f->Label(v, step));
  }
  const size_t steps = f->columns.steps;
  const size_t every = steps <= kTicksMax
                           ? 1
                           : static_cast<size_t>(std::max(
                                 2.0, NiceStep(static_cast<double>(steps) / kTicksMax * 5)));
  for (size_t s = 1; s <= steps; s += every > 2 && s == 1 ? every - 1 : every) {
    absl::StrAppendFormat(&svg, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%d</text>",
                          f->X((s - 1) / f->columns.each), kHeight - 8, f->columns.Number(s - 1));
  }
  return svg;
}

// Returns each series' name beside what it is drawn with.
std::string Legend(const std::vector<Series>& series, bool bars) {
  std::string html = "<ul class=\"legend\">";
  for (const Series& s : series) {
    absl::StrAppend(&html, "<li>", bars ? ChartSwatch(s.look) : ChartKey(s.look), " ",
                    EscapeHtml(s.name), "</li>");
  }
  return html + "</ul>";
}

// Returns the plot's columns for the pointer, each with the values that are there.
std::string Hover(const Frame& f, const std::vector<Series>& shown) {
  std::string svg = "<g class=\"hover\" fill=\"none\" pointer-events=\"all\">";
  for (size_t i = 0; i < f.columns.count; ++i) {
    const double from = i == 0 ? f.left : (f.X(i - 1) + f.X(i)) / 2;
    const double to = i + 1 == f.columns.count ? kWidth - kRight : (f.X(i) + f.X(i + 1)) / 2;
    std::string values = f.columns.Name(i);
    for (const Series& s : shown) absl::StrAppend(&values, "\n", s.name, ": ", f.PointText(s, i));
    absl::StrAppendFormat(&svg,
                          "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"><title>%s"
                          "</title></rect>",
                          from, kTop, to - from, kHeight - kTop - kBottom, EscapeHtml(values));
  }
  return svg + "</g>";
}

// Returns the values as a table, folded.
std::string Values(const std::string& title, const Frame& f, const std::vector<Series>& shown) {
  std::vector<std::string> header = {f.columns.axis->unit};
  for (const Series& s : shown) header.push_back(s.name);
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < f.columns.count; ++i) {
    std::vector<std::string>& row = rows.emplace_back();
    row.push_back(f.columns.Name(i));
    for (const Series& s : shown) row.push_back(f.PointText(s, i));
  }
  return HtmlFolded("Values", HtmlTable(absl::StrCat("Values: ", title), header, rows));
}

// Returns what a chart shows, in words: "reward: first 0.1, last 0.9, lowest 0.1, highest 0.9."
std::string InWords(const Frame& f, const std::vector<Series>& shown) {
  std::string text;
  for (const Series& s : shown) {
    std::vector<double> points;
    for (size_t i = 0; i < f.columns.count; ++i) {
      const double value = f.columns.Mean(s.values, i);
      if (std::isfinite(value)) points.push_back(value);
    }
    const auto [low, high] = std::minmax_element(points.begin(), points.end());
    absl::StrAppend(&text, " ", s.name, ": first ", f.ValueText(points.front()), ", last ",
                    f.ValueText(points.back()), ", lowest ", f.ValueText(*low), ", highest ",
                    f.ValueText(*high), ".");
  }
  return text;
}

std::string Figure(const std::string& title, const Frame& f, const std::string& legend,
                   const std::string& plot, const std::vector<Series>& shown) {
  const std::string& unit = f.columns.axis->unit;
  std::string caption = absl::StrCat(title, ", by ", unit);
  if (f.columns.each > 1) {
    absl::StrAppend(&caption, " (drawn as means of ", f.columns.each, " ", unit, "s)");
  }
  return absl::StrCat(
      "<figure class=\"chart\"><figcaption>", EscapeHtml(caption), "</figcaption>", legend,
      absl::StrFormat("<svg class=\"plot\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" "
                      "aria-label=\"%s\">",
                      kWidth, kHeight, EscapeHtml(absl::StrCat(caption, ".", InWords(f, shown)))),
      plot, Hover(f, shown), "</svg>", Values(title, f, shown), "</figure>\n");
}

// Fits the y axis to the data, of which there is some.
void FitToData(const std::vector<Series>& series, Scale scale, Frame* f) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const Series& s : series) {
    for (size_t i = 0; i < f->columns.count; ++i) {
      const double value = f->columns.Mean(s.values, i);
      if (!std::isfinite(value)) continue;
      const double spread = f->columns.Mean(s.spread, i);
      const double around = std::isfinite(spread) ? spread : 0;
      low = std::min(low, value - around);
      high = std::max(high, value + around);
    }
  }
  f->percent = scale == Scale::kPercent;
  if (f->percent) {  // 0 to 1, and a band may reach further
    f->low = std::min(0.0, low);
    f->high = std::max(1.0, high);
    return;
  }
  if (scale == Scale::kFromZero) low = std::min(low, 0.0);
  // A flat line has a scale, too, however far from 0 it lies.
  const double margin =
      std::max({0.05 * (high - low), 1e-3, 1e-9 * std::max(std::abs(low), std::abs(high))});
  f->high = high + margin;
  f->low = scale == Scale::kFromZero && low == 0 ? 0 : low - margin;
}

std::string Line(const Series& s, const Frame& f) {
  std::string points, markers, upper, lower;
  const size_t marked = (f.columns.count + kMarkersMax - 1) / kMarkersMax;
  size_t drawn = 0;
  for (size_t i = 0; i < f.columns.count; ++i) {
    const double value = f.columns.Mean(s.values, i);
    if (!std::isfinite(value)) continue;
    const double x = f.X(i), spread = f.columns.Mean(s.spread, i);
    if (std::isfinite(spread)) {
      // A lone point's band has a width, too.
      for (const double at : f.columns.count == 1 ? std::vector<double>{x - kInset, x + kInset}
                                                  : std::vector<double>{x}) {
        absl::StrAppendFormat(&upper, "%.1f,%.1f ", at, f.Y(value + spread));
        lower = absl::StrFormat("%.1f,%.1f ", at, f.Y(value - spread)) + lower;
      }
    }
    absl::StrAppendFormat(&points, "%.1f,%.1f ", x, f.Y(value));
    if (drawn++ % marked == 0) markers += MarkerSvg(s.look, x, f.Y(value));
  }
  const std::string band = upper.empty()
                               ? ""
                               : absl::StrCat("<g class=\"band\"><polygon points=\"", upper, lower,
                                              "\" ", FillAttributes(s.look), "/></g>");
  return absl::StrCat(band, "<polyline points=\"", points, "\" ", StrokeAttributes(s.look), "/>",
                      markers);
}

// Returns the series that have a value of which `counts` is true.
template <typename Counts>
std::vector<Series> Shown(const std::vector<Series>& series, const Counts& counts) {
  std::vector<Series> shown;
  for (const Series& s : series) {
    if (std::any_of(s.values.begin(), s.values.end(), counts)) shown.push_back(s);
  }
  return shown;
}

}  // namespace

std::string ChartStyle() {
  return absl::StrCat(
      absl::StrFormat(
          ".charts{display:grid;column-gap:2em;"
          "grid-template-columns:repeat(auto-fit,minmax(min(100%%,600px),1fr))}"
          ".chart{margin:1.2em 0;min-width:0;max-width:860px;break-inside:avoid}"
          ".chart figcaption{font-weight:600}.chart summary{color:var(--faint);font-size:.87em}"
          ".legend{list-style:none;display:flex;flex-wrap:wrap;gap:.1em 1.1em;margin:.2em 0;"
          "padding:0;font-size:.87em}svg.plot{display:block;width:100%%;height:auto}"
          "svg.plot text{font:%.0fpx system-ui,sans-serif;fill:var(--faint)}"
          "svg.plot .grid{stroke:var(--rule)}svg.plot .band{opacity:.16}"
          "svg.plot .hover rect:hover{fill:var(--ink);fill-opacity:.12}"
          "@media(max-width:560px){svg.plot text{font-size:%.0fpx}}"
          "@media print{.chart details:not([open]){display:none}}",
          kFont, kFontNarrow),
      LookStyle());
}

std::string LineChart(const std::string& title, const std::vector<Series>& series, Scale scale,
                      const ChartAxis& axis) {
  const std::vector<Series> shown = Shown(series, IsDrawn);
  if (shown.empty()) return "";
  Frame f{.columns = ChartColumns(series, &axis)};
  FitToData(shown, scale, &f);
  std::string plot = Axes(&f);
  for (const Series& s : shown) plot += Line(s, f);
  return Figure(title, f, series.size() > 1 ? Legend(shown, /*bars=*/false) : "", plot, shown);
}

std::string StackedChart(const std::string& title, const std::vector<Series>& series,
                         const ChartAxis& axis) {
  const std::vector<Series> shown = Shown(series, [](double v) { return IsDrawn(v) && v > 0; });
  if (shown.empty()) return "";
  Frame f{.columns = ChartColumns(series, &axis), .bars = true, .percent = true};
  std::string plot = Axes(&f);
  const double width = (f.columns.count > kBarsApartMax ? 1 : 0.8) * f.Band();
  for (size_t i = 0; i < f.columns.count; ++i) {
    double below = 0;
    for (const Series& s : shown) {
      const double share = f.columns.Mean(s.values, i);
      if (!(share > 0)) continue;
      const double top = std::min(1.0, below + share);
      absl::StrAppendFormat(
          &plot, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" %s/>",
          f.X(i) - width / 2, f.Y(top), width, f.Y(below) - f.Y(top), HatchAttributes(s.look));
      below = top;
    }
  }
  return Figure(title, f, Legend(shown, /*bars=*/true), plot, shown);
}

}  // namespace whetstone
