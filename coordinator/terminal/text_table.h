// A table for a terminal: columns as wide as what is in them.
#ifndef WHETSTONE_COORDINATOR_TERMINAL_TEXT_TABLE_H_
#define WHETSTONE_COORDINATOR_TERMINAL_TEXT_TABLE_H_

#include <string>
#include <vector>

namespace whetstone {

// Returns the rows, all as long as the first, as lines without a newline after the last. A
// character of UTF-8 takes one place; control characters, which would break a line, are shown as ?.
std::string TextTable(std::vector<std::vector<std::string>> rows);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_TERMINAL_TEXT_TABLE_H_
