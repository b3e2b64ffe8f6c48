#include "coordinator/journal/run_garbage.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/file.h"
#include "common/manifest.h"
#include "common/status_macros.h"
#include "coordinator/durable/checkpoint_retention.h"
#include "coordinator/durable/durable_state.h"
#include "coordinator/journal/open_run.h"

namespace whetstone {
namespace {

namespace fs = std::filesystem;

constexpr char kCutOff[] = ".tmp-";  // as gpu_trainer/checkpoint/checkpoint.h names what it is at
constexpr char kRemoved[] = ".tmp-removed";

// Returns the kind of what is there itself, not of what a link leads to.
fs::file_type KindOf(const fs::path& path) {
  std::error_code error;
  return fs::symlink_status(path, error).type();
}

std::vector<fs::path> EntriesOf(const std::string& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    entries.push_back(it->path());
  }
  std::ranges::sort(entries);
  return entries;
}

int64_t BytesFreed(const fs::path& path) {
  int64_t bytes = 0;
  const auto add = [&bytes](const fs::path& file) {
    struct stat found = {};
    if (lstat(file.c_str(), &found) == 0 && S_ISREG(found.st_mode) && found.st_nlink == 1) {
      bytes += found.st_size;
    }
  };
  add(path);
  std::error_code error;
  for (fs::recursive_directory_iterator it(path, error), end; !error && it != end;
       it.increment(error)) {
    add(it->path());
  }
  return bytes;
}

void AddItem(const fs::path& path, const std::string& why, RunGarbage* found) {
  found->items.push_back({path.string(), why, BytesFreed(path)});
}

// Returns whether the folder is within the run, and no link on the way leads anywhere else.
bool IsItsOwn(const RunPaths& paths, const std::string& folder) {
  if (!absl::StartsWith(folder, paths.root() + "/")) return false;
  std::error_code no_root, no_folder;
  const fs::path root = fs::canonical(paths.root(), no_root);
  const fs::path real = fs::canonical(folder, no_folder);
  return !no_root && !no_folder && real == root / fs::path(folder).lexically_relative(paths.root());
}

bool IsCheckpoint(const std::string& path) {
  return KindOf(path) == fs::file_type::directory &&
         KindOf(absl::StrCat(path, "/", kManifestFile)) == fs::file_type::regular;
}

// Checks that what is there is the checkpoint that was saved, as far as its list of files and their
// sizes say.
absl::Status CheckWhole(const CheckpointEntry& saved) {
  const std::string list = absl::StrCat(saved.path, "/", kManifestFile);
  ASSIGN_OR_RETURN(const std::string text, ReadFile(list));
  ASSIGN_OR_RETURN(const Manifest manifest, ParseManifest(text, list));
  if (ChecksumOf(manifest) != saved.checksum) {
    return absl::DataLossError(absl::StrCat(saved.path, " is another one than the run saved"));
  }
  for (const auto& [name, digest] : manifest) {
    std::error_code error;
    const uintmax_t bytes = fs::file_size(absl::StrCat(saved.path, "/", name), error);
    if (error || bytes != static_cast<uintmax_t>(digest.bytes)) {
      return absl::DataLossError(absl::StrCat(saved.path, "/", name, " is not whole"));
    }
  }
  return absl::OkStatus();
}

void AddCheckpoints(const CampaignPlan& plan, const DurableState& durable, RunGarbage* found) {
  std::vector<std::string> there = ObsoleteCheckpoints(plan, durable);
  std::erase_if(there, [](const std::string& path) { return !IsCheckpoint(path); });
  if (there.empty()) return;
  const absl::Status whole = CheckWhole(durable.checkpoints().back());
  if (!whole.ok()) {
    found->doubt = absl::StrCat("its older checkpoints stay: ", whole.message());
    return;
  }
  const v1::CheckpointConfig& config = plan.campaign.checkpoint();
  const std::string why =
      config.keep_best() ? absl::StrCat("neither among the newest ", config.keep(), " nor the best")
                         : absl::StrCat("not among the newest ", config.keep());
  for (const std::string& path : there) AddItem(path, why, found);
}

// "step-12.tmp-4711", "warmup.tmp-removed"
bool IsCutOff(absl::string_view name) {
  const auto is_number = [](absl::string_view text) {
    return !text.empty() &&
           std::ranges::all_of(text, [](char c) { return absl::ascii_isdigit(c); });
  };
  const size_t end = name.find(kCutOff);
  if (end == absl::string_view::npos) return false;
  absl::string_view step = name.substr(0, end);
  const absl::string_view by = name.substr(end + absl::string_view(kCutOff).size());
  const bool saved = step == "warmup" || (absl::ConsumePrefix(&step, "step-") && is_number(step));
  return saved && (by == "removed" || is_number(by));
}

void AddCutOff(const std::string& checkpoints, RunGarbage* found) {
  for (const fs::path& entry : EntriesOf(checkpoints)) {
    if (KindOf(entry) == fs::file_type::directory && IsCutOff(entry.filename().string())) {
      AddItem(entry, "left of a save or a removal that was cut off", found);
    }
  }
}

void AddServiceLogs(const RunPaths& paths, RunGarbage* found) {
  if (!IsItsOwn(paths, paths.logs())) return;
  for (const fs::path& entry : EntriesOf(paths.logs())) {
    if (KindOf(entry) == fs::file_type::regular && entry.extension() == ".log" &&
        entry.filename() != "whet.log") {
      AddItem(entry, "a service's, of a run that is done", found);
    }
  }
}

void AddLeftOfKilled(const RunPaths& paths, RunGarbage* found) {
  const std::string why = "left of a process that was killed";
  const std::string socket = paths.root() + "/control.sock";
  if (KindOf(socket) == fs::file_type::socket) AddItem(socket, why, found);
  for (const std::string& file : {paths.campaign(), paths.workers(), paths.paused()}) {
    if (KindOf(file + ".tmp") == fs::file_type::regular) AddItem(file + ".tmp", why, found);
  }
}

std::vector<std::string> NamedBy(const CampaignPlan& plan, const DurableState& durable) {
  std::vector<std::string> named = {plan.campaign.model(), plan.campaign.train().kl_reference()};
  for (const CheckpointEntry& saved : durable.checkpoints()) named.push_back(saved.path);
  std::erase(named, "");
  return named;
}

}  // namespace

