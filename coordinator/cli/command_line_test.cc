// These tests run the whet program from outside: they hold exit codes and messages for wrong usage
// and wrong input.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/file.h"
#include "common/tree_testing.h"

namespace whetstone {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Outcome {
  int exit_code = -1;
  std::string out;
  std::string error;
};

class CommandLineTest : public testing::Test {
 protected:
  Outcome Whet(const std::string& arguments) {
    const std::string command = absl::StrCat("cd ", folder_.path(), " && ", BinDir(), "/whet ",
                                             arguments, " >out 2>error </dev/null");
    const int status = std::system(command.c_str());
    return {WEXITSTATUS(status), *ReadFile(folder_.path() + "/out"),
            *ReadFile(folder_.path() + "/error")};
  }
  void Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_.path() + "/" + name) << text;
  }
  // Writes a campaign that parses; its model is on another machine.
  void WriteCampaign(const std::string& extra = "") {
    Write("c.yaml", absl::StrCat("name: tiny\nmodel: /srv/model\nproblems: [", SourceDir(),
                                 "/prompts/matmul_f32.md]\n", extra,
                                 "cluster: {trainer: {ssh: gpu01}, workers: [{ssh: cpu01}]}\n"
                                 "checkpoint: {dir: /srv/checkpoints}\n"));
  }
  static nlohmann::json LastLine(const std::string& text) {
    const std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
    return lines.empty() ? nlohmann::json() : nlohmann::json::parse(lines.back(), nullptr, false);
  }

  TempDir folder_ = *TempDir::Make("cli");
};

TEST_F(CommandLineTest, HelpIsNoError) {
  EXPECT_EQ(Whet("--help").exit_code, 0);
  EXPECT_NE(Whet("--help").out.find("whet resume"), std::string::npos);
  EXPECT_THAT(Whet("--help").out, HasSubstr("3 our own failure, 130 stopped by Ctrl-C"));
  for (const char* command : {"run",
                              "resume",
                              "stop",
                              "pause",
                              "unpause",
                              "fork",
                              "list",
                              "gc",
                              "status",
                              "watch",
                              "show",
                              "logs",
                              "export",
                              "trace",
                              "workers",
                              "workers x drain",
                              "workers x remove",
                              "workers x add",
                              "replay",
                              "fetch",
                              "report",
                              "eval",
                              "best",
                              "measure",
                              "rewrite",
                              "discover",
                              "doctor",
                              "problem",
                              "problem check",
                              "problem new",
                              "problem import",
                              "completion",
                              "man",
                              "schema"}) {
    const Outcome help = Whet(absl::StrCat(command, " --help"));
    EXPECT_EQ(help.exit_code, 0) << command;
    EXPECT_GT(help.out.size(), 100u) << command;
  }
}

// A build out of a clone knows which commit it is of; an archive's does not.
TEST_F(CommandLineTest, TheVersionNamesItsCommit) {
  const Outcome version = Whet("--version");
  EXPECT_EQ(version.exit_code, 0);
  const bool clone = std::filesystem::exists(SourceDir() + "/.git");
  EXPECT_TRUE(std::regex_match(
      version.out, std::regex(clone ? R"(\d+\.\d+\.\d+ \(commit [0-9a-f]{12,40}(, changed)?\)\n)"
                                    : R"(\d+\.\d+\.\d+\n)")))
      << version.out;
}

TEST_F(CommandLineTest, WrongWordsGetTheNearestRightOne) {
  const Outcome command = Whet("resum runs/x");
  EXPECT_EQ(command.exit_code, 2);
  EXPECT_EQ(command.error,
            "whet: unknown command 'resum'\ndid you mean 'whet resume'?\nwhet --help says more.\n");
  const Outcome path = Whet("problem check");
  EXPECT_EQ(path.exit_code, 2);
  EXPECT_NE(path.error.find("whet problem check --help says more."), std::string::npos)
      << path.error;
  EXPECT_NE(Whet("problem chek x").error.find("did you mean 'whet problem check'?"),
            std::string::npos);
  const Outcome option = Whet("run c.yaml --dryrun");
  EXPECT_EQ(option.exit_code, 2);
  EXPECT_NE(option.error.find("did you mean '--dry-run' in place of '--dryrun'?"),
            std::string::npos)
      << option.error;
  EXPECT_NE(Whet("workers runs/x drian cpu01").error.find("did you mean 'whet workers drain'?"),
            std::string::npos);
  EXPECT_EQ(Whet("").exit_code, 2);
  EXPECT_EQ(Whet("run").exit_code, 2);
}

