// What a problem cannot hand over (vectors of vectors or strings, structs that hold any, flags,
// choices) is made again, at the function's beginning, of what it can: an array for each number
// that it is made of, and a size for each vector. Vectors of one kind are equally long then.
//
//   int f(const std::vector<Order>& orders)   of   struct Order { bool open; std::vector<int> lots;
//   };
//
//   int f(size_t orders_size, const unsigned char* orders_open, size_t orders_length,
//         const int* orders_lots) {
//     std::vector<Order> orders(orders_size); …
#ifndef WHETSTONE_COORDINATOR_AUTHORING_MADE_AGAIN_H_
#define WHETSTONE_COORDINATOR_AUTHORING_MADE_AGAIN_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/authoring/code_text.h"
#include "coordinator/authoring/source_types.h"

namespace whetstone {

struct MadeAgain {
  std::vector<std::string> parameters;
  std::map<std::string, std::string> extents;  // of arrays, by name: "orders_size*orders_length"
  std::string code;                            // statements, each behind a line's break
};

// Returns how the variable `name` of `type` (no reference, and not const) is made again. Nothing:
// it holds something else, such as a map or a pointer.
std::optional<MadeAgain> MakeAgain(const std::string& type, const std::string& name,
                                   const SourceTypes& types, CodeText* text);

// How what a function returns, or a variable, is written to arrays: each number that it is made of
// to one of its own, one behind the other, and how long each inner vector is to `…_lengths`.
struct WrittenOut {
  std::vector<std::string> parameters;
  std::string code;    // statements that write the variable `value` of that type
  std::string length;  // how long it is; empty: no vector
};
std::optional<WrittenOut> WriteOut(const std::string& type, const std::string& value,
                                   const std::string& name, const SourceTypes& types,
                                   CodeText* text);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_AUTHORING_MADE_AGAIN_H_
