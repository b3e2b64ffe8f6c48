// What a function's text says of the numbers it wants, where its loops do not say how long its
// arrays are and no run tells: whose name stands below a fraction line is not zero, of which a
// whole number is made is more than one, an array of which neighbours are a loop's bounds tells
// where rows begin, and two numbers that a loop counts between lie in that order.
//
//   for (int e = begins[t]; e < begins[t + 1]; ++e) …    // begins
//   for (int i = deal.first; i < deal.last; ++i) …       // deal's fields first and last
//
// It reads words, not C++: a clue may be wrong. What follows from it is tried and shown.
#ifndef WHETSTONE_COORDINATOR_DISCOVER_CODE_CLUES_H_
#define WHETSTONE_COORDINATOR_DISCOVER_CODE_CLUES_H_

#include <set>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace whetstone {

struct CodeClues {
  std::set<std::string> divisors;  // names in what is divided by
  std::set<std::string> counts;    // names in what is made a whole number of
  // Arrays of which one element and the next are used: "begins".
  std::set<std::string> begins;
  // Names of arrays or fields that loops begin and end with: {"first", "last"}.
  std::set<std::pair<std::string, std::string>> ranges;
};

CodeClues CluesIn(absl::string_view code);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_DISCOVER_CODE_CLUES_H_
