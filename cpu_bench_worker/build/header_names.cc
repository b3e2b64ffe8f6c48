#include "cpu_bench_worker/build/header_names.h"

#include <algorithm>
#include <map>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"

namespace whetstone {
namespace {

// A program that says one of these words uses headers whatever they declare: the namespace that the
// language takes its own types from, and directives and operators that name a file, in which `//`
// and `"` are no comment and no literal.
constexpr const char* kAlwaysUse[] = {
    "std",   "typeid",     "include",       "include_next",       "import",     "module",
    "embed", "dependency", "__has_include", "__has_include_next", "__has_embed"};

// These do the same and are no words. Pasted tokens make words that aren't in the text.
constexpr const char* kAlwaysUseMarks[] = {"<=>", "##", "%:"};

bool IsKeyword(absl::string_view word) {
  static const auto* keywords = new std::set<absl::string_view>{
      // clang-format off
      "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break",
      "case", "catch", "char", "char16_t", "char32_t", "char8_t", "class", "co_await", "co_return",
      "co_yield", "compl", "concept", "const", "const_cast", "consteval", "constexpr", "constinit",
      "continue", "decltype", "default", "delete", "do", "double", "dynamic_cast", "else", "enum",
      "explicit", "export", "extern", "false", "final", "float", "for", "friend", "goto", "if",
      "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq",
      "nullptr", "operator", "or", "or_eq", "override", "private", "protected", "public",
      "register", "reinterpret_cast", "requires", "return", "short", "signed", "sizeof", "static",
      "static_assert", "static_cast", "struct", "switch", "template", "this", "thread_local",
      "throw", "true", "try", "typedef", "typeid", "typename", "union", "unsigned", "using",
      "virtual", "void", "volatile", "wchar_t", "while", "xor", "xor_eq",
      // These are GNU spellings.
      "__alignof", "__alignof__", "__asm", "__asm__", "__attribute", "__attribute__", "__const",
      "__const__", "__extension__", "__inline", "__inline__", "__int128", "__restrict",
      "__restrict__", "__signed", "__signed__", "__typeof", "__typeof__", "__volatile",
      "__volatile__"
      // clang-format on
  };
  return keywords->count(word) > 0;
}

bool IsWordStart(char c) { return absl::ascii_isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }
bool IsWordPart(char c) { return IsWordStart(c) || IsDigit(c); }

bool IsWord(absl::string_view token) { return !token.empty() && IsWordStart(token[0]); }
bool IsLiteral(absl::string_view token) { return !token.empty() && token[0] == '"'; }

constexpr char kBuiltin[] = "__builtin_";
// Reserved words may be macros of the bare header or the compiler, which paste other words together
// or stand for `std`. There is no need to know which: programs seldom say one.
bool IsReserved(absl::string_view token) {
  return token.size() > 1 && token[0] == '_' &&
         (token[1] == '_' || absl::ascii_isupper(static_cast<unsigned char>(token[1]))) &&
         !IsKeyword(token) && !absl::StartsWith(token, kBuiltin);
}

// Returns whether `token` may name something of a header: it is a word, but no keyword and nothing
// that the compiler has built in.
bool IsName(absl::string_view token) {
  return IsWord(token) && !IsKeyword(token) && !absl::StartsWith(token, kBuiltin);
}

// Lexer reads words, numbers, literals and single marks of C++ text without spliced lines.
class Lexer {
 public:
  explicit Lexer(absl::string_view text) : rest_(text) {}

  // Returns "" at the end, and from where the text is not clear.
  absl::string_view Next() {
    SkipBlanks();
    if (rest_.empty()) return "";
    const char c = rest_[0];
    if (IsWordStart(c)) {
      const absl::string_view word = Take(WordSize());
      // This is a raw string.
      if (absl::EndsWith(word, "R") && absl::StartsWith(rest_, "\"")) GiveUp();
      return word;
    }
    if (IsDigit(c) || (c == '.' && rest_.size() > 1 && IsDigit(rest_[1])))
      return Take(NumberSize());
    if (c == '"' || c == '\'') return Take(LiteralSize());
    // This is an escaped letter of a word, or one that some compilers count to a word or number.
    if (c == '\\' || c == '$' || static_cast<unsigned char>(c) >= 0x80) GiveUp();
    return Take(1);
  }

