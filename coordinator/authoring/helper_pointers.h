// Helpers that are handed a container and look at its elements only can be handed a pointer.
#ifndef WHETSTONE_COORDINATOR_AUTHORING_HELPER_POINTERS_H_
#define WHETSTONE_COORDINATOR_AUTHORING_HELPER_POINTERS_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/authoring/code_text.h"

namespace whetstone {

// Whether all helpers of a file that a container of `element` gets to can be handed a pointer:
//
//   HelperPointers helpers(text, "float");
//   if (helpers.TakePointer(place of a use)) … helpers.edits() …
class HelperPointers {
 public:
  // `text` has to outlive it.
  HelperPointers(const CodeText& text, std::string element)
      : text_(text), element_(std::move(element)) {}

  // Says whether what is named at `use` is an argument of a helper that is defined once in the
  // file, as const std::vector<T>&, and used there as elements or as an argument in the same way
  // only. Whether others call it, with anything else, is for AreAllCallsKnown.
  bool TakePointer(size_t use);
  // Says whether every call of these helpers was asked for.
  bool AreAllCallsKnown() const;
  // Returns what makes these parameters pointers.
  const std::vector<TextEdit>& edits() const { return edits_; }

 private:
  struct Call {
    std::string helper;
    size_t argument = 0;
    size_t name = 0;  // where the helper is named
  };
  std::optional<Call> CallAround(size_t use) const;
  bool Convert(const std::string& helper, size_t argument);

  const CodeText& text_;
  const std::string element_;
  std::map<std::string, size_t> argument_of_;         // of helpers that are converted
  std::map<std::string, size_t> definition_of_;       // where they are named
  std::map<std::string, std::vector<size_t>> calls_;  // where they are named, as was asked for
  std::vector<TextEdit> edits_;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_AUTHORING_HELPER_POINTERS_H_
