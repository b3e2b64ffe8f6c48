// What a function asks a container, said of a pointer and a size.
#ifndef WHETSTONE_COORDINATOR_AUTHORING_CONTAINER_USES_H_
#define WHETSTONE_COORDINATOR_AUTHORING_CONTAINER_USES_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/authoring/code_text.h"
#include "coordinator/authoring/helper_pointers.h"

namespace whetstone {

// The edits by which uses of the container `name` become those of a pointer of that name, and of
// `size`, an expression:
//
//   ContainerUses uses(&text, "x", "x_size");
//   for (const size_t at : places) if (!uses.Look(at)) …   // something else is done there
//   uses.edits();
class ContainerUses {
 public:
  // `text` is borrowed.
  ContainerUses(CodeText* text, std::string name, std::string size)
      : text_(text), name_(std::move(name)), size_(std::move(size)) {}

  // Says whether the container is only looked at, or an element of it, at `at`, where its name
  // stands: x[i], x.size(), x.begin() and the like, for (T& e : x) {.
  bool Look(size_t at);

  const std::vector<TextEdit>& edits() const { return edits_; }

 private:
  bool AddMember(size_t at, size_t dot);
  bool AddRangeFor(size_t colon, size_t close);

  CodeText* const text_;
  const std::string name_;
  const std::string size_;
  std::vector<TextEdit> edits_;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_AUTHORING_CONTAINER_USES_H_