  absl::string_view RestOfLine() { return Take(std::min(rest_.find('\n'), rest_.size())); }

  // Returns whether another lexer may see other words.
  bool unclear() const { return unclear_; }

 private:
  absl::string_view Take(size_t size) {
    const absl::string_view token = rest_.substr(0, size);
    rest_.remove_prefix(token.size());
    return token;
  }
  void GiveUp() {
    unclear_ = true;
    rest_ = "";
  }

  void SkipBlanks() {
    for (;;) {
      rest_ = absl::StripLeadingAsciiWhitespace(rest_);
      if (absl::StartsWith(rest_, "//")) {
        RestOfLine();
      } else if (absl::StartsWith(rest_, "/*")) {
        const size_t end = rest_.find("*/", 2);
        if (end == absl::string_view::npos) return GiveUp();
        Take(end + 2);
      } else {
        return;
      }
    }
  }

  size_t WordSize() const {
    size_t size = 1;
    while (size < rest_.size() && IsWordPart(rest_[size])) ++size;
    return size;
  }

  // NumberSize takes all of 1'000'000, 0x1.8p-3f and 1e+5.
  size_t NumberSize() {
    size_t size = 1;
    bool signs = false;
    for (; size < rest_.size(); ++size) {
      const char c = rest_[size];
      const bool separator = c == '\'' && size + 1 < rest_.size() && IsWordPart(rest_[size + 1]);
      const bool sign =
          (c == '+' || c == '-') && absl::StrContains("eEpP", rest_.substr(size - 1, 1));
      signs = signs || sign;
      if (c == '\'' && signs) {  // Compilers differ on 1p+'a'.
        GiveUp();
        return 0;
      }
      if (!IsWordPart(c) && c != '.' && !separator && !sign) break;
    }
    return size;
  }

  // A literal ends on its line, or it is a lone apostrophe in text that no compiler reads.
  size_t LiteralSize() {
    for (size_t i = 1; i < rest_.size() && rest_[i] != '\n'; ++i) {
      if (rest_[i] == rest_[0]) return i + 1;
      if (rest_[i] == '\\') ++i;
    }
    GiveUp();
    return 0;
  }

