#include "coordinator/report/svg_chart.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
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
constexpr double kFont = 12;
// A unit is half a pixel on a narrow screen, so text is larger there. Margins are for this size.
constexpr double kFontNarrow = 21;
constexpr double kGlyph = 0.6;  // width of a character, by its height
constexpr size_t kTicksMax = 8;

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
  size_t steps = 0;
  size_t each = 1;  // steps a column
  size_t count = 0;

  explicit ChartColumns(const std::vector<Series>& series) {
    for (const Series& s : series) steps = std::max(steps, s.values.size());
    each = std::max<size_t>(1, (steps + kChartColumnsMax - 1) / kChartColumnsMax);
    count = (steps + each - 1) / each;
  }
  // Returns the mean of column `i`'s finite values; NaN where there is none.
  double Mean(const std::vector<double>& values, size_t i) const {
    double sum = 0;
    int finite = 0;
    for (size_t v = i * each; v < std::min(values.size(), (i + 1) * each); ++v) {
      if (!std::isfinite(values[v])) continue;
      sum += values[v];
      ++finite;
    }
    return finite > 0 ? sum / finite : std::numeric_limits<double>::quiet_NaN();
  }
  // Returns "step 7" or "steps 11 to 20".
  std::string Name(size_t i) const {
    const size_t last = std::min(steps, (i + 1) * each);
    return each == 1 ? absl::StrCat("step ", last)
                     : absl::StrCat("steps ", i * each + 1, " to ", last);
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
    if (percent) return absl::StrFormat("%.0f%%", 100 * v);
    return absl::StrFormat("%.4g", std::abs(v) < 1e-9 * step ? 0.0 : v);
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
    absl::StrAppend(
        &svg, absl::StrFormat("<line class=\"grid\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" "
                              "y2=\"%.1f\"/><text x=\"%.1f\" y=\"%.1f\" "
                              "text-anchor=\"end\">%s</text>",
                              f->left, f->Y(v), kWidth - kRight, f->Y(v), f->left - 8, f->Y(v) + 5,
                              f->Label(v, step)));
  }
  const size_t steps = f->columns.steps;
  const size_t every = steps <= kTicksMax
                           ? 1
                           : static_cast<size_t>(std::max(
                                 2.0, NiceStep(static_cast<double>(steps) / kTicksMax * 5)));
  for (size_t s = 1; s <= steps; s += every > 2 && s == 1 ? every - 1 : every) {
    const std::string label = absl::StrCat(s == 1 ? "step " : "", s);
    absl::StrAppend(&svg, absl::StrFormat("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s"
                                          "</text>",
                                          f->X((s - 1) / f->columns.each), kHeight - 8, label));
  }
  return svg;
}

// Returns a point of series number `i`: the shape tells lines apart where colours can't.
std::string Marker(size_t i, const std::string& color, double x, double y, double r,
                   const std::string& title) {
  const std::string end =
      absl::StrCat("fill=\"", color, "\">", title.empty() ? "" : "<title>" + title + "</title>");
  switch (i % 4) {
    case 0:
      return absl::StrFormat("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" %s</circle>", x, y, r,
                             end);
    case 1:
      return absl::StrFormat("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" %s</rect>",
                             x - r, y - r, 2 * r, 2 * r, end);
    case 2:
      return absl::StrFormat("<polygon points=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f\" %s</polygon>", x,
                             y - r, x + r, y + r, x - r, y + r, end);
    default:
      return absl::StrFormat(
          "<polygon points=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f %.1f,%.1f\" %s</polygon>", x,
          y - 1.3 * r, x + 1.3 * r, y, x, y + 1.3 * r, x - 1.3 * r, y, end);
  }
}

// Returns each series' name beside what it is drawn with.
std::string Legend(const std::vector<Series>& series, bool bars) {
  std::string html = "<ul class=\"legend\">";
  for (size_t i = 0; i < series.size(); ++i) {
    const std::string& color = series[i].color;
    absl::StrAppend(&html,
                    "<li><svg viewBox=\"0 0 26 14\" width=\"26\" height=\"14\" "
                    "aria-hidden=\"true\">");
    if (bars) {
      absl::StrAppend(&html, "<rect x=\"6\" y=\"1\" width=\"12\" height=\"12\" fill=\"", color,
                      "\"/>");
    } else {
      absl::StrAppend(&html, "<line x1=\"1\" y1=\"7\" x2=\"25\" y2=\"7\" stroke=\"", color,
                      "\" stroke-width=\"2\"/>", Marker(i, color, 13, 7, 4, ""));
    }
    absl::StrAppend(&html, "</svg> ", EscapeHtml(series[i].name), "</li>");
  }
  return html + "</ul>";
}

