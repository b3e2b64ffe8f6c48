#include "coordinator/usage/man_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "coordinator/usage/command_table.h"

namespace whetstone {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ManPageTest, HasWhatTheHelpHas) {
  CLI::App app("About it", "whet");
  app.footer("Exit codes: 0 done.");
  CLI::App* problem = app.add_subcommand("problem", "Write and check prompt files");
  problem->require_subcommand(1);
  CLI::App* check = problem->add_subcommand(
      "check", "Prove problems sound.\n\nOne line\nand another:\n\n  whet problem check x.md\n");
  std::vector<std::string> paths;
  std::string split = "valid";
  bool quick = false;
  check->add_option("PATH", paths, "Prompt files")->required();
  check->add_option("-s,--split", split, "Which count")
      ->capture_default_str()
      ->check(OneOf({"train", "valid"}));
  check->add_flag("--quick", quick, ".fast and C:\\x");
  EXPECT_EQ(ManPage(*check, "0.1.0"),
            ".TH \"WHET\\-PROBLEM\\-CHECK\" \"1\" \"\" \"whet 0.1.0\" \"Whetstone\"\n"
            ".SH NAME\nwhet\\-problem\\-check \\- Prove problems sound\n"
            ".SH SYNOPSIS\n\\fBwhet problem check\\fR \\fIPATH\\fR\\ ... [\\fIOPTION\\fR\\ ...]\n"
            ".SH DESCRIPTION\nOne line\nand another:\n.PP\n.nf\n  whet problem check x.md\n.fi\n"
            ".SH ARGUMENTS\n.TP\n\\fIPATH\\fR\nPrompt files (required)\n"
            ".SH OPTIONS\n"
            ".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nPrint this help message and exit\n"
            ".TP\n\\fB\\-s\\fR, \\fB\\-\\-split\\fR \\fITEXT\\fR\n"
            "Which count (one of train, valid; default valid)\n"
            ".TP\n\\fB\\-\\-quick\\fR\n\\&.fast and C:\\ex\n"
            ".SH EXIT STATUS\nExit codes: 0 done.\n");
  EXPECT_THAT(ManPage(*problem, "0.1.0"), HasSubstr("\\fBwhet problem\\fR \\fICOMMAND\\fR ["));
  EXPECT_THAT(ManPage(*problem, "0.1.0"),
              HasSubstr(".SH COMMANDS\n.TP\n\\fBwhet problem check\\fR\nProve problems sound.\n"));
  EXPECT_THAT(ManPage(*problem, "0.1.0"), Not(HasSubstr(".SH DESCRIPTION")));
}

}  // namespace
}  // namespace whetstone
