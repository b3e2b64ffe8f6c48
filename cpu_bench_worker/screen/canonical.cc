#include "cpu_bench_worker/screen/canonical.h"

#include <map>
#include <utility>

#include "clang/Basic/LangOptions.h"
#include "clang/Basic/SourceLocation.h"
#include "clang/Lex/Lexer.h"

namespace whetstone {
namespace {

clang::LangOptions RawOptions() {
  clang::LangOptions options;
  options.CPlusPlus = true;
  options.CPlusPlus11 = true;
  options.CPlusPlus14 = true;
  options.CPlusPlus17 = true;
  options.CPlusPlus20 = true;
  return options;
}

// Calls `see(kind, text, at_line_start)` for every token but the end.
template <typename See>
void ForTokens(const std::string& source, See&& see) {
  static const clang::LangOptions options = RawOptions();
  clang::Lexer lexer(clang::SourceLocation(), options, source.data(), source.data(),
                     source.data() + source.size());
  clang::Token token;
  while (!lexer.LexFromRawLexer(token) || token.isNot(clang::tok::eof)) {
    if (token.is(clang::tok::eof)) break;
    // In raw mode a token's text ends where the lexer stands.
    const char* end = lexer.getBufferLocation();
    see(token.getKind(), std::string(end - token.getLength(), end), token.isAtStartOfLine());
  }
}

}  // namespace

std::string CanonicalText(const std::string& source, const std::set<std::string>& declared) {
  std::map<std::string, std::string> names;
  std::string text;
  bool after_hash = false;
  bool skipping = false;  // The lexer is in the rest of an #include line.
  ForTokens(source, [&](clang::tok::TokenKind kind, const std::string& spelling, bool line_start) {
    if (line_start) skipping = false;
    if (skipping) return;
    if (after_hash && (spelling == "include")) {
      skipping = true;
      after_hash = false;
      text.resize(text.size() - 2);  // This removes the "# ".
      return;
    }
    after_hash = line_start && kind == clang::tok::hash;
    if (kind == clang::tok::raw_identifier && declared.count(spelling) > 0) {
      const auto [it, added] = names.emplace(spelling, "");
      if (added) it->second = "v" + std::to_string(names.size() - 1);
      text += it->second;
    } else {
      text += spelling;
    }
    text += ' ';
  });
  return text;
}

std::vector<std::string> MacrosOf(const std::string& source) {
  std::vector<std::string> names;
  bool after_hash = false;
  bool after_define = false;
  ForTokens(source, [&](clang::tok::TokenKind kind, const std::string& spelling, bool line_start) {
    if (std::exchange(after_define, after_hash && spelling == "define")) names.push_back(spelling);
    after_hash = line_start && kind == clang::tok::hash;
  });
  return names;
}

std::vector<std::string> IdentifiersOf(const std::string& text) {
  std::vector<std::string> identifiers;
  ForTokens(text, [&](clang::tok::TokenKind kind, const std::string& spelling, bool) {
    if (kind == clang::tok::raw_identifier) identifiers.push_back(spelling);
  });
  return identifiers;
}

std::string CompilerProbe(const std::string& source, bool allow_asm) {
  std::string found;
  bool after_hash = false;
  ForTokens(source, [&](clang::tok::TokenKind kind, const std::string& spelling, bool line_start) {
    if (!found.empty()) return;
    const bool directive = std::exchange(after_hash, line_start && kind == clang::tok::hash);
    // A line marker moves what follows into another file, where nothing is looked at; and g++ 12
    // ignores what clang obeys.
    if (directive && (kind == clang::tok::numeric_constant || spelling == "line" ||
                      spelling == "elifdef" || spelling == "elifndef"))
      found = "#" + spelling;
    if (kind != clang::tok::raw_identifier || !found.empty()) return;
    static const std::set<std::string> kProbes = {"__GNUC__",
                                                  "__GNUC_MINOR__",
                                                  "__GNUC_PATCHLEVEL__",
                                                  "__VERSION__",
                                                  "__llvm__",
                                                  "__has_feature",
                                                  "__has_extension",
                                                  "__has_builtin",
                                                  "__has_attribute",
                                                  "__has_warning",
                                                  "__has_cpp_attribute",
                                                  "__is_identifier",
                                                  "__has_declspec_attribute",
                                                  "__has_include",
                                                  "__has_include_next"};
    const bool assembly = spelling == "asm" || spelling == "__asm" || spelling == "__asm__";
    if (kProbes.count(spelling) > 0 || spelling.rfind("__clang", 0) == 0 ||
        (assembly && !allow_asm))
      found = spelling;
  });
  return found;
}

}  // namespace whetstone
