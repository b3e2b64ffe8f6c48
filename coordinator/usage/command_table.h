// The commands of `whet` with their options, as CLI11 has them for --help: what completions, man
// pages and messages about wrong words are made of, so that nothing is written twice. Everything
// returned is borrowed from the root command.
#ifndef WHETSTONE_COORDINATOR_USAGE_COMMAND_TABLE_H_
#define WHETSTONE_COORDINATOR_USAGE_COMMAND_TABLE_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace whetstone {

// Returns the commands right below this one.
std::vector<const CLI::App*> CommandsOf(const CLI::App& app);

// Returns the one of this name, or null.
const CLI::App* FindCommand(const CLI::App& app, const std::string& name);

// Returns the words that a command takes besides its options, and its options, --help among them.
std::vector<const CLI::Option*> PositionalsOf(const CLI::App& app);
std::vector<const CLI::Option*> OptionsOf(const CLI::App& app);

// Returns "whet problem check" for that command.
std::string CommandName(const CLI::App& app);

bool TakesValue(const CLI::Option& option);

// Returns the word that the help has for a value: "RUN", "KEY=VALUE", "INT".
std::string ValueName(const CLI::Option& option);

// A validator for OneOf's words, which tells who misspells one the nearest.
CLI::Validator OneOf(const std::vector<std::string>& words);

// Returns the words that OneOf allows this option; empty: any.
std::vector<std::string> WordsOf(const CLI::Option& option);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_USAGE_COMMAND_TABLE_H_