std::string Figure(const std::string& title, const std::string& legend, const std::string& plot) {
  return absl::StrCat("<figure class=\"chart\"><figcaption>", EscapeHtml(title), "</figcaption>",
                      legend,
                      absl::StrFormat("<svg class=\"plot\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" "
                                      "aria-label=\"%s\">",
                                      kWidth, kHeight, EscapeHtml(title)),
                      plot, "</svg></figure>\n");
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
  if (f->percent) return;  // 0 to 1
  if (scale == Scale::kFromZero) low = std::min(low, 0.0);
  const double margin = std::max(0.05 * (high - low), 1e-3);
  f->high = high + margin;
  f->low = scale == Scale::kFromZero && low == 0 ? 0 : low - margin;
}

std::string Line(const Series& s, size_t index, const Frame& f) {
  std::string points, markers, upper, lower;
  const double r = f.columns.count > 60 ? 2 : 4;
  for (size_t i = 0; i < f.columns.count; ++i) {
    const double value = f.columns.Mean(s.values, i);
    if (!std::isfinite(value)) continue;
    const double x = f.X(i), spread = f.columns.Mean(s.spread, i);
    if (std::isfinite(spread)) {
      // A lone point's band has a width, too.
      for (const double at : f.columns.count == 1 ? std::vector<double>{x - kInset, x + kInset}
                                                  : std::vector<double>{x}) {
        absl::StrAppend(&upper, absl::StrFormat("%.1f,%.1f ", at, f.Y(value + spread)));
        lower = absl::StrFormat("%.1f,%.1f ", at, f.Y(value - spread)) + lower;
      }
    }
    absl::StrAppend(&points, absl::StrFormat("%.1f,%.1f ", x, f.Y(value)));
    absl::StrAppend(&markers, Marker(index, s.color, x, f.Y(value), r,
                                     absl::StrCat(f.columns.Name(i), ", ", EscapeHtml(s.name),
                                                  absl::StrFormat(": %.4g", value))));
  }
  const std::string band = upper.empty() ? ""
                                         : absl::StrCat("<polygon class=\"band\" points=\"", upper,
                                                        lower, "\" fill=\"", s.color, "\"/>");
  return absl::StrCat(band, "<polyline points=\"", points, "\" fill=\"none\" stroke=\"", s.color,
                      "\" stroke-width=\"2\"/>", markers);
}

}  // namespace

std::string ChartStyle() {
  return absl::StrFormat(
      ".chart{margin:1.2em 0}.chart figcaption{font-weight:600}"
      ".legend{list-style:none;display:flex;flex-wrap:wrap;gap:.1em 1.1em;margin:.2em 0;padding:0;"
      "font-size:.87em}.legend svg{vertical-align:-2px}"
      "svg.plot{display:block;width:100%%;height:auto}"
      "svg.plot text{font:%.0fpx system-ui,sans-serif;fill:#555}svg.plot .grid{stroke:#e2e2e2}"
      "svg.plot .band{opacity:.15}"
      "@media(max-width:560px){svg.plot text{font-size:%.0fpx}}"
      "@media(prefers-color-scheme:dark){svg.plot text{fill:#aaa}svg.plot .grid{stroke:#383838}}",
      kFont, kFontNarrow);
}

std::string LineChart(const std::string& title, const std::vector<Series>& series, Scale scale) {
  std::vector<Series> shown;
  for (const Series& s : series) {
    if (std::any_of(s.values.begin(), s.values.end(), [](double v) { return std::isfinite(v); })) {
      shown.push_back(s);
    }
  }
  if (shown.empty()) return "";
  Frame f{.columns = ChartColumns(series)};
  FitToData(shown, scale, &f);
  std::string plot = Axes(&f);
  for (size_t i = 0; i < shown.size(); ++i) plot += Line(shown[i], i, f);
  return Figure(title, series.size() > 1 ? Legend(shown, /*bars=*/false) : "", plot);
}

std::string StackedChart(const std::string& title, const std::vector<Series>& series) {
  std::vector<Series> shown;
  for (const Series& s : series) {
    if (std::any_of(s.values.begin(), s.values.end(), [](double v) { return v > 0; })) {
      shown.push_back(s);
    }
  }
  if (shown.empty()) return "";
  Frame f{.columns = ChartColumns(series), .bars = true, .percent = true};
  std::string plot = Axes(&f);
  const double width = std::max(1.0, 0.8 * f.Band());
  for (size_t i = 0; i < f.columns.count; ++i) {
    double below = 0;
    for (const Series& s : shown) {
      const double share = f.columns.Mean(s.values, i);
      if (!(share > 0)) continue;
      const double top = std::min(1.0, below + share);
      absl::StrAppend(&plot,
                      absl::StrFormat("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                                      "height=\"%.1f\" fill=\"%s\"><title>%s, %s: %.0f%%"
                                      "</title></rect>",
                                      f.X(i) - width / 2, f.Y(top), width, f.Y(below) - f.Y(top),
                                      s.color, f.columns.Name(i), EscapeHtml(s.name), 100 * share));
      below = top;
    }
  }
  return Figure(title, Legend(shown, /*bars=*/true), plot);
}

}  // namespace whetstone
