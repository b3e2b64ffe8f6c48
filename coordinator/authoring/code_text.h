// The text of a C++ source, in which an import looks for names without parsing it.
#ifndef WHETSTONE_COORDINATOR_AUTHORING_CODE_TEXT_H_
#define WHETSTONE_COORDINATOR_AUTHORING_CODE_TEXT_H_

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "coordinator/prompt/cpp_source.h"

namespace whetstone {

// Text in the place of bytes [begin, end).
struct TextEdit {
  size_t begin = 0;
  size_t end = 0;
  std::string text;
};

// Returns `code` with all edits; of those of one place the first is first. Nothing: two are of the
// same text.
std::optional<std::string> Edited(const std::string& code, std::vector<TextEdit> edits);

// Returns the first place from `from` on where `word` stands by itself; npos: there is none.
size_t FindWord(const std::string& masked, const std::string& word, size_t from);

class CodeText {
 public:
  explicit CodeText(const std::string& code);

  // As MaskedCpp gives it.
  const std::string& masked() const { return masked_; }
  // Returns `name`, with underscores behind it if the code has that name, or it was returned.
  std::string Fresh(std::string name);
  // Returns where the bytes [begin, end) name a variable; nothing where it may be declared there
  // once more, or is named where it cannot be told (a directive, a raw string).
  std::optional<std::vector<size_t>> UsesOf(const std::string& name, size_t begin,
                                            size_t end) const;
  // Says whether the address is taken of what stands at `at`.
  bool IsAddressTaken(size_t at) const;
  // Returns where a lambda that copies what it names, [=], stands in [begin, end); npos if none
  // does.
  size_t CopyingLambda(size_t begin, size_t end) const;
  // Returns the places of the word `return` in [begin, end), a function's body, but for those of
  // lambdas.
  std::vector<size_t> OwnReturns(size_t begin, size_t end) const;
  // Returns the place of the first byte from `at` on, and of the last one before it, that is no
  // space.
  size_t Next(size_t at) const;
  size_t Before(size_t at) const;
  // Returns where the word at `at` ends.
  size_t WordEnd(size_t at) const;
  // Returns the ')' of a '(', the ']' of a '[', or the '}' of a '{'; npos if it has none.
  size_t Closing(size_t open) const;
  size_t ClosingBracket(size_t open) const;
  size_t ClosingBrace(size_t open) const;

 private:
  // Says whether what is named at `at` may be a declaration's.
  bool MayDeclare(size_t at) const;
  // Says whether `at` is in the body of a lambda that begins behind `begin`.
  bool IsInLambda(size_t at, size_t begin) const;
  // Returns the word that ends at `last`; empty if none does.
  std::string WordBefore(size_t last) const;

  const std::string masked_;
  std::set<std::string> words_;
  std::set<std::string> unseen_;  // of directives
  bool raw_strings_ = false;
};

// Where a function's result, name and parameters stand.
struct FunctionHead {
  std::string result;  // its type, without [[nodiscard]]
  size_t name = 0;
  size_t open = 0;  // the parameters' brackets
  size_t close = 0;
};

// Nothing: there are no parameters before the function's body.
std::optional<FunctionHead> HeadOf(const CodeText& text, const CppFunction& function);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_AUTHORING_CODE_TEXT_H_
