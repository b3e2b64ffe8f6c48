#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "common/status_macros.h"
#include "coordinator/cli/commands.h"
#include "coordinator/journal/run_dir.h"
#include "coordinator/journal/run_garbage.h"
#include "coordinator/report/run_list.h"
#include "coordinator/terminal/console.h"
#include "coordinator/terminal/text_table.h"

namespace whetstone {
namespace {

struct GcOptions {
  std::string folder = "runs";
  std::optional<int> keep;
  bool yes = false;
  bool json = false;
};

// A LookedAtRun is a run of the folder, and what was found in it.
struct LookedAtRun {
  std::string path;
  std::string left_alone;  // why nothing of it is touched; empty: something may be
  RunGarbage garbage;
};

std::string BytesText(int64_t bytes) {
  const double b = static_cast<double>(bytes);
  if (bytes >= 1'000'000'000) return absl::StrFormat("%.1f GB", b / 1e9);
  if (bytes >= 1'000'000) return absl::StrFormat("%.1f MB", b / 1e6);
  return absl::StrFormat("%.1f kB", b / 1e3);
}

int64_t FreedBy(const RunGarbage& garbage) {
  int64_t bytes = 0;
  for (const Garbage& item : garbage.items) bytes += item.bytes;
  return bytes;
}

LookedAtRun LookAt(const std::string& path, std::optional<int> keep) {
  LookedAtRun run;
  run.path = path;
  const absl::StatusOr<RunPaths> paths = RunDir::Find(path);
  absl::StatusOr<RunGarbage> found = paths.ok() ? FindGarbage(*paths, keep) : paths.status();
  if (!found.ok()) {
    const absl::string_view why = found.status().message();
    run.left_alone = absl::StrCat("unreadable: ", why.substr(0, why.find('\n')));
    return run;
  }
  run.garbage = *std::move(found);
  if (const std::optional<RunOwner> owner = RunDir::Owner(*paths)) {
    run.left_alone = absl::StrCat("in use by ", owner->text(), owner->doubt());
    run.garbage.items.clear();
  }
  return run;
}

// Returns what the other runs name.
std::vector<std::string> NamedByOthers(const std::vector<LookedAtRun>& runs,
                                       const LookedAtRun& run) {
  std::vector<std::string> named;
  for (const LookedAtRun& other : runs) {
    if (&other == &run) continue;
    named.insert(named.end(), other.garbage.named.begin(), other.garbage.named.end());
  }
  return named;
}

absl::StatusOr<std::vector<LookedAtRun>> LookAtAll(const GcOptions& options, Console* console) {
  ASSIGN_OR_RETURN(const std::vector<std::string> found, FindRuns(options.folder));
  std::vector<LookedAtRun> runs;
  std::set<std::string> seen;  // one that has several names is looked at once
  for (const std::string& path : found) {
    std::error_code error;
    if (!seen.insert(std::filesystem::weakly_canonical(path, error).string()).second) continue;
    console->Status(
        absl::StrCat("looking at run ", runs.size() + 1, " of ", found.size(), ": ", path));
    runs.push_back(LookAt(path, options.keep));
  }
  for (LookedAtRun& run : runs) KeepNamed(NamedByOthers(runs, run), &run.garbage);
  return runs;
}

void ShowGarbage(const LookedAtRun& run, Console* console) {
  if (!run.left_alone.empty()) {
    console->Line(absl::StrCat(run.path, ": left alone, ", run.left_alone));
    return;
  }
  if (!run.garbage.doubt.empty()) {
    console->Notice(absl::StrCat(run.path, ": ", run.garbage.doubt));
  }
  if (run.garbage.items.empty()) return;
  console->Line(absl::StrCat(run.path, ": ", BytesText(FreedBy(run.garbage))));
  const std::string root = RunPaths(run.path).root();
  std::vector<std::vector<std::string>> rows;
  for (const Garbage& item : run.garbage.items) {
    rows.push_back({"", BytesText(item.bytes),
                    std::filesystem::path(item.path).lexically_relative(root).string(), item.why});
  }
  console->Line(TextTable(std::move(rows)));
}

// Removes what there is to remove under the run's lock: it may have been resumed since it was
// looked at. Adds what that freed to `bytes`.
absl::Status RemoveFrom(const LookedAtRun& run, const std::vector<std::string>& named_by_others,
                        std::optional<int> keep, int64_t* bytes) {
  ASSIGN_OR_RETURN(const RunDir dir, RunDir::Open(run.path, std::chrono::seconds(0), nullptr));
  ASSIGN_OR_RETURN(RunGarbage garbage, FindGarbage(dir.paths(), keep));
  KeepNamed(named_by_others, &garbage);
  for (const Garbage& item : garbage.items) {
    RETURN_IF_ERROR(RemoveGarbage(item));
    *bytes += item.bytes;
  }
  return absl::OkStatus();
}

nlohmann::ordered_json GarbageJson(const LookedAtRun& run) {
  nlohmann::ordered_json json = {{"run_dir", RunPaths(run.path).root()},
                                 {"left_alone", nullptr},
                                 {"bytes", FreedBy(run.garbage)},
                                 {"items", nlohmann::ordered_json::array()}};
  if (!run.left_alone.empty()) json["left_alone"] = run.left_alone;
  for (const Garbage& item : run.garbage.items) {
    json["items"].push_back({{"path", item.path}, {"bytes", item.bytes}, {"why", item.why}});
  }
  return json;
}

int Gc(const GcOptions& options) {
  Console console(options.json);
  const absl::StatusOr<std::vector<LookedAtRun>> runs = LookAtAll(options, &console);
  if (!runs.ok()) return console.Fail(runs.status());
  int64_t found = 0, removed = 0;
  bool any = false;
  std::optional<absl::Status> failed;
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const LookedAtRun& run : *runs) {
    ShowGarbage(run, &console);
    list.push_back(GarbageJson(run));
    found += FreedBy(run.garbage);
    any = any || !run.garbage.items.empty();
    if (!options.yes || run.garbage.items.empty()) continue;
    const absl::Status status = RemoveFrom(run, NamedByOthers(*runs, run), options.keep, &removed);
    if (status.ok()) continue;
    console.Notice(std::string(status.message()));
    failed = status;
  }
  if (options.yes) {
    console.Line(absl::StrCat("removed ", BytesText(removed)));
  } else if (any) {
    console.Line(absl::StrCat(BytesText(found), " may be removed, by: whet gc ", options.folder,
                              options.keep ? absl::StrCat(" --keep ", *options.keep) : "",
                              " --yes"));
  } else {
    console.Line(absl::StrCat("nothing of ", options.folder, " may be removed"));
  }
  if (failed) {
    return console.Fail(absl::Status(
        failed->code(), absl::StrCat("not all could be removed: ", failed->message())));
  }
  console.Result({{"folder", options.folder},
                  {"bytes", found},
                  {"removed_bytes", removed},
                  {"runs", std::move(list)}});
  return kExitOk;
}

}  // namespace

void AddGc(CLI::App* app, SelectedCommand* selected) {
  const auto options = std::make_shared<GcOptions>();
  CLI::App* command = app->add_subcommand(
      "gc",
      "Say what of a folder's runs nothing needs, and remove it with --yes\n\nCheckpoints beyond "
      "checkpoint.keep that are not the best, what was cut off in the making, logs\nof the "
      "services of runs that are done, sockets of dead processes. Runs that are alive are\nleft "
      "alone, and so is what lies outside of them, or another run of the folder names.");
  command->add_option("FOLDER", options->folder, "A folder of runs, or one run")
      ->capture_default_str();
  command
      ->add_option("--keep", options->keep,
                   "Newest checkpoints of each run to keep (default: its checkpoint.keep)")
      ->check(CLI::Range(1, 1'000'000));
  command->add_flag("--yes", options->yes, "Remove it");
  command->add_flag("--json", options->json, "End with one JSON object on stdout");
  command->callback([=] { selected->run = [=] { return Gc(*options); }; });
}

}  // namespace whetstone
