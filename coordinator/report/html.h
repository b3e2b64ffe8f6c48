#ifndef WHETSTONE_COORDINATOR_REPORT_HTML_H_
#define WHETSTONE_COORDINATOR_REPORT_HTML_H_

#include <string>

namespace whetstone {

// Returns `text` made harmless: HTML shows it as it is, in elements and in attributes.
std::string EscapeHtml(const std::string& text);

// Returns a page up to its heading, with the style of all pages and more of it.
std::string PageHead(const std::string& title, const std::string& style);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_REPORT_HTML_H_
