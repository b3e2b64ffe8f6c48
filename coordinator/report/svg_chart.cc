#include "coordinator/report/svg_chart.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coordinator/report/html.h"

namespace whetstone {
namespace {

constexpr double kWidth = 720;
constexpr double kHeight = 260;
constexpr double kLeft = 56;
constexpr double kRight = 16;
constexpr double kTop = 34;
constexpr double kBottom = 30;

// Returns a step of 1, 2 or 5 times a power of ten that cuts `range` into about five.
double NiceStep(double range) {
  const double raw = range / 5;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw) return factor * power;
  }
  return 10 * power;
}

struct Frame {
  size_t steps = 0;
  double low = 0;
  double high = 1;
  double X(size_t i) const {
    const double span = kWidth - kLeft - kRight;
    if (steps < 2) return kLeft + span / 2;
    return kLeft + span * static_cast<double>(i) / static_cast<double>(steps - 1);
  }
  double Y(double v) const { return kTop + (kHeight - kTop - kBottom) * (high - v) / (high - low); }
};

std::string Axes(const std::string& title, const Frame& f, const std::vector<Series>& series) {
  std::string svg = absl::StrFormat(
      "<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"%s\">"
      "<text x=\"%.0f\" y=\"16\" class=\"title\">%s</text>",
      kWidth, kHeight, EscapeHtml(title), kLeft, EscapeHtml(title));
  const double step = NiceStep(f.high - f.low);
  for (double v = std::ceil(f.low / step) * step; v <= f.high + 1e-9 * step; v += step) {
    absl::StrAppend(&svg, absl::StrFormat("<line x1=\"%.0f\" y1=\"%.1f\" x2=\"%.0f\" y2=\"%.1f\" "
                                          "class=\"grid\"/><text x=\"%.0f\" y=\"%.1f\" "
                                          "text-anchor=\"end\">%.4g</text>",
                                          kLeft, f.Y(v), kWidth - kRight, f.Y(v), kLeft - 6,
                                          f.Y(v) + 4, std::abs(v) < 1e-12 ? 0.0 : v));
  }
  const size_t every = std::max<size_t>(1, (f.steps + 9) / 10);
  for (size_t i = 0; i < f.steps; i += every) {
    absl::StrAppend(&svg, absl::StrFormat("<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">%d"
                                          "</text>",
                                          f.X(i), kHeight - 10, i + 1));
  }
  double x = kWidth - kRight;
  for (auto s = series.rbegin(); s != series.rend(); ++s) {
    x -= 10 + 6.6 * static_cast<double>(s->name.size());
    absl::StrAppend(&svg, absl::StrFormat("<text x=\"%.1f\" y=\"16\" fill=\"%s\">%s</text>", x,
                                          s->color, EscapeHtml(s->name)));
  }
  return svg;
}

}  // namespace

std::string LineChart(const std::string& title, const std::vector<Series>& series, bool from_zero) {
  Frame f;
  bool any = false;
  for (const Series& s : series) {
    f.steps = std::max(f.steps, s.values.size());
    for (const double v : s.values) {
      if (!std::isfinite(v)) continue;
      f.low = any ? std::min(f.low, v) : v;
      f.high = any ? std::max(f.high, v) : v;
      any = true;
    }
  }
  if (!any) return "";
  if (from_zero) f.low = std::min(f.low, 0.0);
  const double margin = std::max(0.05 * (f.high - f.low), 1e-3);
  f.high += margin;
  if (!from_zero || f.low < 0) f.low -= margin;
  std::string svg = Axes(title, f, series);
  for (const Series& s : series) {
    if (s.spread.size() == s.values.size()) {
      std::string upper;
      std::string lower;
      for (size_t i = 0; i < s.values.size(); ++i) {
        if (!std::isfinite(s.values[i]) || !std::isfinite(s.spread[i])) continue;
        const double hi = std::min(s.values[i] + s.spread[i], f.high);
        const double lo = std::max(s.values[i] - s.spread[i], f.low);
        absl::StrAppend(&upper, absl::StrFormat("%.1f,%.1f ", f.X(i), f.Y(hi)));
        lower = absl::StrFormat("%.1f,%.1f ", f.X(i), f.Y(lo)) + lower;
      }
      absl::StrAppend(&svg, "<polygon points=\"", upper, lower, "\" fill=\"", s.color,
                      "\" opacity=\"0.12\"/>");
    }
    std::string points;
    std::string dots;
    for (size_t i = 0; i < s.values.size(); ++i) {
      if (!std::isfinite(s.values[i])) continue;
      absl::StrAppend(&points, absl::StrFormat("%.1f,%.1f ", f.X(i), f.Y(s.values[i])));
      absl::StrAppend(&dots,
                      absl::StrFormat("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\" "
                                      "fill=\"%s\"><title>step %d: %.4g</title></circle>",
                                      f.X(i), f.Y(s.values[i]), s.color, i + 1, s.values[i]));
    }
    absl::StrAppend(&svg, "<polyline points=\"", points, "\" fill=\"none\" stroke=\"", s.color,
                    "\" stroke-width=\"2\"/>", dots);
  }
  return svg + "</svg>";
}

std::string StackedChart(const std::string& title, const std::vector<Series>& series) {
  Frame f;
  for (const Series& s : series) f.steps = std::max(f.steps, s.values.size());
  if (f.steps == 0) return "";
  std::string svg = Axes(title, f, series);
  const double width =
      std::max(2.0, 0.8 * (kWidth - kLeft - kRight) / static_cast<double>(f.steps + 1));
  for (size_t i = 0; i < f.steps; ++i) {
    double below = 0;
    for (const Series& s : series) {
      const double share = i < s.values.size() && std::isfinite(s.values[i]) ? s.values[i] : 0;
      if (share > 0) {
        absl::StrAppend(&svg, absl::StrFormat("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                                              "height=\"%.1f\" fill=\"%s\"><title>step %d, %s: "
                                              "%.0f%%</title></rect>",
                                              f.X(i) - width / 2, f.Y(below + share), width,
                                              f.Y(below) - f.Y(below + share), s.color, i + 1,
                                              EscapeHtml(s.name), 100 * share));
      }
      below += share;
    }
  }
  return svg + "</svg>";
}

}  // namespace whetstone
