// The program that looks how long a function's arrays are (length_probe.h): the function, and what
// runs it on arrays that are longer than it needs.
#ifndef WHETSTONE_COORDINATOR_DISCOVER_LENGTH_PROGRAM_H_
#define WHETSTONE_COORDINATOR_DISCOVER_LENGTH_PROGRAM_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/prompt/signature.h"
#include "whetstone/v1/problem.pb.h"

namespace whetstone {

// Below this whole numbers are small. (Of many arrays an element has four numbers, of few five.)
inline constexpr int kFewNumbers = 5;
inline constexpr int kRow = 32;  // elements of a row on average, where arrays tell where rows begin
// Below the one a range begins, from there on and below the other it ends.
inline constexpr int kRangeBegins = 8, kRangeEnds = 24;

struct LengthProgram {
  std::string code;  // holds the function
  Signature signature;
  v1::Problem structs = {};             // those that the signature names
  std::vector<std::string> asked = {};  // arrays, in the signature's order
  std::vector<std::string> sizes = {};  // the parameters that are whole numbers, in that order
  std::set<std::string> begins = {};    // arrays of whole numbers that tell where rows begin
  // Fields of one struct, or arrays, that loops begin and end with: the first of a pair is less. No
  // name is in two pairs.
  std::set<std::pair<std::string, std::string>> ranges = {};
  std::string letters = {};  // that the function names: bytes are filled with them at times
  bool tame = false;         // small numbers only, and no negative ones
  bool positive = false;     // nor 0
  int64_t longest = 0;       // elements of an array that are looked at
  int64_t room = 0;          // and those there are, before and behind them

  // "void whet_lengths(long long* whet_found, int n)": writes PackedCount() numbers, which hold the
  // lengths of all arrays asked for at these sizes.
  std::string Declaration() const;
  size_t PackedCount() const;
  std::string Source() const;
  // Returns a program that writes -1 in the place of the first number that is not known: its
  // verdict tells it.
  std::string Asking(const std::vector<int64_t>& known) const;
  std::vector<int64_t> Unpacked(const std::vector<int64_t>& packed) const;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_DISCOVER_LENGTH_PROGRAM_H_
