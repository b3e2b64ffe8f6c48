#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "coordinator/cli/commands.h"
#include "coordinator/loop/local_worker.h"
#include "coordinator/prompt/prompt_file.h"
#include "coordinator/proof/best.h"
#include "coordinator/rewrites/rewrite_search.h"
#include "coordinator/rewrites/rewriter.h"
#include "coordinator/terminal/console.h"
#include "coordinator/terminal/stop_signals.h"

namespace whetstone {
namespace {

using Clock = std::chrono::steady_clock;

struct RewriteCommand {
  std::vector<std::string> problems;
  std::string out;
  std::string proof;  // folder; empty: none
  double seconds = 120;
  int keep = 4;
  int chars_kept = 1400;
  bool json = false;
};

// One line of a file of worked examples.
nlohmann::ordered_json ExampleOf(const v1::Problem& problem, const FoundRewrite& rewrite,
                                 size_t place) {
  return {{"id", absl::StrCat(problem.id(), "/", place)},
          {"family", problem.id()},
          {"prompt_code", problem.reference()},
          {"rewrite", absl::StripSuffix(rewrite.source, "\n")},
          {"techniques", rewrite.rules},
          {"gain", rewrite.speedup}};
}

absl::StatusOr<RewriteSearch> SearchOne(const v1::Problem& problem, const RewriteCommand& command,
                                        LocalWorker* worker, const StopSignals& signals,
                                        Console* console) {
  RETURN_IF_ERROR(worker->PutUncalibrated(problem).status());
  ASSIGN_OR_RETURN(Rewriter rewriter, Rewriter::Make(problem));
  const auto end =
      Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(1000 * command.seconds));
  const auto stopped = [&] { return signals.stopped(); };
  RewriteTools tools;
  tools.propose = [&](const std::vector<std::string>& sources) {
    return rewriter.Propose(sources, stopped);
  };
  tools.measure = [&](const std::string& source) {
    return worker->Measure(problem, source, /*time=*/true, /*fresh=*/false);
  };
  tools.enough = [&] { return stopped() || Clock::now() >= end; };
  tools.progress = [&](int measured, double fastest) {
    const auto left = std::chrono::duration_cast<std::chrono::seconds>(end - Clock::now()).count();
    console->Status(
        absl::StrFormat("%s: %d programs measured, the fastest %.2fx, at most %d s more",
                        problem.id(), measured, fastest, std::max<int64_t>(0, left)));
  };
  RewriteOptions options;
  options.kept = static_cast<size_t>(command.keep);
  options.chars_kept = static_cast<size_t>(command.chars_kept);
  if (command.proof.empty()) options.chars_max = options.chars_kept;
  return SearchRewrites(problem, options, tools);
}

// Says whether a search went as far as it could: to its end, or to a function that rules cannot
// rewrite.
bool Through(const RewriteSearch& search) {
  return search.ended.ok() || absl::IsFailedPrecondition(search.ended);
}

std::string SearchText(const v1::Problem& problem, const RewriteSearch& search, size_t chars_kept) {
  if (absl::IsFailedPrecondition(search.ended)) return std::string(search.ended.message());
  std::string text = absl::StrCat(problem.id(), ": ");
  if (search.ended.ok() && search.measured == 0 && search.too_long == 0) {
    return absl::StrCat(text, "no rule fits");
  }
  absl::StrAppend(&text, search.measured, " programs measured, ", search.right, " right");
  if (search.too_long > 0) {
    absl::StrAppend(&text, ", ", search.too_long,
                    " too long to be looked at (--chars; --proof looks at long ones too)");
  }
  if (!search.ended.ok()) absl::StrAppend(&text, ", then stopped");
  if (!search.long_ended.ok() && !absl::IsCancelled(search.long_ended)) {
    absl::StrAppend(&text, "; among the long ones: ", search.long_ended.message());
  }
  if (search.measured > 0 && search.right == 0) {
    return absl::StrCat(text,
                        "; where sums may be added in another order, a wider tolerance (compare in "
                        "the prompt file) accepts more of them");
  }
  if (!search.fastest) return absl::StrCat(text, "; none is clearly faster than the reference");
  absl::StrAppend(&text, "; the fastest:");
  const auto append = [&](const FoundRewrite& rewrite) {
    absl::StrAppendFormat(&text, "\n  %7.2fx  %s", rewrite.speedup,
                          absl::StrJoin(rewrite.rules, ", then "));
  };
  const bool short_enough = std::any_of(
      search.kept.begin(), search.kept.end(),
      [&](const FoundRewrite& rewrite) { return rewrite.source == search.fastest->source; });
  if (!short_enough) {
    append(*search.fastest);
    const size_t chars = search.fastest->source.size();
    const bool fits = chars <= chars_kept + problem.signature().size();
    absl::StrAppendFormat(&text, " (%d characters, too long %s)", chars,
                          fits ? "for what it gains" : "to teach: --chars");
  }
  for (const FoundRewrite& rewrite : search.kept) append(rewrite);
  return text;
}

// Measures the fastest program as precisely as the worker can, and writes its stand-alone benchmark
// to a folder of the problem's name.
absl::Status ProveFastest(const v1::Problem& problem, const RewriteSearch& search,
                          const std::string& folder, LocalWorker* worker, Console* console) {
  if (!search.fastest) return absl::OkStatus();
  const FoundRewrite& fastest = *search.fastest;
  ASSIGN_OR_RETURN(const v1::Verdict verdict,
                   worker->Measure(problem, fastest.source, /*time=*/true, /*fresh=*/true));
  if (verdict.outcome() != v1::CORRECT) {
    return absl::InternalError(
        absl::StrCat("the fastest program was right when it was found, and then ",
                     v1::Outcome_Name(verdict.outcome()), ": ", verdict.detail()));
  }
  const std::string to = absl::StrCat(folder, "/", problem.id());
  RETURN_IF_ERROR(WriteProof(to, problem, fastest.source, verdict, {{"rules", fastest.rules}}));
  console->Line(
      absl::StrFormat("proof of the fastest, %.2fx: sh %s/run.sh", verdict.speedup(), to));
  return absl::OkStatus();
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
  for (size_t i = 0; i < problems.size() && !signals.stopped(); ++i) {
    console->Status(absl::StrCat(problems[i].id(), ": preparing"));
    const auto failed = [&](const absl::Status& status) {
      return absl::Status(status.code(), absl::StrCat(command.problems[i], ": ", status.message()));
    };
    const absl::StatusOr<RewriteSearch> search =
        SearchOne(problems[i], command, worker.get(), signals, console);
    if (!search.ok()) return failed(search.status());
    console->Line(SearchText(problems[i], *search, static_cast<size_t>(command.chars_kept)));
    nlohmann::ordered_json kept = nlohmann::ordered_json::array();
    for (const FoundRewrite& rewrite : search->kept) {
      kept.push_back({{"speedup", rewrite.speedup}, {"rules", rewrite.rules}});
      absl::StrAppend(&lines, ExampleOf(problems[i], rewrite, kept.size()).dump(), "\n");
    }
    result["problems"].push_back({{"problem", problems[i].id()},
                                  {"measured", search->measured},
                                  {"right", search->right},
                                  {"fastest", search->fastest ? search->fastest->speedup : 1.0},
                                  {"kept", std::move(kept)}});
    // Where nothing was found the file is empty, and a campaign teaches the references instead. A
    // search that was stopped before it found anything leaves what is there.
    if (!lines.empty() || Through(*search)) {
      RETURN_IF_ERROR(WriteFileAtomically(command.out, lines));
      console->Line(absl::StrCat(command.out, ": for warmup.rewrites in a campaign"));
    }
    if (!command.proof.empty() && !signals.stopped()) {
      const absl::Status proved =
          ProveFastest(problems[i], *search, command.proof, worker.get(), console);
      if (!proved.ok()) console->Notice(absl::StrCat("no proof: ", proved.message()));
    }
    if (!Through(*search) && !absl::IsCancelled(search->ended)) return failed(search->ended);
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
  command->add_option("--out", options->out, "File to write, JSON lines")->required();
  command->add_option("--proof", options->proof,
                      "Folder for the stand-alone benchmark of each problem's fastest program");
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
