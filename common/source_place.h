// Where in a text something stands, for messages about it. The message begins with the place's
// name; for people at a terminal the line itself comes with the status, as compilers show it:
//
//   return ErrorAt(place, "'train.lr' must be greater than 0, not 0");
//   …
//   std::cerr << status.message() << "\n" << ExcerptOf(status);
//
//   campaign.yaml:7: 'train.lr' must be greater than 0, not 0
//       7 | train: {steps: 20, lr: 0}
//         |                    ^
//
// Whoever makes a new status of the message loses the line, and nothing else.
#ifndef WHETSTONE_COMMON_SOURCE_PLACE_H_
#define WHETSTONE_COMMON_SOURCE_PLACE_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace whetstone {

struct SourcePlace {
  std::string name;   // "campaign.yaml:7", "--set train.lr=0"
  std::string line;   // the text of the line; empty: none is shown
  int number = 0;     // of the line, counted from 1
  size_t column = 0;  // bytes of the line before what is meant
};

// Returns "NAME: WHAT", with the line where the place has one. `code` is not kOk.
absl::Status ErrorAt(const SourcePlace& place, absl::string_view what,
                     absl::StatusCode code = absl::StatusCode::kInvalidArgument);

// Returns the line of the place and a caret below it, without a newline at the end; "" where the
// status has none. Of a long line it is the part around the caret; what could do something to a
// terminal is replaced.
std::string ExcerptOf(const absl::Status& status);

// Returns the message, and below it the excerpt if there is one.
std::string WithExcerpt(const absl::Status& status);

}  // namespace whetstone

#endif  // WHETSTONE_COMMON_SOURCE_PLACE_H_