TEST_F(CommandLineTest, RescoringTakesKeysOfTheRewardOnly) {
  const Outcome other = Whet("rescore runs/x --set train.lr=1");
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_NE(other.error.find("--set train.lr=1: only keys of 'reward'"), std::string::npos)
      << other.error;
  EXPECT_EQ(Whet("rescore runs/x").exit_code, 2);
}

TEST_F(CommandLineTest, AHeldOutProblemIsNotTrainedOn) {
  WriteCampaign();
  const std::string held_out = SourceDir() + "/prompts/test/adler32_u8.md";
  const Outcome run = Whet("run c.yaml --dry-run --set 'problems=[" + held_out + "]'");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_NE(run.error.find(held_out + " is held out of training (split: test)"), std::string::npos)
      << run.error;
  EXPECT_NE(run.error.find("whet measure " + held_out), std::string::npos);
}

// What can be wrong with an evaluation's words is found before any model is looked at.
TEST_F(CommandLineTest, AnEvaluationOfTheWrongThingsIsRefused) {
  const std::string prompts = SourceDir() + "/prompts";
  const auto refused = [&](const std::string& arguments) {
    const Outcome outcome = Whet(absl::StrCat("eval ", arguments));
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/evals")) << "nothing is made";
    return outcome.error;
  };
  const std::string valid = absl::StrCat(" --problems ", prompts, "/valid ");
  EXPECT_THAT(refused("model"), HasSubstr("--problems is required"));
  EXPECT_THAT(refused("model --k 1,32" + valid),
              HasSubstr("--k 32 is not between 1 and --samples, which is 16"));
  EXPECT_THAT(refused("model --samples 0" + valid), HasSubstr("--samples must be at least 1"));
  EXPECT_THAT(refused("model --split tset" + valid),
              HasSubstr("--split: 'tset' must be one of train, valid, test; did you mean 'test'?"));
  // A training problem is no held-out one.
  EXPECT_THAT(refused(absl::StrCat("model --problems ", prompts, "/matmul_f32.md")),
              HasSubstr("matmul_f32.md is of split train, and problems of split valid were asked "
                        "for: campaigns train on it, so what a policy shows there may be memory; "
                        "--split train evaluates it, knowing that"));
  EXPECT_THAT(refused(absl::StrCat("model --problems ", prompts)),
              HasSubstr(absl::StrCat("no problem of split valid is in ", prompts, " (only ")));
  EXPECT_THAT(refused("model --problems gone.md"), HasSubstr("cannot read gone.md"));
  std::filesystem::create_directory(folder_.path() + "/empty");
  EXPECT_THAT(refused("model --problems empty"), HasSubstr("empty holds no prompt file"));
  const std::string test = absl::StrCat(" --split test --problems ", prompts, "/test");
  EXPECT_THAT(refused("a/model b/model" + test),
              HasSubstr("a/model and b/model would both be called model"));
  EXPECT_THAT(refused("a/model --set train.lr=1" + test),
              HasSubstr("--set train.lr=1: an evaluation has only the sections generate, chat"));
  EXPECT_THAT(refused("a/model --set generate.temperatur=1" + test),
              HasSubstr("did you mean 'generate.temperature'?"));
  EXPECT_THAT(refused("x/y=z" + test), HasSubstr("'x/y' can't name a model"));
  std::filesystem::create_directories(folder_.path() + "/lora");
  Write("lora/adapter_config.json", "{}");
  EXPECT_THAT(refused("lora" + test), HasSubstr("lora holds adapters without their model"));
}

TEST_F(CommandLineTest, DryRunShowsTheResolvedCampaign) {
  WriteCampaign("train: {steps: 3}\n");
  const Outcome dry = Whet("run c.yaml --dry-run --json --set train.lr=3.0e-5");
  ASSERT_EQ(dry.exit_code, 0) << dry.error;
  const nlohmann::json json = LastLine(dry.out);
  EXPECT_EQ(json["campaign"]["train"]["lr"], 3e-5);
  EXPECT_EQ(json["campaign"]["train"]["group_size"], 16);
  EXPECT_EQ(json["plan"]["steps"], 3);
  EXPECT_EQ(json["plan"]["problems"][0]["id"], "matmul_f32");
  EXPECT_NE(dry.error.find("group_size: 16"), std::string::npos) << "for people, as YAML";
  EXPECT_NE(dry.error.find("on the trainer's host, not looked at"), std::string::npos) << dry.error;
  EXPECT_TRUE(json["plan"]["model"].is_null()) << dry.out;
  EXPECT_FALSE(ReadFile(folder_.path() + "/runs/tiny/campaign.yaml").ok()) << "nothing is made";
}

