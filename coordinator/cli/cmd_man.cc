#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/nearest.h"
#include "common/version.h"
#include "coordinator/cli/commands.h"
#include "coordinator/terminal/console.h"
#include "coordinator/usage/command_table.h"
#include "coordinator/usage/man_page.h"

namespace whetstone {
namespace {

int PrintManPage(const CLI::App& root, const std::vector<std::string>& words) {
  const CLI::App* command = &root;
  for (const std::string& word : words) {
    const CLI::App* const next = FindCommand(*command, word);
    if (next == nullptr) {
      std::vector<std::string> known;
      for (const CLI::App* each : CommandsOf(*command)) known.push_back(each->get_name());
      return Console(/*json=*/false)
          .Fail(absl::InvalidArgumentError(absl::StrCat(CommandName(*command), " has no command '",
                                                        word, "'", DidYouMean(word, known))));
    }
    command = next;
  }
  std::fputs(ManPage(*command, kVersionText).c_str(), stdout);
  return kExitOk;
}

}  // namespace

void AddMan(CLI::App* app, SelectedCommand* selected) {
  const auto words = std::make_shared<std::vector<std::string>>();
  CLI::App* command = app->add_subcommand(
      "man",
      "Print the manual page of a command\n\nOf the same text as --help, in roff:\n\n"
      "  whet man run | man -l -");
  command->add_option("COMMAND", *words, "Such as run, or problem check (default: whet itself)");
  command->callback([=] { selected->run = [=] { return PrintManPage(*app, *words); }; });
}

}  // namespace whetstone
