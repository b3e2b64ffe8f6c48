#include "coordinator/report/svg_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
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

TEST(SvgChartTest, NothingLeavesTheChartOrCoversALabel) {
  for (const size_t steps : {1u, 2u, 3u, 8u, 9u, 40u, 159u, 161u, 1000u, 12345u}) {
    SCOPED_TRACE(steps);
    const Series rising{"a", "#1f77b4", Ramp(steps, 1), Ramp(steps, 0.5)};
    const Series tiny{"b", "#d62728", Ramp(steps, -1e-4 / static_cast<double>(steps)), {}};
    for (const Scale scale : {Scale::kData, Scale::kFromZero}) {
      ExpectTidy(LineChart("lines", {rising}, scale));
      ExpectTidy(LineChart("lines", {tiny}, scale));
      ExpectTidy(LineChart("lines", {rising, tiny}, scale));
    }
    const std::vector<double> half(steps, 0.5), most(steps, 0.499);
    ExpectTidy(LineChart("shares", {{"a", "#1f77b4", half, {}}}, Scale::kPercent));
    ExpectTidy(StackedChart("bars", {{"a", "#1f77b4", half, {}}, {"b", "#d62728", most, {}}}));
  }
}

// The axis covers the band: its corners are where the values are, not where the plot ends.
TEST(SvgChartTest, TheBandIsNotClipped) {
  const std::string chart =
      LineChart("reward", {{"mean", "#1f77b4", {0, 0, 1}, {0.5, 0.1, 0.5}}}, Scale::kData);
  const std::vector<SvgElement> bands = PlotElements(chart, "polygon");
  const std::vector<SvgElement> lines = PlotElements(chart, "polyline");
  ASSERT_EQ(bands.size(), 1u);
  ASSERT_EQ(lines.size(), 1u);
  const double unit = lines[0].box.bottom - lines[0].box.top;  // from 0 to 1
  EXPECT_NEAR(bands[0].box.bottom - bands[0].box.top, 2 * unit, 0.3) << "from -0.5 to 1.5";
}

TEST(SvgChartTest, LegendsAreInTheColoursAndShapesOfTheirLines) {
  const std::vector<Series> series = {{"one", "#111111", {1, 2}, {}},
                                      {"two", "#222222", {2, 3}, {}},
                                      {"three", "#333333", {3, 4}, {}},
                                      {"four", "#444444", {4, 5}, {}}};
  const std::string chart = LineChart("title", series, Scale::kData);
  const std::vector<SvgImage> images = ReadSvgs(chart);
  ASSERT_EQ(images.size(), series.size() + 1) << "a key for each, and the plot";
  std::set<std::string> shapes;
  for (size_t i = 0; i < series.size(); ++i) {
    const std::vector<SvgElement>& key = images[i].elements;
    ASSERT_EQ(key.size(), 2u);
    EXPECT_EQ(key[0].attributes.at("stroke"), series[i].color);
    EXPECT_EQ(key[1].attributes.at("fill"), series[i].color);
    // The points of that colour have the key's shape.
    const auto shape = [](const SvgElement& e) {
      const auto points = e.attributes.find("points");
      return absl::StrCat(e.tag,
                          points == e.attributes.end()
                              ? 0
                              : std::count(points->second.begin(), points->second.end(), ','));
    };
    int points = 0;
    for (const SvgElement& e : images.back().elements) {
      const auto fill = e.attributes.find("fill");
      if (fill == e.attributes.end() || fill->second != series[i].color) continue;
      EXPECT_EQ(shape(e), shape(key[1]));
      ++points;
    }
    EXPECT_EQ(points, 2);
    shapes.insert(shape(key[1]));
  }
  EXPECT_EQ(shapes.size(), 4u) << "told apart without colours, too";
  // What a style sheet says wins over an attribute: it must not colour what the chart colours.
  EXPECT_THAT(ChartStyle(), Not(HasSubstr("svg text")));
  EXPECT_THAT(ChartStyle(), HasSubstr("svg.plot text{"));
}

TEST(SvgChartTest, EachNameOfALegendStandsAlone) {
  const std::string chart = StackedChart("outcomes", {{"memory limit", "#111111", {0.5, 0}, {}},
                                                      {"compile error", "#222222", {0.5, 1}, {}},
                                                      {"never", "#333333", {0, 0}, {}}});
  std::vector<std::string> names;
  static const std::regex kItem("<li>.*?</svg> ([^<]*)</li>");
  for (std::sregex_iterator it(chart.begin(), chart.end(), kItem), end; it != end; ++it) {
    names.push_back((*it)[1]);
  }
  EXPECT_THAT(names, ElementsAre("memory limit", "compile error"))
      << "what never happened has no place";
  const std::vector<SvgImage> images = ReadSvgs(chart);
  ASSERT_EQ(images.size(), 3u);
  EXPECT_EQ(images[0].elements[0].attributes.at("fill"), "#111111");
  EXPECT_EQ(images[1].elements[0].attributes.at("fill"), "#222222");
}

TEST(SvgChartTest, LongSeriesAreMeansOfNeighbours) {
  const std::string chart = LineChart("t", {{"a", "#1f77b4", Ramp(1000, 1), {}}}, Scale::kData);
  const std::vector<SvgElement> points = PlotElements(chart, "circle");
  ASSERT_LE(points.size(), kChartColumnsMax);
  ASSERT_GE(points.size(), kChartColumnsMax / 2);
  EXPECT_EQ(points[0].text, "steps 1 to 7, a: 4");
  EXPECT_EQ(points.back().text, "steps 995 to 1000, a: 997.5");
}

TEST(SvgChartTest, WithoutAnyPointThereIsNoChart) {
  EXPECT_EQ(LineChart("t", {{"a", "#1f77b4", {std::nan(""), std::nan("")}, {}}}, Scale::kData), "");
  EXPECT_EQ(LineChart("t", {{"a", "#1f77b4", {}, {}}}, Scale::kPercent), "");
  EXPECT_EQ(StackedChart("t", {{"a", "#1f77b4", {0, 0}, {}}}), "");
  // A gap in a line leaves out its point and nothing else.
  const std::string gap =
      LineChart("t", {{"a", "#1f77b4", {1, std::nan(""), 3}, {}}}, Scale::kData);
  EXPECT_EQ(PlotElements(gap, "circle").size(), 2u);
  EXPECT_THAT(gap, Not(HasSubstr("nan")));
  // A series without any is in neither the plot nor the legend.
  const std::string two = LineChart(
      "t", {{"a", "#1f77b4", {std::nan("")}, {}}, {"b", "#d62728", {2}, {}}}, Scale::kData);
  EXPECT_THAT(two, Not(HasSubstr("#1f77b4")));
  EXPECT_EQ(PlotElements(two, "polyline").size(), 1u);
}

}  // namespace
}  // namespace whetstone
