#include "gpu_trainer/tokenizer/pre_tokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace whetstone {
namespace {

using nlohmann::json;

// The pattern is GPT-2's own, which ByteLevel applies unless told not to.
constexpr char kGpt2Pattern[] =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// \s means Unicode's White_Space to the Oniguruma library, which these patterns were written for.
// PCRE2's own \s differs by U+180E.
constexpr char kSpaces[] =
    R"(\t-\r \x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";

absl::Status Unsupported(absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("pre_tokenizer: ", what,
                   " is not supported; supported: ByteLevel, Digits, Split"
                   " (Isolated, not inverted) and Sequence of these"));
}

// Spells \s and \S out.
absl::StatusOr<std::string> SpellSpaces(absl::string_view pattern) {
  std::string out;
  bool in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\' && i + 1 < pattern.size()) {
      const char next = pattern[++i];
      if (next == 's') {
        absl::StrAppend(&out, in_class ? "" : "[", kSpaces, in_class ? "" : "]");
      } else if (next == 'S') {
        if (in_class) return Unsupported("\\S inside a character class");
        absl::StrAppend(&out, "[^", kSpaces, "]");
      } else {
        out.push_back(c);
        out.push_back(next);
      }
      continue;
    }
    if (c == '[') in_class = true;
    if (c == ']') in_class = false;
    out.push_back(c);
  }
  return out;
}

// Every match is a piece and so is every stretch between matches.
class SplitByPattern : public PreTokenizer {
 public:
  static absl::StatusOr<std::unique_ptr<SplitByPattern>> Make(absl::string_view pattern) {
    ASSIGN_OR_RETURN(const std::string spelled, SpellSpaces(pattern));
    int error;
    PCRE2_SIZE at;
    auto split = std::make_unique<SplitByPattern>();
    split->code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(spelled.data()), spelled.size(),
                                     PCRE2_UTF | PCRE2_UCP, &error, &at, nullptr));
    if (split->code_ == nullptr) {
      PCRE2_UCHAR message[256];
      pcre2_get_error_message(error, message, sizeof message);
      return absl::InvalidArgumentError(absl::StrCat("pre_tokenizer: the pattern ", pattern,
                                                     " is not valid at ", at, ": ",
                                                     reinterpret_cast<const char*>(message)));
    }
    pcre2_jit_compile(split->code_.get(), PCRE2_JIT_COMPLETE);  // It is slower without, but right.
    return split;
  }

  void Cut(std::vector<std::string>* pieces) const override {
    std::vector<std::string> cut;
    const std::unique_ptr<pcre2_match_data, void (*)(pcre2_match_data*)> match(
        pcre2_match_data_create_from_pattern(code_.get(), nullptr), pcre2_match_data_free);
    for (const std::string& piece : *pieces) CutOne(piece, match.get(), &cut);
    *pieces = std::move(cut);
  }

 private:
  void CutOne(const std::string& piece, pcre2_match_data* match,
              std::vector<std::string>* out) const {
    size_t done = 0;  // Everything before is in `out`.
    size_t from = 0;
    while (from < piece.size()) {
      const auto text = reinterpret_cast<PCRE2_SPTR>(piece.data());
      int found =
          pcre2_match(code_.get(), text, piece.size(), from, PCRE2_NO_UTF_CHECK, match, nullptr);
      // A very long piece may exhaust the compiled matcher's stack; the interpreter has none.
      if (found < 0 && found != PCRE2_ERROR_NOMATCH) {
        found = pcre2_match(code_.get(), text, piece.size(), from,
                            PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, match, nullptr);
      }
      if (found < 0) break;
      const PCRE2_SIZE* range = pcre2_get_ovector_pointer(match);
      if (range[1] == range[0]) {  // An empty match cuts nothing.
        from = range[1] + 1;
        while (from < piece.size() && (piece[from] & 0xC0) == 0x80) ++from;
        continue;
      }
      if (range[0] > done) out->push_back(piece.substr(done, range[0] - done));
      out->push_back(piece.substr(range[0], range[1] - range[0]));
      done = from = range[1];
    }
    if (done < piece.size()) out->push_back(piece.substr(done));
  }

  struct FreeCode {
    void operator()(pcre2_code* code) const { pcre2_code_free(code); }
  };
  std::unique_ptr<pcre2_code, FreeCode> code_;
};

class PrefixSpace : public PreTokenizer {
 public:
  void Cut(std::vector<std::string>* pieces) const override {
    for (std::string& piece : *pieces) {
      if (piece[0] != ' ') piece.insert(piece.begin(), ' ');
    }
  }
};

class Sequence : public PreTokenizer {
 public:
  void Add(std::unique_ptr<PreTokenizer> part) { parts_.push_back(std::move(part)); }
  void Cut(std::vector<std::string>* pieces) const override {
    for (const auto& part : parts_) part->Cut(pieces);
  }

 private:
  std::vector<std::unique_ptr<PreTokenizer>> parts_;
};

std::string QuoteForPattern(absl::string_view text) { return absl::StrCat("\\Q", text, "\\E"); }

absl::Status AddParts(const json& value, Sequence* sequence) {
  if (!value.is_object() || !value.contains("type") || !value["type"].is_string()) {
    return Unsupported(value.dump());
  }
  const std::string type = value["type"].get<std::string>();
  auto add_pattern = [&](absl::string_view pattern) -> absl::Status {
    ASSIGN_OR_RETURN(auto split, SplitByPattern::Make(pattern));
    sequence->Add(std::move(split));
    return absl::OkStatus();
  };
  if (type == "Sequence") {
    for (const json& part : value.value("pretokenizers", json::array())) {
      RETURN_IF_ERROR(AddParts(part, sequence));
    }
    return absl::OkStatus();
  }
  if (type == "ByteLevel") {
    if (value.value("add_prefix_space", true)) sequence->Add(std::make_unique<PrefixSpace>());
    if (value.value("use_regex", true)) return add_pattern(kGpt2Pattern);
    return absl::OkStatus();
  }
  if (type == "Digits") {
    return add_pattern(value.value("individual_digits", false) ? R"(\p{N})" : R"(\p{N}+)");
  }
  if (type == "Split") {
    if (value.value("behavior", "") != "Isolated" || value.value("invert", false) ||
        !value.contains("pattern")) {
      return Unsupported(value.dump());
    }
    const json& pattern = value["pattern"];
    if (pattern.contains("Regex")) return add_pattern(pattern["Regex"].get<std::string>());
    if (pattern.contains("String")) {
      return add_pattern(QuoteForPattern(pattern["String"].get<std::string>()));
    }
    return Unsupported(value.dump());
  }
  return Unsupported(type);
}

}  // namespace

absl::StatusOr<std::unique_ptr<PreTokenizer>> MakePreTokenizer(const json& value) {
  auto sequence = std::make_unique<Sequence>();
  try {
    if (!value.is_null()) RETURN_IF_ERROR(AddParts(value, sequence.get()));
    // A value may be of another type than its key promises.
  } catch (const json::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat("pre_tokenizer: ", error.what()));
  }
  return sequence;
}

}  // namespace whetstone
