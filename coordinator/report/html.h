// What the HTML pages are made of: text made harmless, a head with its style, tables, blocks of
// text.
//
//   std::string page = PageHead("matmul <2>", ChartStyle());
//   page += HtmlTable("Runs", {"run", "reward"}, {{"a & b", "0.5"}}) + HtmlPre(completion);
//
// A page is one file that can be mailed: it asks for nothing and runs nothing (there is no script),
// and its content security policy forbids both, whatever a completion might have got into it. The
// policy knows the style by its hash, so that `style` attributes count for nothing. All functions
// are pure.
#ifndef WHETSTONE_COORDINATOR_REPORT_HTML_H_
#define WHETSTONE_COORDINATOR_REPORT_HTML_H_

#include <cstddef>
#include <string>
#include <vector>

namespace whetstone {

// Of a longer text this much is shown.
inline constexpr size_t kPreBytesMax = 32 * 1024;

// Returns `text` made harmless: HTML shows it as it is, in elements and in attributes.
std::string EscapeHtml(const std::string& text);

// Returns a page up to its heading, with the style of all pages and more of it. The style's colours
// are --ink on --paper, --faint (less important text), --rule (lines) and --soft (behind code).
std::string PageHead(const std::string& title, const std::string& style);

// Returns a table of plain text, whose first column names the rows; it scrolls within itself, by
// keyboard too. `about` says what it is to those who do not see it. `links`: none, or one a row,
// where its first cell leads ("#part-2").
std::string HtmlTable(const std::string& about, const std::vector<std::string>& header,
                      const std::vector<std::vector<std::string>>& rows,
                      const std::vector<std::string>& links = {});

// Returns the text with its lines as they are; of a text longer than `bytes_max` the beginning, and
// how much is left out.
std::string HtmlPre(const std::string& text, size_t bytes_max = kPreBytesMax);
// Does the same for a unified diff; what is added and removed is coloured.
std::string HtmlDiff(const std::string& diff);

// Returns `body` folded below `summary`; both are HTML.
std::string HtmlFolded(const std::string& summary, const std::string& body);

// Returns "0.123", or "–" for what is no finite number.
std::string NumberText(double value, int digits, const char* unit = "");

// A part of a page, which may be left out.
struct PagePart {
  std::string name;  // plain text
  std::string html;
};
// Returns, in order, the parts that fit into `bytes_max` together, and a paragraph that names those
// left out and says with `advice` (HTML) where they can be had.
std::string PartsThatFit(const std::vector<PagePart>& parts, size_t bytes_max,
                         const std::string& advice);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_REPORT_HTML_H_
