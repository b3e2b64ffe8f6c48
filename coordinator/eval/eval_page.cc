#include "coordinator/eval/eval_page.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "coordinator/eval/eval_tables.h"
#include "coordinator/report/html.h"

namespace whetstone {
namespace {

constexpr char kWords[] =
    "<h2>What the words mean</h2><ul>"
    "<li><b>pass</b>: at least one of k samples is right on every input that was tried.</li>"
    "<li><b>fast_p</b>: at least one of k is right and more than p times as fast as the reference; "
    "<b>fast_expert</b>: faster than the expert's program. Within the noise of equal code a "
    "program "
    "counts as exactly as fast as the reference.</li>"
    "<li><b>best</b>: how many times as fast as the reference the fastest of k samples is, the "
    "reference among them: what is not right, or slower, counts as 1. Geometric mean.</li>"
    "<li>All are unbiased estimates from all samples, averaged over problems. Brackets hold 95 % "
    "intervals by drawing problems and their samples again: they say what other problems of this "
    "kind, and other samples, could have given.</li></ul>";

// Draws each model's estimate of one metric as a point on its interval, from 0 to the largest end.
std::string IntervalChart(const EvalSummary& s, size_t metric) {
  constexpr double kLeft = 190, kRight = 580, kRow = 22;
  const bool best = s.metrics[metric].measure == Measure::kBest;
  const double from = best ? 1 : 0;
  double to = from + 0.01;
  for (const auto& estimates : s.overall.models) to = std::max(to, estimates[metric].high);
  const auto x = [&](double value) {
    return kLeft + (kRight - kLeft) * (value - from) / (to - from);
  };
  const auto number = [best](double value) {
    return best ? absl::StrFormat("%.2f×", value) : absl::StrFormat("%.1f %%", 100 * value);
  };
  const double height = kRow * static_cast<double>(s.models.size() + 1);
  std::string svg = absl::StrFormat(
      "<h3>%s</h3><svg viewBox=\"0 0 600 %.0f\" width=\"100%%\" role=\"img\" fill=\"currentColor\" "
      "font-size=\"12\">",
      EscapeHtml(MetricName(s.metrics[metric])), height);
  for (size_t m = 0; m < s.models.size(); ++m) {
    const Estimate& e = s.overall.models[m][metric];
    const double y = kRow * (static_cast<double>(m) + 0.5);
    const std::string name = s.models[m].name;
    absl::StrAppend(
        &svg,
        absl::StrFormat("<text x=\"0\" y=\"%.0f\">%s</text><line x1=\"%.1f\" x2=\"%.1f\" "
                        "y1=\"%.0f\" y2=\"%.0f\" stroke=\"#1f77b4\" stroke-width=\"3\"/>"
                        "<circle cx=\"%.1f\" cy=\"%.0f\" r=\"5\" fill=\"#1f77b4\"><title>%s: %s, "
                        "%s to %s</title></circle>",
                        y + 4, EscapeHtml(name.size() > 28 ? name.substr(0, 27) + "…" : name),
                        x(e.low), x(e.high), y, y, x(e.value), y, EscapeHtml(name), number(e.value),
                        number(e.low), number(e.high)));
  }
  absl::StrAppend(&svg,
                  absl::StrFormat("<text x=\"%.0f\" y=\"%.0f\">%s</text><text x=\"%.0f\" "
                                  "y=\"%.0f\" text-anchor=\"end\">%s</text></svg>\n",
                                  kLeft, height - 6, number(from), kRight, height - 6, number(to)));
  return svg;
}

}  // namespace

std::string EvalPage(const std::string& title, const EvalSummary& s) {
  std::vector<std::string> models;
  for (const EvalModel& model : s.models) {
    models.push_back(absl::StrCat("<li><b>", EscapeHtml(model.name), "</b>: <code>",
                                  EscapeHtml(model.path), "</code></li>"));
  }
  std::string html = absl::StrCat(PageHead(title, ""), "<ul>", absl::StrJoin(models, ""), "</ul>");
  absl::StrAppend(&html, "<p>Seed ", s.seed, ", split ", EscapeHtml(s.split), ".</p>");
  for (const EvalTable& table : EvalTables(s)) {
    absl::StrAppend(&html, "<h2>", EscapeHtml(table.title), "</h2>",
                    HtmlTable(table.title, table.header, table.rows));
  }
  if (!s.overall.models.empty()) {
    html += "<h2>Estimates and their intervals</h2>";
    for (size_t i = 0; i < s.metrics.size(); ++i) html += IntervalChart(s, i);
  }
  return absl::StrCat(html, kWords, "</body></html>\n");
}

}  // namespace whetstone