  absl::string_view rest_;
  bool unclear_ = false;
};

// Offer is what a preprocessed text offers to a program that is compiled behind it.
struct Offer {
  // These are the words from global scope.
  std::set<std::string, std::less<>> declared;
  // These have been defined or undefined.
  std::set<std::string, std::less<>> macros;
  // These can be said again and mean more than before, and were said so often: namespaces, and the
  // words behind global `operator`.
  std::map<std::string, int, std::less<>> said;
  bool unknown = false;  // The text offers more than names say.
};

// The line is "define X(a) a" of "#define X(a) a".
void ReadDirective(absl::string_view line, Offer* offer) {
  Lexer lexer(line);
  const absl::string_view directive = lexer.Next();
  if (directive == "define" || directive == "undef") offer->macros.emplace(lexer.Next());
}

// Returns whether a brace behind `statement`, the tokens since the statement before, opens no scope
// of its own: what it holds can be named from outside.
bool IsTransparent(const std::vector<absl::string_view>& statement) {
  const size_t size = statement.size();
  if (size >= 2 && statement[size - 2] == "extern" && IsLiteral(statement[size - 1])) return true;
  if (size >= 1 && statement[size - 1] == "union") return true;
  for (size_t i = 0; i < size; ++i) {
    if (statement[i] == "enum") return true;
    if (statement[i] != "namespace") continue;
    const bool is_inline = i > 0;
    const bool is_named = i + 1 < size && IsName(statement[i + 1]);
    return is_inline || !is_named;
  }
  return false;
}

// Returns whether a name in parentheses behind `before` is a parameter's. (Types have been named
// before, but those behind `struct` and its like; a function's own name may stand behind `(` or
// `*`.)
bool NamesParameter(absl::string_view before) {
  static const auto* types = new std::set<absl::string_view>{
      "bool", "char", "double", "float", "int", "long", "short", "signed", "unsigned"};
  return IsName(before) || types->count(before) > 0;
}

// Reads one token of global scope, behind the others of its statement.
void ReadToken(absl::string_view token, const std::vector<absl::string_view>& statement,
               bool in_parentheses, Offer* offer) {
  const absl::string_view before = statement.empty() ? "" : statement.back();
  if (before == "using" && (token == "namespace" || token == "enum")) offer->unknown = true;
  if (before == "operator") {
    if (!IsWord(token)) offer->unknown = true;
    ++offer->said[std::string(token)];
  } else if (before == "namespace" && IsName(token)) {
    ++offer->said[std::string(token)];
  } else if (IsName(token) && !(in_parentheses && NamesParameter(before))) {
    offer->declared.emplace(token);
  }
}

Offer ReadOffer(absl::string_view text) {
  Offer offer;
  Lexer lexer(text);
  std::vector<absl::string_view> statement;
  int opaque_braces = 0;
  int parentheses = 0;  // These are open in the statement.
  for (absl::string_view token = lexer.Next(); !token.empty(); token = lexer.Next()) {
    if (token == "#") {
      ReadDirective(lexer.RestOfLine(), &offer);
    } else if (opaque_braces > 0) {
      opaque_braces += token == "{" ? 1 : token == "}" ? -1 : 0;
    } else if (token == "{" || token == "}" || token == ";") {
      if (token == "{" && !IsTransparent(statement)) opaque_braces = 1;
      statement.clear();
      parentheses = 0;
    } else {
      parentheses += token == "(" ? 1 : token == ")" ? -1 : 0;
      ReadToken(token, statement, parentheses > 0, &offer);
      statement.push_back(token);
    }
  }
  offer.unknown = offer.unknown || lexer.unclear() || opaque_braces > 0;
  return offer;
}

// Joins lines that end in a backslash (and blanks) with the next one, as compilers do inside a word
// or a comment too.
std::string WithoutSplices(absl::string_view text) {
  std::string joined;
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t end = text[i] == '\\' ? text.find_first_not_of(" \t", i + 1) : i;
    if (text[i] == '\\' && end != absl::string_view::npos && text[end] == '\n')
      i = end;
    else
      joined.push_back(text[i]);
  }
  return joined;
}

}  // namespace

HeaderNames::HeaderNames(absl::string_view bare, absl::string_view allowed) {
  const Offer less = ReadOffer(bare);
  const Offer more = ReadOffer(allowed);
  used_by_all_ = less.unknown || more.unknown;
  names_.insert(std::begin(kAlwaysUse), std::end(kAlwaysUse));
  // The bare header's macros count too: what they stand for may be a name that only the others
  // bring.
  names_.insert(more.macros.begin(), more.macros.end());
  for (const std::string& name : more.declared)
    if (less.declared.count(name) == 0) names_.insert(name);
  for (const auto& [name, times] : more.said) {
    const auto known = less.said.find(name);
    if (known == less.said.end() || known->second < times) names_.insert(name);
  }
}

bool HeaderNames::UsedBy(absl::string_view program) const {
  if (used_by_all_) return true;
  const std::string text = WithoutSplices(program);
  // Which control characters end a line or are blank is for each compiler to say.
  if (std::any_of(text.begin(), text.end(), [](char c) {
        return absl::ascii_iscntrl(static_cast<unsigned char>(c)) && c != '\n' && c != '\t';
      }))
    return true;
  for (const char* mark : kAlwaysUseMarks)
    if (absl::StrContains(text, mark)) return true;
  Lexer lexer(text);
  for (absl::string_view token = lexer.Next(); !token.empty(); token = lexer.Next()) {
    if (names_.count(token) > 0 || IsReserved(token)) return true;
    // A header may say more about a function than the compiler knows: that it has vector variants.
    if (absl::ConsumePrefix(&token, kBuiltin) && names_.count(token) > 0) return true;
  }
  return lexer.unclear();
}

}  // namespace whetstone
