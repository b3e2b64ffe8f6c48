#include "coordinator/usage/completion.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "coordinator/journal/run_dir.h"
#include "coordinator/report/log_follower.h"
#include "coordinator/report/run_list.h"
#include "coordinator/usage/command_table.h"
#include "coordinator/yaml/yaml_schema.h"
#include "whetstone/v1/campaign.pb.h"

namespace whetstone {
namespace {

constexpr size_t kAboutMax = 72;  // bytes

// Values that are files, by the words that the help has for them.
constexpr const char* kFileNames[] = {"FILE", "CAMPAIGN", "PROBLEM", "PATH", "CANDIDATE", "MODEL"};

// Returns the beginning of a text that fits into a menu.
std::string About(absl::string_view text) {
  text = text.substr(0, text.find('\n'));
  text = text.substr(0, text.find(". "));
  if (text.size() <= kAboutMax) return std::string(text);
  const size_t end = text.rfind(' ', kAboutMax);
  return absl::StrCat(text.substr(0, end == absl::string_view::npos ? 0 : end), " …");
}

// Of another the shell's line would not be what it seems.
bool IsPlainText(const std::string& word) {
  return std::none_of(word.begin(), word.end(),
                      [](unsigned char c) { return c < 0x20 || c == 0x7F; });
}

std::vector<std::string> FoldersIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code unknown;
    if (it->is_directory(unknown)) names.push_back(it->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// An UnfinishedLine reads the words that are finished, and then says what the last may become.
class UnfinishedLine {
 public:
  explicit UnfinishedLine(const CLI::App& root) : app_(&root) {}

  void Take(const std::string& word) {
    if (waiting_ != nullptr) {
      waiting_ = nullptr;
    } else if (word == "--") {
      no_more_options_ = true;
    } else if (IsOption(word)) {
      const CLI::Option* option = FindOption(word);
      if (option != nullptr && TakesValue(*option)) waiting_ = option;
    } else if (const CLI::App* command = FindCommand(*app_, word)) {
      app_ = command;
      positionals_ = 0;
    } else {
      const CLI::Option* positional = NextPositional();
      if (positional != nullptr && ValueName(*positional) == "RUN") run_ = word;
      ++positionals_;
    }
  }

  CompletionAnswer At(const std::string& typed) {
    if (waiting_ != nullptr) {
      OfferValues(*waiting_, "", typed);
    } else if (IsOption(typed)) {
      const size_t equals = typed.find('=');
      const CLI::Option* option = FindOption(typed.substr(0, equals));
      if (equals == std::string::npos) {
        OfferOptions(typed);
      } else if (option != nullptr) {
        OfferValues(*option, typed.substr(0, equals + 1), typed.substr(equals + 1));
      }
    } else {
      for (const CLI::App* command : CommandsOf(*app_)) {
        Offer("", command->get_name(), typed, About(command->get_description()));
      }
      const CLI::Option* positional = NextPositional();
      if (positional != nullptr) OfferValues(*positional, "", typed);
      const bool nothing_else = positional == nullptr && CommandsOf(*app_).empty();
      if (nothing_else && !no_more_options_) OfferOptions(typed);
    }
    return std::move(answer_);
  }

 private:
  bool IsOption(const std::string& word) const {
    return !no_more_options_ && absl::StartsWith(word, "-");
  }

  // Of the command, or of one above it that takes its options too.
  const CLI::Option* FindOption(const std::string& name) const {
    for (const CLI::App* app = app_; app != nullptr; app = Above(app)) {
      if (const CLI::Option* option = app->get_option_no_throw(name)) return option;
    }
    return nullptr;
  }
  static const CLI::App* Above(const CLI::App* app) {
    return app->get_fallthrough() ? app->get_parent() : nullptr;
  }

  const CLI::Option* NextPositional() const {
    const std::vector<const CLI::Option*> all = PositionalsOf(*app_);
    if (positionals_ < all.size()) return all[positionals_];
    return !all.empty() && all.back()->get_items_expected_max() > 1 ? all.back() : nullptr;
  }

  // Offers a word that begins with what is typed; `before` is what stands before both.
  void Offer(const std::string& before, const std::string& word, const std::string& typed,
             const std::string& about = "") {
    if (!absl::StartsWith(word, typed) || !IsPlainText(word)) return;
    const std::string whole = before + word;
    // A command and one above it both have --help.
    const bool known = std::any_of(answer_.words.begin(), answer_.words.end(),
                                   [&](const CompletionWord& each) { return each.word == whole; });
    if (!known) answer_.words.push_back({whole, about});
  }

  void OfferOptions(const std::string& typed) {
    for (const CLI::App* app = app_; app != nullptr; app = Above(app)) {
      for (const CLI::Option* option : OptionsOf(*app)) {
        const std::string about = About(option->get_description());
        for (const std::string& name : option->get_lnames()) Offer("", "--" + name, typed, about);
        if (!option->get_lnames().empty()) continue;
        for (const std::string& name : option->get_snames()) Offer("", "-" + name, typed, about);
      }
    }
  }

  void OfferValues(const CLI::Option& option, const std::string& before, const std::string& typed) {
    const std::string name = ValueName(option);
    absl::string_view section = name;
    if (absl::ConsumeSuffix(&section, "KEY=VALUE")) {
      OfferKeys(std::string(section), before, typed);
    } else if (name == "RUN") {
      OfferRuns(before, typed);
    } else if (name == "PROBLEM" && !run_.empty()) {
      for (const std::string& id : FoldersIn(RunPaths(run_).best(""))) Offer(before, id, typed);
    } else if (name == "SERVICE" && !run_.empty()) {
      for (const std::string& log : LogsIn(RunPaths(run_).logs())) Offer(before, log, typed);
    } else if (name == "FOLDER") {
      answer_.paths = CompletionAnswer::Paths::kFolders;
    } else if (std::find(std::begin(kFileNames), std::end(kFileNames), name) !=
               std::end(kFileNames)) {
      answer_.paths = CompletionAnswer::Paths::kFiles;
    } else {
      for (const std::string& word : WordsOf(option)) Offer(before, word, typed);
    }
  }

  // Keys of a campaign in this section ("reward."; "": all), then their words.
  void OfferKeys(const std::string& section, const std::string& before, const std::string& typed) {
    const size_t equals = typed.find('=');
    for (const SchemaKey& key : SchemaKeys(*v1::Campaign::descriptor())) {
      if (!absl::StartsWith(key.key, section)) continue;
      if (equals == std::string::npos) {
        Offer(before, absl::StrCat(key.key, "="), typed, About(key.comment));
      } else if (typed.substr(0, equals) == key.key) {
        for (const std::string& word : key.words) {
          Offer(before, absl::StrCat(key.key, "=", word), typed);
        }
        if (key.words.empty()) answer_.paths = CompletionAnswer::Paths::kFiles;
      }
    }
  }

  void OfferRuns(const std::string& before, const std::string& typed) {
    const size_t slash = typed.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : typed.substr(0, slash + 1);
    const absl::StatusOr<std::vector<std::string>> runs = FindRuns(folder);
    if (runs.ok()) {
      for (const std::string& run : *runs) {
        Offer(before, std::string(absl::StripPrefix(run, folder == "." ? "./" : "")), typed);
      }
    }
    // On the way to one.
    if (answer_.words.empty()) answer_.paths = CompletionAnswer::Paths::kFolders;
  }

  const CLI::App* app_;
  size_t positionals_ = 0;                // that it was given
  const CLI::Option* waiting_ = nullptr;  // for its value
  bool no_more_options_ = false;
  std::string run_;  // the RUN that was named
  CompletionAnswer answer_;
};

}  // namespace

CompletionAnswer Complete(const CLI::App& root, std::vector<std::string> words) {
  if (words.empty()) words.emplace_back();
  const std::string typed = std::move(words.back());
  words.pop_back();
  UnfinishedLine line(root);
  for (const std::string& word : words) line.Take(word);
  return line.At(typed);
}

std::string CompletionText(const CompletionAnswer& answer) {
  std::string text;
  for (const CompletionWord& each : answer.words) {
    absl::StrAppend(&text, each.word, each.about.empty() ? "" : "\t", each.about, "\n");
  }
  switch (answer.paths) {
    case CompletionAnswer::Paths::kNone:
      break;
    case CompletionAnswer::Paths::kFiles:
      text += ":files\n";
      break;
    case CompletionAnswer::Paths::kFolders:
      text += ":folders\n";
      break;
  }
  return text;
}

}  // namespace whetstone
