// The second turn of a conversation about a program: the program that failed as the answer, then
// what is wrong with it.
#ifndef WHETSTONE_COMMON_SECOND_TURN_H_
#define WHETSTONE_COMMON_SECOND_TURN_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace whetstone {

// What a failure says is an error message or two, and some lines of the program.
inline constexpr int64_t kFailureBytes = 800;
// Bounds of all that a second turn adds to a prompt beside the program, the frames of its two
// messages included.
inline constexpr int64_t kSecondTurnBytes = kFailureBytes + 120;
inline constexpr int64_t kSecondTurnTokens = kFailureBytes / 2 + 64;

// Returns the program as an answer of the assistant's: its lines keep their numbers.
std::string AnswerText(absl::string_view source);
// Returns what the user says then.
std::string MendText(absl::string_view failure);

}  // namespace whetstone

#endif  // WHETSTONE_COMMON_SECOND_TURN_H_
