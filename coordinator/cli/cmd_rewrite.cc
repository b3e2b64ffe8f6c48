#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "coordinator/cli/commands.h"
#include "coordinator/discover/rule_search.h"
#include "coordinator/loop/local_worker.h"
#include "coordinator/prompt/prompt_file.h"
#include "coordinator/terminal/console.h"
#include "coordinator/terminal/stop_signals.h"

namespace whetstone {
namespace {

struct RewriteCommand {
  std::vector<std::string> problems;
  std::string out;
  std::string proof;  // folder; empty: none
  double seconds = 120;
  int keep = 4;
  int chars_kept = 1400;
  bool json = false;
};

RewriteOptions OptionsOf(const RewriteCommand& command) {
  RewriteOptions options;
  options.kept = static_cast<size_t>(command.keep);
  options.chars_kept = static_cast<size_t>(command.chars_kept);
  if (command.proof.empty()) options.chars_max = options.chars_kept;
  return options;
}

// Says whether the file can be written, before minutes are spent on what is to stand in it.
absl::Status CheckOut(const std::string& out) {
  if (std::error_code error; std::filesystem::is_directory(out, error)) {
    return absl::InvalidArgumentError(absl::StrCat("--out ", out, " is a folder; name a file"));
  }
  const std::filesystem::path folder = std::filesystem::absolute(out).parent_path();
  if (access(folder.c_str(), W_OK) == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--out ", out, ": ", folder.string(), ": ",
                                                 strerror(errno), "; name a folder to write in"));
}

absl::StatusOr<nlohmann::ordered_json> Rewrite(const RewriteCommand& command,
                                               const StopSignals& signals, Console* console) {
  std::vector<v1::Problem> problems;
  for (const std::string& file : command.problems) {
    ASSIGN_OR_RETURN(problems.emplace_back(), ParsePromptFile(file));
  }
  RETURN_IF_ERROR(CheckOut(command.out));
  console->Status("starting a worker");
  ASSIGN_OR_RETURN(const std::unique_ptr<LocalWorker> worker, LocalWorker::Start());
  std::string lines;
  nlohmann::ordered_json result = {{"out", command.out},
                                   {"problems", nlohmann::ordered_json::array()}};
  const RewriteOptions options = OptionsOf(command);
  const Budget budget{.seconds = command.seconds, .candidates = std::nullopt};
  const RuleSearchTools tools{.worker = worker.get(),
                              .console = console,
                              .stopped = [&signals] { return signals.stopped(); },
                              .log = nullptr};
  for (size_t i = 0; i < problems.size() && !signals.stopped(); ++i) {
    console->Status(absl::StrCat(problems[i].id(), ": preparing"));
    const auto failed = [&](const absl::Status& status) {
      return absl::Status(status.code(), absl::StrCat(command.problems[i], ": ", status.message()));
    };
    const absl::StatusOr<RewriteSearch> search = SearchByRules(problems[i], options, budget, tools);
    if (!search.ok()) return failed(search.status());
    console->Line(
        SearchText(problems[i], *search, options, "--chars; --proof looks at long ones too"));
    nlohmann::ordered_json kept = nlohmann::ordered_json::array();
    for (const FoundRewrite& rewrite : search->kept) {
      kept.push_back({{"speedup", rewrite.speedup}, {"rules", rewrite.rules}});
    }
    absl::StrAppend(&lines, ExamplesOf(problems[i], search->kept));
    result["problems"].push_back({{"problem", problems[i].id()},
                                  {"measured", search->measured},
                                  {"right", search->right},
                                  {"fastest", search->fastest ? search->fastest->speedup : 1.0},
                                  {"kept", std::move(kept)}});
    // Where nothing was found the file is empty, and a campaign teaches the references instead. A
    // search that was stopped before it found anything leaves what is there.
    if (!lines.empty() || WentThrough(*search)) {
      RETURN_IF_ERROR(WriteFileAtomically(command.out, lines));
      console->Line(absl::StrCat(command.out, ": for warmup.rewrites in a campaign"));
    }
    if (!command.proof.empty() && !signals.stopped() && search->fastest) {
      const std::string folder = absl::StrCat(command.proof, "/", problems[i].id());
      const auto proved = ProveProgram(problems[i], *search->fastest, folder, worker.get());
      if (proved.ok()) {
        console->Line(absl::StrFormat("proof of the fastest, %.2fx: sh %s/run.sh",
                                      proved->speedup(), folder));
      } else {
        console->Notice(absl::StrCat("no proof: ", proved.status().message()));
      }
    }
    if (!WentThrough(*search) && !absl::IsCancelled(search->ended)) return failed(search->ended);
  }
  return result;
}

int RunRewrite(const RewriteCommand& command) {
  static StopSignals* const signals = new StopSignals;
  Console console(command.json);
  const absl::StatusOr<nlohmann::ordered_json> result = Rewrite(command, *signals, &console);
  if (!result.ok()) return console.Fail(result.status());
  console.Result(*result);
  return signals->stopped() ? kExitStopped : kExitOk;
}

}  // namespace

void AddRewrite(CLI::App* app, SelectedCommand* selected) {
  const auto options = std::make_shared<RewriteCommand>();
  CLI::App* command = app->add_subcommand(
      "rewrite",
      "Look for faster forms of a problem's function, by rules\n\n"
      "Rules exchange, block and unroll loops, split sums, take branches out and know some "
      "idioms.\n"
      "What they make of the reference is checked and timed by a worker on this machine, and "
      "rules\n"
      "are applied again to the fastest. The fastest programs go to a file that teaches a\n"
      "campaign's policy before GRPO: set warmup.rewrites to it. Ctrl-C ends the search and keeps\n"
      "what it found.");
  command->add_option("PROBLEM", options->problems, "Prompt files")->required();
  command->add_option("--out", options->out, "File to write, JSON lines")
      ->type_name("FILE")
      ->required();
  command
      ->add_option("--proof", options->proof,
                   "Folder for the stand-alone benchmark of each problem's fastest program")
      ->type_name("FOLDER");
  command->add_option("--seconds", options->seconds, "Time for each problem")
      ->capture_default_str()
      ->check(CLI::Range(1.0, 86400.0));
  command->add_option("--keep", options->keep, "Programs to keep of each problem")
      ->capture_default_str()
      ->check(CLI::Range(1, 100));
  command
      ->add_option("--chars", options->chars_kept,
                   "Longest program to teach, without its signature: characters, some three to a "
                   "token of generate.max_new_tokens. A program of more than 960 counts as so much "
                   "slower as it is longer; a campaign needs max_new_tokens 512 for the default. "
                   "With --proof longer ones are tried last")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000));
  command->add_flag("--json", options->json, "End with one JSON object on stdout");
  command->callback([=] { selected->run = [=] { return RunRewrite(*options); }; });
}

}  // namespace whetstone
