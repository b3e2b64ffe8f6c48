#include "coordinator/journal/fork_run.h"

#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "coordinator/journal/campaign_setup.h"
#include "coordinator/journal/change_settings.h"
#include "coordinator/journal/open_run.h"
#include "coordinator/journal/run_identity.h"

namespace whetstone {
namespace {

namespace fs = std::filesystem;

absl::StatusOr<CheckpointEntry> ChooseCheckpoint(const OpenedRun& run,
                                                 const std::optional<int64_t>& step) {
  ASSIGN_OR_RETURN(const DurableState durable, run.journal->Restore(run.plan));
  std::vector<std::string> known;
  for (auto saved = durable.checkpoints().rbegin(); saved != durable.checkpoints().rend();
       ++saved) {
    const bool warm = saved->name.phase() == v1::UpdateName::WARMUP;
    if (!step || *step == (warm ? 0 : saved->name.step())) return *saved;
    known.push_back(PhaseStep(saved->name));
  }
  return absl::NotFoundError(absl::StrCat(run.plan.campaign_id,
                                          " saved no such checkpoint; there are: ",
                                          known.empty() ? "none" : absl::StrJoin(known, ", ")));
}

// A file of a checkpoint is never written again.
absl::Status LinkOrCopy(const std::string& from, const std::string& to) {
  RETURN_IF_ERROR(MakeDirectories(fs::path(to).parent_path().string()));
  std::error_code error;
  fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::create_hard_links, error);
  if (error) {
    fs::remove_all(to, error);
    fs::copy(from, to, fs::copy_options::recursive, error);
  }
  if (!error) return absl::OkStatus();
  return absl::Status(error == std::errc::no_such_file_or_directory ? absl::StatusCode::kNotFound
                                                                    : absl::StatusCode::kInternal,
                      absl::StrCat("cannot copy ", from, " to ", to, ": ", error.message()));
}

absl::Status CheckGoesOn(const ForkOptions& options) {
  if (!options.stopped || !options.stopped()) return absl::OkStatus();
  return absl::CancelledError("stopped; nothing of the fork is left");
}

absl::StatusOr<std::string> MakeFork(const RunPaths& source, const ForkOptions& options,
                                     const RunPaths& fork) {
  ASSIGN_OR_RETURN(const OpenedRun run, OpenRun(source, /*read_only=*/true));
  ASSIGN_OR_RETURN(const CheckpointEntry checkpoint, ChooseCheckpoint(run, options.step));
  RETURN_IF_ERROR(MakeDirectories(fork.root()));
  for (const std::string& path : {checkpoint.path, run.plan.ReferencePath(), source.inputs()}) {
    RETURN_IF_ERROR(CheckGoesOn(options));
    if (!absl::StartsWith(path, source.root() + "/")) continue;  // it stays where it is
    const std::string copy = fork.root() + path.substr(source.root().size());
    std::error_code error;
    if (!fs::exists(copy, error)) RETURN_IF_ERROR(LinkOrCopy(path, copy));
  }
  if (std::error_code error; fs::exists(source.workers(), error)) {
    ASSIGN_OR_RETURN(const std::string workers, ReadFile(source.workers()));
    RETURN_IF_ERROR(WriteFileAtomically(fork.workers(), workers));
  }
  std::string text = run.journal->Fact("campaign");
  if (text.empty()) {
    ASSIGN_OR_RETURN(text, ReadFile(source.campaign()));
  }
  RETURN_IF_ERROR(WriteFileAtomically(fork.campaign(), text));
  const std::string origin =
      absl::StrCat("a fork of ", run.plan.campaign_id, " at ", PhaseStep(checkpoint.name));
  RETURN_IF_ERROR(CheckGoesOn(options));
  {
    ASSIGN_OR_RETURN(const std::unique_ptr<Journal> journal,
                     run.journal->ForkTo(fork.journal(), checkpoint.name));
    ASSIGN_OR_RETURN(const std::string here, DirectoryMark(fork.root()));
    RETURN_IF_ERROR(journal->SetFacts({{"campaign_id", NewCampaignId(run.plan.campaign.name())},
                                       {"directory", here},
                                       {"origin", origin}}));
  }
  ASSIGN_OR_RETURN(OpenedRun forked, OpenRun(fork, /*read_only=*/false));
  RETURN_IF_ERROR(ChangeSettings(options.sets, &forked, options.check).status());
  RETURN_IF_ERROR(CheckGoesOn(options));
  return origin;
}

}  // namespace

absl::StatusOr<std::string> ForkRun(const RunPaths& source, const ForkOptions& options,
                                    const std::string& root) {
  const std::string whole = RunPaths(root).root();
  std::error_code error;
  if (fs::exists(whole, error)) {
    return absl::AlreadyExistsError(
        absl::StrCat(root, " is already there; --run-dir names another"));
  }
  // It has its name once it is complete.
  const RunPaths part(whole + ".part");
  fs::remove_all(part.root(), error);
  absl::StatusOr<std::string> origin = MakeFork(source, options, part);
  if (origin.ok()) {
    fs::rename(part.root(), whole, error);
    if (error) {
      origin = absl::InternalError(
          absl::StrCat("cannot name ", part.root(), " ", whole, ": ", error.message()));
    }
  }
  if (!origin.ok()) fs::remove_all(part.root(), error);
  return origin;
}

}  // namespace whetstone