TEST_F(CommandLineTest, WrongCampaignsSayFileLineAndKey) {
  WriteCampaign("train: {stepz: 3}\n");
  const Outcome wrong = Whet("run c.yaml --json");
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_EQ(wrong.error.rfind("whet: c.yaml:4: unknown key 'train.stepz'; did you mean "
                              "'train.steps'?",
                              0),
            0u)
      << wrong.error;
  EXPECT_THAT(wrong.error, HasSubstr("\n    4 | train: {stepz: 3}\n      |         ^\n"));
  EXPECT_EQ(LastLine(wrong.out)["code"], "INVALID_ARGUMENT");
  EXPECT_THAT(LastLine(wrong.out)["error"].get<std::string>(), Not(HasSubstr("\n")));
  EXPECT_THAT(Whet("doctor c.yaml").out, HasSubstr("      |         ^\n"));
  EXPECT_EQ(Whet("run nowhere.yaml").error,
            "whet: cannot read nowhere.yaml: No such file or directory\n");
  EXPECT_FALSE(ReadFile(folder_.path() + "/runs/tiny/lock").ok()) << "nothing half-written";
}

TEST_F(CommandLineTest, AMissingProblemFileIsToldWithItsLine) {
  WriteCampaign();
  Write("c.yaml", absl::StrCat("name: tiny\nmodel: model\nproblems:\n  - ", SourceDir(),
                               "/prompts/matmul_f32.md\n  - prompts/gone.md\n"));
  const std::string gone = folder_.path() + "/prompts/gone.md";
  for (const char* command : {"run c.yaml", "run c.yaml --dry-run", "doctor c.yaml"}) {
    const Outcome outcome = Whet(command);
    EXPECT_EQ(outcome.exit_code, 2) << command;
    EXPECT_THAT(outcome.out + outcome.error,
                HasSubstr("c.yaml:5: 'problems[1]': there is no file " + gone))
        << command;
  }
  WriteCampaign("warmup: {examples: gone.jsonl}\n");
  EXPECT_THAT(Whet("run c.yaml").error,
              HasSubstr("c.yaml:4: 'warmup.examples': there is no file " + folder_.path() +
                        "/gone.jsonl; relative paths begin at the campaign file's folder"));
  WriteCampaign();
  EXPECT_THAT(
      Whet("run c.yaml --set 'problems=[gone.md]'").error,
      HasSubstr("--set problems=[gone.md]: 'problems[0]': there is no file " + folder_.path() +
                "/gone.md; relative paths begin at the current directory"));
}

TEST_F(CommandLineTest, AStepIsCountedFromOne) {
  for (const char* step : {"0", "1.5", "all"}) {
    const Outcome outcome = Whet(absl::StrCat("replay nowhere --to ", step));
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_THAT(outcome.error, HasSubstr(absl::StrCat("'", step, "' is no step")));
    EXPECT_LT(outcome.error.size(), 200u) << outcome.error;
  }
}

TEST_F(CommandLineTest, BrokenPromptFilesSayFileAndLine) {
  Write("p.md", "---\nid: p\nsignatur: void f(int n)\n---\n");
  const Outcome check = Whet("problem check p.md");
  EXPECT_EQ(check.exit_code, 2);
  EXPECT_NE(check.error.find("p.md:3"), std::string::npos) << check.error;
  Write("x.cc", "void f(int) {}");
  EXPECT_EQ(Whet("measure p.md x.cc --json").exit_code, 2);
  EXPECT_EQ(Whet("measure nowhere.md x.cc").exit_code, 2);
}

TEST_F(CommandLineTest, ProblemNewWritesASkeletonOnce) {
  EXPECT_EQ(Whet("problem new my_kernel").exit_code, 0);
  EXPECT_TRUE(ReadFile(folder_.path() + "/my_kernel.md").ok());
  const Outcome again = Whet("problem new my_kernel --json");
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_EQ(LastLine(again.out)["code"], "ALREADY_EXISTS");
  EXPECT_EQ(Whet("problem new 9lives").exit_code, 2);
}

TEST_F(CommandLineTest, CommandsOnARunNeedARun) {
  for (const char* command : {"status nowhere", "fetch nowhere", "report nowhere", "best nowhere",
                              "resume nowhere", "workers nowhere", "workers nowhere drain cpu01"}) {
    const Outcome outcome = Whet(absl::StrCat(command, " --json"));
    EXPECT_EQ(outcome.exit_code, 2) << command;
    EXPECT_EQ(outcome.error,
              "whet: nowhere is not a run directory: it has no campaign.yaml and journal.db\n");
    EXPECT_EQ(LastLine(outcome.out)["code"], "NOT_FOUND");
  }
}

}  // namespace
}  // namespace whetstone
