#include "coordinator/report/svg_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/report/chart_look.h"
#include "coordinator/report/svg_testing.h"

namespace whetstone {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// The values 1 to n, times `by`.
std::vector<double> Ramp(size_t n, double by) {
  std::vector<double> values;
  for (size_t i = 1; i <= n; ++i) values.push_back(by * static_cast<double>(i));
  return values;
}

// Everything lies within the chart, and no label under or over anything else.
void ExpectTidy(const std::string& chart) {
  const std::vector<SvgImage> images = ReadSvgs(chart);
  ASSERT_FALSE(images.empty()) << chart;
  for (const SvgImage& image : images) {
    ASSERT_FALSE(image.elements.empty());
    for (const SvgElement& e : image.elements) {
      EXPECT_TRUE(e.box.Inside(image.view))
          << "<" << e.tag << "> " << e.text << " at " << e.box.left << " … " << e.box.right << ", "
          << e.box.top << " … " << e.box.bottom;
      if (e.tag != "text") continue;
      for (const SvgElement& other : image.elements) {
        if (&other == &e) continue;
        EXPECT_FALSE(e.box.Overlaps(other.box))
            << "the label " << e.text << " and <" << other.tag << "> " << other.text;
      }
    }
  }
}

std::vector<SvgElement> PlotElements(const std::string& chart, const std::string& tag) {
  std::vector<SvgElement> found;
  const std::vector<SvgImage> images = ReadSvgs(chart);
  for (const SvgElement& e : images.back().elements) {
    if (e.tag == tag) found.push_back(e);
  }
  return found;
}

// What the columns tell the pointer.
std::vector<std::string> HoverTexts(const std::string& chart) {
  std::vector<std::string> texts;
  for (const SvgElement& e : PlotElements(chart, "rect")) {
    if (!e.text.empty()) texts.push_back(e.text);
  }
  return texts;
}

TEST(SvgChartTest, NothingLeavesTheChartOrCoversALabel) {
  for (const size_t steps : {1u, 2u, 3u, 8u, 9u, 40u, 159u, 161u, 1000u, 12345u}) {
    SCOPED_TRACE(steps);
    const Series rising{"a", 0, Ramp(steps, 1), Ramp(steps, 0.5)};
    const Series tiny{"b", 1, Ramp(steps, -1e-4 / static_cast<double>(steps)), {}};
    for (const Scale scale : {Scale::kData, Scale::kFromZero}) {
      ExpectTidy(LineChart("lines", {rising}, scale));
      ExpectTidy(LineChart("lines", {tiny}, scale));
      ExpectTidy(LineChart("lines", {rising, tiny}, scale));
    }
    const std::vector<double> half(steps, 0.5), most(steps, 0.499);
    ExpectTidy(LineChart("shares", {{"a", 0, half, {}}}, Scale::kPercent));
    ExpectTidy(StackedChart("bars", {{"a", 0, half, {}}, {"b", 1, most, {}}}));
  }
}

// The axis covers the band: its corners are where the values are, not where the plot ends.
TEST(SvgChartTest, TheBandIsNotClipped) {
  const std::string chart =
      LineChart("reward", {{"mean", 0, {0, 0, 1}, {0.5, 0.1, 0.5}}}, Scale::kData);
  const std::vector<SvgElement> bands = PlotElements(chart, "polygon");
  const std::vector<SvgElement> lines = PlotElements(chart, "polyline");
  ASSERT_EQ(bands.size(), 1u);
  ASSERT_EQ(lines.size(), 1u);
  const double unit = lines[0].box.bottom - lines[0].box.top;  // from 0 to 1
  EXPECT_NEAR(bands[0].box.bottom - bands[0].box.top, 2 * unit, 0.3) << "from -0.5 to 1.5";
}

TEST(SvgChartTest, LegendsAreInTheLooksOfTheirLines) {
  std::vector<Series> series;
  for (size_t look = 0; look < kChartLooks; ++look) {
    series.push_back({absl::StrCat("line ", look), look, {1, 2}});
  }
  const std::string chart = LineChart("title", series, Scale::kData);
  const std::vector<SvgImage> images = ReadSvgs(chart);
  ASSERT_EQ(images.size(), series.size() + 1) << "a key for each, and the plot";
  const auto shape = [](const SvgElement& e) {
    const auto points = e.attributes.find("points");
    return absl::StrCat(e.tag, points == e.attributes.end()
                                   ? 0
                                   : std::count(points->second.begin(), points->second.end(), ','));
  };
  std::set<std::string> classes, dashes, shapes;
  for (size_t i = 0; i < series.size(); ++i) {
    const std::vector<SvgElement>& key = images[i].elements;
    ASSERT_EQ(key.size(), 2u);
    for (const char* name : {"class", "stroke-dasharray"}) {
      ASSERT_EQ(key[0].attributes.count(name), 1u) << name;
    }
    const std::string look = key[0].attributes.at("class");
    EXPECT_EQ(key[1].attributes.at("class"), look);
    classes.insert(look);
    dashes.insert(key[0].attributes.at("stroke-dasharray"));
    shapes.insert(shape(key[1]));
    int lines = 0, markers = 0;
    for (const SvgElement& e : images.back().elements) {
      const auto found = e.attributes.find("class");
      if (found == e.attributes.end() || found->second != look) continue;
      if (e.tag == "polyline") {
        EXPECT_EQ(e.attributes.at("stroke-dasharray"), key[0].attributes.at("stroke-dasharray"));
        ++lines;
      } else {
        EXPECT_EQ(shape(e), shape(key[1]));
        ++markers;
      }
    }
    EXPECT_EQ(lines, 1);
    EXPECT_EQ(markers, 2);
    EXPECT_THAT(ChartStyle(), HasSubstr(absl::StrCat(".", look, "{color:#")));
  }
  EXPECT_EQ(classes.size(), kChartLooks) << "by colours";
  EXPECT_EQ(dashes.size(), kChartLooks) << "and without";
  EXPECT_EQ(shapes.size(), 4u);
}

TEST(SvgChartTest, EachNameOfALegendStandsAlone) {
  const std::string chart = StackedChart(
      "outcomes",
      {{"memory limit", 4, {0.5, 0}}, {"compile error", 5, {0.5, 1}}, {"never", 6, {0, 0}}});
  std::vector<std::string> names;
  static const std::regex kItem("<li>.*?</svg> ([^<]*)</li>");
  for (std::sregex_iterator it(chart.begin(), chart.end(), kItem), end; it != end; ++it) {
    names.push_back((*it)[1]);
  }
  EXPECT_THAT(names, ElementsAre("memory limit", "compile error"))
      << "what never happened has no place";
  const std::vector<SvgImage> images = ReadSvgs(chart);
  ASSERT_EQ(images.size(), 3u);
  EXPECT_EQ(images[0].elements[0].attributes.at("fill"), "url(#hatch4)");
  EXPECT_EQ(images[1].elements[0].attributes.at("fill"), "url(#hatch5)");
  // What is hatched is drawn as the legend says, to scale: half and half, then all the other.
  std::vector<double> heights;
  for (const SvgElement& bar : PlotElements(chart, "rect")) {
    if (bar.attributes.count("fill") > 0) heights.push_back(bar.box.bottom - bar.box.top);
  }
  ASSERT_EQ(heights.size(), 3u);
  EXPECT_NEAR(heights[0], heights[1], 0.2);
  EXPECT_NEAR(heights[2], heights[0] + heights[1], 0.2);
}

// Each hatching is defined once, and all of them differ.
TEST(SvgChartTest, HatchingIsThereToBeReferredTo) {
  const std::string patterns = ChartPatterns();
  std::set<std::string> paths;
  for (size_t look = 0; look < kChartLooks; ++look) {
    const std::string id = absl::StrCat("<pattern id=\"hatch", look, "\"");
    const size_t at = patterns.find(id);
    ASSERT_NE(at, std::string::npos) << id;
    EXPECT_EQ(patterns.find(id, at + 1), std::string::npos);
    const size_t path = patterns.find(" d=\"", at);
    paths.insert(patterns.substr(path, patterns.find("\"/>", path) - path));
  }
  EXPECT_EQ(paths.size(), kChartLooks);
}

TEST(SvgChartTest, LongSeriesAreMeansOfNeighboursAndSaySo) {
  const std::string chart = LineChart("t", {{"a", 0, Ramp(10'000, 1)}}, Scale::kData);
  EXPECT_THAT(chart, HasSubstr("<figcaption>t, by step (drawn as means of 100 steps)<"));
  const std::vector<std::string> hover = HoverTexts(chart);
  ASSERT_EQ(hover.size(), kChartColumnsMax);
  EXPECT_EQ(hover[0], "steps 1 to 100\na: 50.5");
  EXPECT_THAT(hover.back(), testing::StartsWith("steps 9901 to 10000\na: 995"));
  EXPECT_THAT(chart, HasSubstr("<tr><th scope=\"row\">steps 1 to 100</th><td>50.5</td></tr>"));
  EXPECT_LT(chart.size(), 40'000u) << "a page of many charts can be mailed";
  const std::string odd = LineChart("t", {{"a", 0, Ramp(1002, 1)}}, Scale::kData);
  EXPECT_EQ(HoverTexts(odd).back(), "step 1002\na: 1002") << "the rest of 91 times 11";
  EXPECT_THAT(LineChart("t", {{"a", 0, Ramp(100, 1)}}, Scale::kData), Not(HasSubstr("means")));
}

// Wherever the pointer is in the plot, it is in one column, which tells all values there; a table
// has the same, and so have words.
TEST(SvgChartTest, ValuesAreToldInThreeWays) {
  const std::string chart =
      LineChart("rewards & \"more\"",
                {{"mean <1>", 0, {1, 2, 4}, {0.5, 0.5, 0.25}}, {"best", 1, {5, std::nan(""), 6}}},
                Scale::kData);
  EXPECT_THAT(HoverTexts(chart), ElementsAre("step 1\nmean &lt;1&gt;: 1 ± 0.5\nbest: 5",
                                             "step 2\nmean &lt;1&gt;: 2 ± 0.5\nbest: –",
                                             "step 3\nmean &lt;1&gt;: 4 ± 0.25\nbest: 6"));
  double right = 0;
  for (const SvgElement& e : PlotElements(chart, "rect")) {
    if (e.text.empty()) continue;
    if (right > 0) {
      EXPECT_NEAR(e.box.left, right, 0.2);
    }
    right = e.box.right;
  }
  EXPECT_NEAR(right, 690, 0.2) << "up to the plot's edge";
  EXPECT_THAT(chart, HasSubstr("<th scope=\"row\">step 3</th><td>4 ± 0.25</td><td>6</td>"));
  EXPECT_THAT(chart, HasSubstr("aria-label=\"rewards &amp; &quot;more&quot;, by step. mean "
                               "&lt;1&gt;: first 1, last 4, lowest 1, highest 4. best: first 5, "
                               "last 6, lowest 5, highest 6.\""));
  EXPECT_THAT(LineChart("t", {{"a", 0, {0.125, 0.5}, {0.05, 0}}}, Scale::kPercent),
              HasSubstr("step 1\na: 12.5% ± 5.0%<"));
}

// Shares near 0 have bands that reach below it.
TEST(SvgChartTest, ABandBelowZeroHasNoMinusZero) {
  const std::string chart = LineChart("t", {{"a", 0, {0, 0.5}, {0.1, 0.1}}}, Scale::kPercent);
  ExpectTidy(chart);
  EXPECT_THAT(chart, HasSubstr(">0%<"));
  EXPECT_THAT(chart, Not(HasSubstr("-0%")));
}

TEST(SvgChartTest, TheAxisCountsWhatItIsToldTo) {
  const std::string chart = LineChart("held out", {{"right", 0, {0.1, 0.2, 0.4}}}, Scale::kPercent,
                                      {.unit = "step", .at = {0, 20, 40}});
  EXPECT_THAT(HoverTexts(chart), ElementsAre("step 0\nright: 10.0%", "step 20\nright: 20.0%",
                                             "step 40\nright: 40.0%"));
  std::vector<std::string> ticks;
  for (const SvgElement& label : PlotElements(chart, "text")) {
    if (label.attributes.at("text-anchor") == "middle") ticks.push_back(label.text);
  }
  EXPECT_THAT(ticks, ElementsAre("0", "20", "40"));
  EXPECT_THAT(LineChart("loss", {{"loss", 0, {2, 1}}}, Scale::kFromZero, {.unit = "update"}),
              HasSubstr(">loss, by update<"));
}

TEST(SvgChartTest, WithoutAnyPointThereIsNoChart) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(LineChart("t", {{"a", 0, {std::nan(""), std::nan("")}}}, Scale::kData), "");
  EXPECT_EQ(LineChart("t", {{"a", 0, {inf, -inf, 1e300}}}, Scale::kData), "");
  EXPECT_EQ(LineChart("t", {{"a", 0, {}}}, Scale::kPercent), "");
  EXPECT_EQ(StackedChart("t", {{"a", 0, {0, 0}}}), "");
  // A gap in a line leaves out its point and nothing else.
  const std::string gap = LineChart("t", {{"a", 0, {1, std::nan(""), 3, inf}}}, Scale::kData);
  EXPECT_EQ(PlotElements(gap, "circle").size(), 2u);
  EXPECT_EQ(HoverTexts(gap).at(3), "step 4\na: –");
  EXPECT_THAT(gap, Not(HasSubstr("nan")));
  EXPECT_THAT(gap, Not(HasSubstr("inf")));
  // A series without any is in neither the plot nor the legend.
  const std::string two =
      LineChart("t", {{"gone", 0, {std::nan("")}}, {"here", 1, {2}}}, Scale::kData);
  EXPECT_THAT(two, Not(HasSubstr("gone")));
  EXPECT_EQ(PlotElements(two, "polyline").size(), 1u);
}

// A flat line far from 0 once had no room for a scale, and a chart of it no end.
TEST(SvgChartTest, ValuesOfAnySizeHaveAScale) {
  for (const double value : {0.0, 1e-300, 1e9, 1e14, -1e99}) {
    SCOPED_TRACE(value);
    ExpectTidy(LineChart("flat", {{"a", 0, {value, value}}}, Scale::kData));
  }
  ExpectTidy(LineChart("apart", {{"a", 0, {-1e100, 1e100}, {1e100, 1e100}}}, Scale::kData));
}

}  // namespace
}  // namespace whetstone
