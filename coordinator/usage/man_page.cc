#include "coordinator/usage/man_page.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "coordinator/usage/command_table.h"

namespace whetstone {
namespace {

// Returns a line as roff prints it: no character of it is a request or an escape.
std::string RoffLine(absl::string_view line) {
  const std::string escaped = absl::StrReplaceAll(line, {{"\\", "\\e"}, {"-", "\\-"}});
  const bool request = absl::StartsWith(escaped, ".") || absl::StartsWith(escaped, "'");
  return absl::StrCat(request ? "\\&" : "", escaped);
}

std::string Bold(absl::string_view text) { return absl::StrCat("\\fB", RoffLine(text), "\\fR"); }
std::string Italic(absl::string_view text) { return absl::StrCat("\\fI", RoffLine(text), "\\fR"); }

// Lines that begin with a space stay as they are, others are filled.
void AppendText(absl::string_view text, std::string* page) {
  bool as_it_is = false;
  text = absl::StripTrailingAsciiWhitespace(text);
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (line.empty()) {
      absl::StrAppend(page, as_it_is ? ".fi\n" : "", ".PP\n");
      as_it_is = false;
      continue;
    }
    const bool indented = line.front() == ' ';
    if (indented != as_it_is) absl::StrAppend(page, indented ? ".nf\n" : ".fi\n");
    as_it_is = indented;
    absl::StrAppend(page, RoffLine(line), "\n");
  }
  if (as_it_is) absl::StrAppend(page, ".fi\n");
}

void AppendEntry(const std::string& term, absl::string_view text, std::string* page) {
  absl::StrAppend(page, ".TP\n", term, "\n");
  AppendText(text, page);
}

// Returns " (one of train, valid, test; default valid)", or "" where there is nothing to say.
std::string ValueNotes(const CLI::Option& option) {
  std::vector<std::string> notes;
  const std::vector<std::string> words = WordsOf(option);
  if (!words.empty()) notes.push_back(absl::StrCat("one of ", absl::StrJoin(words, ", ")));
  if (option.get_required()) notes.push_back("required");
  if (!option.get_default_str().empty()) {
    notes.push_back(absl::StrCat("default ", option.get_default_str()));
  }
  return notes.empty() ? "" : absl::StrCat(" (", absl::StrJoin(notes, "; "), ")");
}

std::string OptionTerm(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back(Bold("-" + name));
  for (const std::string& name : option.get_lnames()) names.push_back(Bold("--" + name));
  const std::string term = absl::StrJoin(names, ", ");
  return TakesValue(option) ? absl::StrCat(term, " ", Italic(ValueName(option))) : term;
}

std::string Synopsis(const CLI::App& app) {
  std::string text = Bold(CommandName(app));
  for (const CLI::Option* positional : PositionalsOf(app)) {
    const std::string word = absl::StrCat(Italic(ValueName(*positional)),
                                          positional->get_items_expected_max() > 1 ? "\\ ..." : "");
    absl::StrAppend(&text, " ", positional->get_required() ? word : "[" + word + "]");
  }
  if (!CommandsOf(app).empty()) {
    const bool required = app.get_require_subcommand_min() > 0;
    absl::StrAppend(&text, " ", required ? "" : "[", Italic("COMMAND"), required ? "" : "]");
  }
  return absl::StrCat(text, " [", Italic("OPTION"), "\\ ...]");
}

}  // namespace

std::string ManPage(const CLI::App& app, absl::string_view version) {
  const std::string name = absl::StrReplaceAll(CommandName(app), {{" ", "-"}});
  const std::vector<std::string> about =
      absl::StrSplit(app.get_description(), absl::MaxSplits("\n\n", 1));
  std::string page = absl::StrCat(
      ".TH \"", RoffLine(absl::AsciiStrToUpper(name)), "\" \"1\" \"\" \"",
      RoffLine(absl::StrCat("whet ", version)), "\" \"Whetstone\"\n.SH NAME\n", RoffLine(name),
      " \\- ", RoffLine(absl::StripSuffix(about[0], ".")), "\n.SH SYNOPSIS\n", Synopsis(app), "\n");
  if (about.size() > 1) {
    page += ".SH DESCRIPTION\n";
    AppendText(about[1], &page);
  }
  if (const auto positionals = PositionalsOf(app); !positionals.empty()) {
    page += ".SH ARGUMENTS\n";
    for (const CLI::Option* each : positionals) {
      AppendEntry(Italic(ValueName(*each)), each->get_description() + ValueNotes(*each), &page);
    }
  }
  page += ".SH OPTIONS\n";
  for (const CLI::Option* each : OptionsOf(app)) {
    AppendEntry(OptionTerm(*each), each->get_description() + ValueNotes(*each), &page);
  }
  if (const auto commands = CommandsOf(app); !commands.empty()) {
    page += ".SH COMMANDS\n";
    for (const CLI::App* each : commands) {
      const std::string text = each->get_description();
      AppendEntry(Bold(CommandName(*each)), text.substr(0, text.find('\n')), &page);
    }
  }
  if (const std::string footer = app.get_footer(); !footer.empty()) {
    page += ".SH EXIT STATUS\n";
    AppendText(footer, &page);
  }
  return page;
}

}  // namespace whetstone
