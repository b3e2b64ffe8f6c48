#include "coordinator/eval/eval_models.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/file.h"
#include "common/manifest.h"
#include "common/sha256.h"
#include "common/status_macros.h"
#include "coordinator/journal/open_run.h"
#include "coordinator/journal/run_dir.h"

namespace whetstone {
namespace {

namespace fs = std::filesystem;

constexpr size_t kNameMax = 80;

bool Exists(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

std::string Absolute(const std::string& path) {
  std::string absolute = fs::absolute(path).lexically_normal().string();
  while (absolute.size() > 1 && absolute.back() == '/') absolute.pop_back();
  return absolute;
}

// Returns a path's last part, or the last two where the first of them is a run's.
std::string NameOfPath(const std::string& path) {
  const fs::path p(path);
  const std::string last = p.filename().string();
  if (p.parent_path().filename() != "checkpoints") return last;
  return absl::StrCat(p.parent_path().parent_path().filename().string(), "-", last);
}

bool IsName(const std::string& name) {
  const auto ok = [](char c) { return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.'; };
  return !name.empty() && name.size() <= kNameMax && name[0] != '.' &&
         std::all_of(name.begin(), name.end(), ok);
}

// Returns the path of a run's checkpoint: of the last one if `which` is empty.
absl::StatusOr<std::string> CheckpointOf(const OpenedRun& run, const std::string& root,
                                         const std::string& which) {
  ASSIGN_OR_RETURN(const DurableState durable, run.journal->Restore(run.plan));
  int64_t step = 0;
  const std::string wanted = absl::SimpleAtoi(which, &step) ? absl::StrCat("step-", step) : which;
  const bool remote = run.plan.campaign.has_cluster();
  std::vector<std::string> there;
  std::string found;
  for (const CheckpointEntry& saved : durable.checkpoints()) {
    const std::string name = fs::path(saved.path).filename().string();
    if (!remote && !Exists(saved.path)) continue;
    there.push_back(name);
    if (wanted.empty() || name == wanted) found = saved.path;
  }
  if (!found.empty()) return found;
  if (there.empty()) {
    return absl::NotFoundError(absl::StrCat(root, " has no checkpoint (checkpoint.every)"));
  }
  return absl::NotFoundError(
      absl::StrCat(root, " has no checkpoint '", which,
                   "', or no longer (checkpoint.keep); there are: ", absl::StrJoin(there, ", ")));
}

absl::Status FillFromRun(const std::string& root, const std::string& which, NamedModel* model) {
  ASSIGN_OR_RETURN(const RunPaths paths, RunDir::Find(root));
  ASSIGN_OR_RETURN(const OpenedRun run, OpenRun(paths, /*read_only=*/true));
  if (const v1::PolicyConfig& policy = run.plan.campaign.policy(); !policy.endpoint().empty()) {
    return absl::NotFoundError(absl::StrCat(root, " has no model of its own: ", policy.endpoint(),
                                            "#", policy.model(),
                                            " is the one that wrote its programs"));
  }
  ASSIGN_OR_RETURN(model->path, CheckpointOf(run, paths.root(), which));
  model->name = absl::StrCat(fs::path(paths.root()).filename().string(), "-",
                             fs::path(model->path).filename().string());
  model->run = run.plan.campaign;
  return absl::OkStatus();
}

absl::Status FillFromDirectory(const std::string& word, NamedModel* model) {
  model->path = Absolute(word);
  if (Exists(model->path + "/adapter_config.json")) {
    const std::string merged = fs::path(model->path).parent_path().string();
    if (!Exists(absl::StrCat(merged, "/", kManifestFile))) {
      return absl::InvalidArgumentError(absl::StrCat(
          word,
          " holds adapters without their model: a checkpoint of a run has both, and its "
          "directory can be named; merge others into their model first (peft: merge_and_unload)"));
    }
    model->path = merged;
  }
  model->name = NameOfPath(model->path);
  return absl::OkStatus();
}

// Returns the model under `name`; empty: under the one it has.
absl::StatusOr<NamedModel> Named(NamedModel model, const std::string& name) {
  if (!name.empty()) model.name = name;
  if (IsName(model.name)) return model;
  return absl::InvalidArgumentError(absl::StrCat(
      "'", model.name, "' can't name a model: at most ", kNameMax,
      " letters, digits, '-', '_' and '.', not '.' first; name it with NAME=", model.word));
}

bool IsUrl(const std::string& word) {
  return absl::StartsWith(word, "http://") || absl::StartsWith(word, "https://");
}

absl::Status FillFromEndpoint(const std::string& word, NamedModel* model) {
  const size_t hash = word.find('#');
  if (hash == std::string::npos || hash + 1 == word.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        word, " names no model of that endpoint: write URL#MODEL, such as ", word, "#qwen-7b"));
  }
  model->endpoint = word.substr(0, hash);
  model->path = word.substr(hash + 1);
  model->name = fs::path(model->path).filename().string();
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<NamedModel> FindModel(const std::string& word) {
  NamedModel model;
  model.word = word;
  std::string what = word, name;
  const size_t equals = word.find('=');
  if (equals != std::string::npos && !IsUrl(word) && !Exists(word)) {
    name = word.substr(0, equals);
    what = word.substr(equals + 1);
  }
  if (IsUrl(what)) {
    RETURN_IF_ERROR(FillFromEndpoint(what, &model));
    return Named(std::move(model), name);
  }
  const size_t at = Exists(what) ? std::string::npos : what.rfind('@');
  const std::string root = what.substr(0, at);
  if (RunDir::Find(root).ok()) {
    const std::string which = at == std::string::npos ? "" : what.substr(at + 1);
    RETURN_IF_ERROR(FillFromRun(root, which, &model));
  } else if (at != std::string::npos) {
    return RunDir::Find(root).status();
  } else {
    RETURN_IF_ERROR(FillFromDirectory(what, &model));
  }
  return Named(std::move(model), name);
}

std::string ModelIdentity(const NamedModel& model) {
  if (!model.endpoint.empty()) return "";
  const std::string& path = model.path;
  const absl::StatusOr<std::string> manifest = ReadFile(absl::StrCat(path, "/", kManifestFile));
  if (manifest.ok()) return Sha256Hex(*manifest);
  const absl::StatusOr<std::string> config = ReadFile(path + "/config.json");
  if (!config.ok()) return "";
  std::set<std::string> files;
  std::error_code error;
  for (const auto& file : fs::directory_iterator(path, error)) {
    if (file.path().extension() != ".safetensors") continue;
    files.insert(absl::StrCat(file.path().filename().string(), " ", file.file_size(error), " ",
                              file.last_write_time(error).time_since_epoch().count()));
  }
  return Sha256Hex(absl::StrCat(*config, "\n", absl::StrJoin(files, "\n")));
}

}  // namespace whetstone
