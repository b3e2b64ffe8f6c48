// ReadSvgs reads the elements of a page's SVG charts, for tests: what is drawn, in which chart, and
// how far it reaches.
#ifndef WHETSTONE_COORDINATOR_REPORT_SVG_TESTING_H_
#define WHETSTONE_COORDINATOR_REPORT_SVG_TESTING_H_

#include <map>
#include <string>
#include <vector>

namespace whetstone {

// A box is what an element covers, in its chart's units.
struct SvgBox {
  double left = 0;
  double top = 0;
  double right = 0;
  double bottom = 0;
  bool Inside(const SvgBox& other) const;
  bool Overlaps(const SvgBox& other) const;
};

struct SvgElement {
  std::string tag;  // "circle", "rect", "line", "polyline", "polygon", "text"
  std::map<std::string, std::string> attributes;
  std::string text;  // of a <text>, or the <title> within another
  // Text is taken to be as large as on a narrow screen.
  SvgBox box;
};

struct SvgImage {
  std::map<std::string, std::string> attributes;  // of <svg>
  SvgBox view;
  std::vector<SvgElement> elements;
};

// Returns every <svg> of `html`, in order, without what it defines for others; groups count for
// nothing. What is no well-formed SVG of these elements fails the test.
std::vector<SvgImage> ReadSvgs(const std::string& html);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_REPORT_SVG_TESTING_H_