absl::StatusOr<RunGarbage> FindGarbage(const RunPaths& paths, std::optional<int> keep) {
  ASSIGN_OR_RETURN(OpenedRun run, OpenRun(paths, /*read_only=*/true));
  CampaignPlan& plan = run.plan;
  if (keep) plan.campaign.mutable_checkpoint()->set_keep(*keep);
  ASSIGN_OR_RETURN(const DurableState durable, run.journal->Restore(plan));
  RunGarbage found;
  found.named = NamedBy(plan, durable);
  // What a remote trainer saved is not here, whatever the paths.
  if (!plan.campaign.has_cluster() && IsItsOwn(paths, plan.checkpoint_dir)) {
    AddCheckpoints(plan, durable, &found);
    AddCutOff(plan.checkpoint_dir, &found);
  }
  const int64_t position = durable.position();
  const bool saved = !plan.CheckpointDue(position) || durable.CheckpointSaved(position);
  if (durable.done() && saved) AddServiceLogs(paths, &found);
  AddLeftOfKilled(paths, &found);
  return found;
}

void KeepNamed(const std::vector<std::string>& named, RunGarbage* garbage) {
  const auto real = [](const std::string& path) {
    std::error_code error;
    const fs::path found = fs::weakly_canonical(path, error);
    return error ? path : found.string();
  };
  std::set<std::string> needed;
  for (const std::string& path : named) needed.insert(real(path));
  std::erase_if(garbage->items, [&](const Garbage& item) {
    const std::string path = real(item.path);
    return std::ranges::any_of(needed, [&path](const std::string& other) {
      return other == path || absl::StartsWith(other, path + "/");
    });
  });
}

absl::Status RemoveGarbage(const Garbage& garbage) {
  std::error_code error;
  std::string path = garbage.path;
  if (IsCheckpoint(path) && !IsCutOff(fs::path(path).filename().string())) {
    // Half a checkpoint must not look like one.
    const std::string doomed = path + kRemoved;
    fs::remove_all(doomed, error);
    fs::rename(path, doomed, error);
    path = doomed;
  }
  if (!error) fs::remove_all(path, error);
  if (!error) return absl::OkStatus();
  return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot remove ", garbage.path));
}

}  // namespace whetstone
