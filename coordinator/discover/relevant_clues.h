// Those clues of a function's text (code_clues.h) that are about its inputs, and the fills that
// they ask for.
#ifndef WHETSTONE_COORDINATOR_DISCOVER_RELEVANT_CLUES_H_
#define WHETSTONE_COORDINATOR_DISCOVER_RELEVANT_CLUES_H_

#include <map>
#include <string>

#include "coordinator/authoring/imported_function.h"
#include "coordinator/discover/code_clues.h"

namespace whetstone {

// Returns the clues that are about what the function only reads: arrays of whole numbers that can
// count elements, and fields of one struct.
CodeClues RelevantClues(const CodeClues& all, const ImportedFunction& function);

// Returns how inputs are filled that clues are about, where the lengths of arrays are known.
std::map<std::string, std::string> FillsByClues(const CodeClues& clues,
                                                const ImportedFunction& function,
                                                const std::map<std::string, std::string>& lengths);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_DISCOVER_RELEVANT_CLUES_H_
