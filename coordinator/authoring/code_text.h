// The text of a C++ source, in which an import looks for names without parsing it.
#ifndef WHETSTONE_COORDINATOR_AUTHORING_CODE_TEXT_H_
#define WHETSTONE_COORDINATOR_AUTHORING_CODE_TEXT_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace whetstone {

class CodeText {
 public:
  explicit CodeText(const std::string& code);

  // As MaskedCpp gives it.
  const std::string& masked() const { return masked_; }
  // Returns `name`, with underscores behind it if the code has that name, or it was returned.
  std::string Fresh(std::string name);
  // Returns where the bytes [begin, end) name a variable; nothing where the name may be another
  // one's, or is where it cannot be told (a directive, a raw string).
  std::optional<std::vector<size_t>> UsesOf(const std::string& name, size_t begin,
                                            size_t end) const;
  // Returns the first byte from `at` on, and the last one before it, that is no space.
  size_t Next(size_t at) const;
  size_t Before(size_t at) const;
  // Returns where the word at `at` ends.
  size_t WordEnd(size_t at) const;
  // Returns the ')' of a '(', or the '}' of a '{'; npos if it has none.
  size_t Closing(size_t open) const;
  size_t ClosingBrace(size_t open) const;

 private:
  const std::string masked_;
  std::set<std::string> words_;
  std::set<std::string> unseen_;  // of directives
  bool raw_strings_ = false;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_AUTHORING_CODE_TEXT_H_
