// The script of `whet completion` in a real shell, with the real program behind it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/file.h"
#include "common/shell_word.h"
#include "common/tree_testing.h"

namespace whetstone {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ShellCompletionTest : public testing::Test {
 protected:
  // Runs a shell command in the folder; returns its exit code, and what it prints in *out.
  int Run(const std::string& command, std::string* out) {
    const int status = std::system(
        absl::StrCat("cd ", folder_.path(), " && { ", command, "; } >out 2>error </dev/null")
            .c_str());
    *out = *ReadFile(folder_.path() + "/out");
    return WEXITSTATUS(status);
  }

  // Returns what bash would put in the place of the word at the end of `line`, behind its last = or
  // : if it has one.
  std::vector<std::string> Completed(const std::string& line) {
    std::ofstream(folder_.path() + "/ask.sh")
        << "PATH=" << BinDir() << ":$PATH\nsource <(whet completion bash)\n"
        << "COMP_WORDBREAKS=$' \\t\\n\"\\'><=;|&(:'\nCOMP_LINE=" << ShellWord(line)
        << "\nCOMP_POINT=${#COMP_LINE}\n_whet\n"
        << "for word in \"${COMPREPLY[@]}\"; do printf '%s\\n' \"$word\"; done\n";
    std::string out;
    // Outside of a line that is being edited bash has no options of completion: compopt complains.
    EXPECT_EQ(Run("bash --norc --noprofile ask.sh", &out), 0) << line;
    return absl::StrSplit(out, '\n', absl::SkipEmpty());
  }

  TempDir folder_ = *TempDir::Make("shell");
};

TEST_F(ShellCompletionTest, BashCompletes) {
  EXPECT_THAT(Completed("whet resu"), ElementsAre("resume"));
  EXPECT_THAT(Completed("whet "), Contains("discover"));
  EXPECT_THAT(Completed("whet problem "), ElementsAre("check", "new", "import"));
  EXPECT_THAT(Completed("whet run c.yaml --dry"), ElementsAre("--dry-run"));
  EXPECT_THAT(Completed("whet eval m --split "), ElementsAre("train", "valid", "test"));
  EXPECT_THAT(Completed("whet eval m --split=v"), ElementsAre("valid")) << "behind the =";
  EXPECT_THAT(
      Completed("whet run c.yaml --set train.lo"),
      ElementsAre("train.loss=", "train.lora.rank=", "train.lora.alpha=", "train.lora.targets="));
  EXPECT_THAT(Completed("whet run c.yaml --set train.loss=d"), ElementsAre("dapo", "dr_grpo"));
  EXPECT_THAT(Completed("whet rescore r --set reward.wrong_"),
              ElementsAre("reward.wrong_base=", "reward.wrong_slope="));
  EXPECT_THAT(Completed("whet completion "), ElementsAre("bash", "zsh"));
  EXPECT_THAT(Completed("whet run "), IsEmpty()) << "files are the shell's own";
  EXPECT_THAT(Completed("whet nonsense --wh"), IsEmpty());
}

TEST_F(ShellCompletionTest, RunsAreFoldersWithAJournal) {
  for (const char* run : {"runs/plain", "runs/with blank; rm x"}) {
    std::filesystem::create_directories(absl::StrCat(folder_.path(), "/", run));
    std::ofstream(absl::StrCat(folder_.path(), "/", run, "/journal.db")) << "";
  }
  std::filesystem::create_directories(folder_.path() + "/runs/none");
  EXPECT_THAT(Completed("whet status "),
              ElementsAre("runs/plain", "runs/with\\ blank\\;\\ rm\\ x"));
  EXPECT_THAT(Completed("whet status runs/p"), ElementsAre("runs/plain"));
}

TEST_F(ShellCompletionTest, ZshCanReadItsScript) {
  std::string out;
  ASSERT_EQ(Run(absl::StrCat(BinDir(), "/whet completion zsh >_whet && cat _whet"), &out), 0);
  EXPECT_EQ(out.rfind("#compdef whet\n", 0), 0u);
  if (std::system("command -v zsh >/dev/null") != 0) GTEST_SKIP() << "there is no zsh here";
  EXPECT_EQ(Run("zsh -n _whet", &out), 0) << *ReadFile(folder_.path() + "/error");
}

TEST_F(ShellCompletionTest, ManualPagesAreOfTheSameTable) {
  std::string out;
  ASSERT_EQ(Run(absl::StrCat(BinDir(), "/whet man problem check"), &out), 0);
  EXPECT_EQ(out.rfind(".TH \"WHET\\-PROBLEM\\-CHECK\"", 0), 0u) << out;
  EXPECT_NE(out.find("\\fB\\-\\-quick\\fR"), std::string::npos) << out;
  EXPECT_EQ(Run(absl::StrCat(BinDir(), "/whet man problem chek"), &out), 2);
  EXPECT_EQ(*ReadFile(folder_.path() + "/error"),
            "whet: whet problem has no command 'chek'; did you mean 'check'? There are: check, "
            "new, import\n");
  EXPECT_EQ(Run(absl::StrCat(BinDir(), "/whet completion fish"), &out), 2);
  EXPECT_NE(ReadFile(folder_.path() + "/error")->find("must be one of bash, zsh"),
            std::string::npos);
}

}  // namespace
}  // namespace whetstone
