#include "coordinator/usage/command_table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/nearest.h"

namespace whetstone {

std::vector<const CLI::App*> CommandsOf(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

const CLI::App* FindCommand(const CLI::App& app, const std::string& name) {
  for (const CLI::App* command : CommandsOf(app)) {
    if (command->get_name() == name) return command;
  }
  return nullptr;
}

std::vector<const CLI::Option*> PositionalsOf(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) { return option->get_positional(); });
}

std::vector<const CLI::Option*> OptionsOf(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) { return option->nonpositional(); });
}

std::string CommandName(const CLI::App& app) {
  return app.get_parent() == nullptr
             ? app.get_name()
             : absl::StrCat(CommandName(*app.get_parent()), " ", app.get_name());
}

bool TakesValue(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

std::string ValueName(const CLI::Option& option) {
  if (option.get_positional()) return option.get_name(/*positional=*/true);
  // What validators say stands behind a colon.
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(':'));
}

CLI::Validator OneOf(const std::vector<std::string>& words) {
  const auto check = [words](const std::string& text) -> std::string {
    if (std::find(words.begin(), words.end(), text) != words.end()) return "";
    return absl::StrCat("'", text, "' must be one of ", absl::StrJoin(words, ", "),
                        "; did you mean '", Nearest(text, words), "'?");
  };
  return CLI::Validator(check, absl::StrCat("{", absl::StrJoin(words, ","), "}"));
}

std::vector<std::string> WordsOf(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t begin = type.find('{');
  const size_t end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos) return {};
  return absl::StrSplit(type.substr(begin + 1, end - begin - 1), ',');
}

}  // namespace whetstone
