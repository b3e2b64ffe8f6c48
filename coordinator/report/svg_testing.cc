#include "coordinator/report/svg_testing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <regex>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace whetstone {
namespace {

constexpr double kTextHeight = 21;  // of the style sheet's largest text
constexpr double kCharacterWidth = 0.6 * kTextHeight;

double Number(const std::map<std::string, std::string>& attributes, const std::string& name) {
  double value = std::nan("");
  const auto it = attributes.find(name);
  EXPECT_TRUE(it != attributes.end() && absl::SimpleAtod(it->second, &value)) << name;
  return value;
}

SvgBox BoxOfPoints(const std::string& points) {
  SvgBox box{1e9, 1e9, -1e9, -1e9};
  const std::vector<std::string> pairs = absl::StrSplit(points, ' ', absl::SkipEmpty());
  EXPECT_FALSE(pairs.empty()) << "no points";
  for (const std::string& pair : pairs) {
    const std::vector<std::string> xy = absl::StrSplit(pair, ',');
    double x = std::nan(""), y = x;
    EXPECT_TRUE(xy.size() == 2 && absl::SimpleAtod(xy[0], &x) && absl::SimpleAtod(xy[1], &y))
        << pair;
    box = {std::min(box.left, x), std::min(box.top, y), std::max(box.right, x),
           std::max(box.bottom, y)};
  }
  return box;
}

SvgBox BoxOf(const SvgElement& e) {
  const auto at = [&](const char* name) { return Number(e.attributes, name); };
  if (e.tag == "circle") {
    return {at("cx") - at("r"), at("cy") - at("r"), at("cx") + at("r"), at("cy") + at("r")};
  }
  if (e.tag == "rect") return {at("x"), at("y"), at("x") + at("width"), at("y") + at("height")};
  if (e.tag == "line") {
    return {std::min(at("x1"), at("x2")), std::min(at("y1"), at("y2")),
            std::max(at("x1"), at("x2")), std::max(at("y1"), at("y2"))};
  }
  if (e.tag == "polyline" || e.tag == "polygon") return BoxOfPoints(e.attributes.at("points"));
  EXPECT_EQ(e.tag, "text") << "an element that the charts do not use";
  const double width = kCharacterWidth * static_cast<double>(e.text.size());
  const auto anchor = e.attributes.find("text-anchor");
  const std::string where = anchor == e.attributes.end() ? "start" : anchor->second;
  const double left = at("x") - (where == "end" ? width : where == "middle" ? width / 2 : 0);
  return {left, at("y") - 0.75 * kTextHeight, left + width, at("y") + 0.2 * kTextHeight};
}

std::map<std::string, std::string> Attributes(const std::string& text) {
  static const std::regex kAttribute(R"(([\w:-]+)="([^"]*)\")");
  std::map<std::string, std::string> attributes;
  for (std::sregex_iterator it(text.begin(), text.end(), kAttribute), end; it != end; ++it) {
    attributes[(*it)[1]] = (*it)[2];
  }
  return attributes;
}

}  // namespace

bool SvgBox::Inside(const SvgBox& other) const {
  return left >= other.left && top >= other.top && right <= other.right && bottom <= other.bottom;
}

bool SvgBox::Overlaps(const SvgBox& other) const {
  return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
}

std::vector<SvgImage> ReadSvgs(const std::string& html) {
  static const std::regex kTag(R"(<(/?)([a-z]+)((?:\s+[\w:-]+="[^"]*")*)\s*/?>([^<]*))");
  std::vector<SvgImage> images;
  for (size_t at = html.find("<svg"); at != std::string::npos; at = html.find("<svg", at + 1)) {
    const std::string svg = html.substr(at, html.find("</svg>", at) - at);
    bool defining = false;
    for (std::sregex_iterator it(svg.begin(), svg.end(), kTag), end; it != end; ++it) {
      const std::string tag = (*it)[2];
      const bool opens = (*it)[1].length() == 0;
      if (tag == "svg") {
        SvgImage& image = images.emplace_back();
        image.attributes = Attributes((*it)[3]);
        const std::vector<std::string> view = absl::StrSplit(image.attributes["viewBox"], ' ');
        EXPECT_EQ(view.size(), 4u) << image.attributes["viewBox"];
        if (view.size() != 4) return images;
        EXPECT_TRUE(absl::SimpleAtod(view[2], &image.view.right));
        EXPECT_TRUE(absl::SimpleAtod(view[3], &image.view.bottom));
      } else if (tag == "defs") {
        defining = opens;
      } else if (defining || tag == "g" || !opens) {
        continue;
      } else if (tag == "title") {
        if (!images.back().elements.empty()) images.back().elements.back().text = (*it)[4];
      } else {
        SvgElement element{tag, Attributes((*it)[3]), (*it)[4], {}};
        element.box = BoxOf(element);
        images.back().elements.push_back(std::move(element));
      }
    }
  }
  return images;
}

}  // namespace whetstone
