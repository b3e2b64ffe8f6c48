#ifndef WHETSTONE_COORDINATOR_REPORT_HTML_H_
#define WHETSTONE_COORDINATOR_REPORT_HTML_H_

#include <string>

namespace whetstone {

// Returns `text` made harmless: HTML shows it as it is, in elements and in attributes.
std::string EscapeHtml(const std::string& text);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_REPORT_HTML_H_
