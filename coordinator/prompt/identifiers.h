// MapIdentifiers finds identifiers in C++ text without parsing it.
#ifndef WHETSTONE_COORDINATOR_PROMPT_IDENTIFIERS_H_
#define WHETSTONE_COORDINATOR_PROMPT_IDENTIFIERS_H_

#include <functional>
#include <string>

namespace whetstone {

// Whether identifiers and numbers are made of such characters.
bool IsWordChar(char c);

// Returns `code` with every identifier (and keyword) replaced by what `replace` answers. Numbers
// such as 1.0f or 0xff hold none. Words in strings and comments count too.
std::string MapIdentifiers(const std::string& code,
                           const std::function<std::string(const std::string&)>& replace);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_PROMPT_IDENTIFIERS_H_
