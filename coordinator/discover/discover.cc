#include "coordinator/discover/discover.h"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/file.h"
#include "common/host.h"
#include "common/problem/problem_hash.h"
#include "common/source_place.h"
#include "common/status_macros.h"
#include "coordinator/config/campaign_parser.h"
#include "coordinator/config/setting_changes.h"
#include "coordinator/discover/import_answers.h"
#include "coordinator/discover/local_check.h"
#include "coordinator/discover/own_problem.h"
#include "coordinator/discover/rule_search.h"
#include "coordinator/discover/verdict_log.h"
#include "coordinator/journal/campaign_setup.h"
#include "coordinator/journal/change_settings.h"
#include "coordinator/journal/create_run.h"
#include "coordinator/journal/open_run.h"
#include "coordinator/loop/endpoint_approval.h"
#include "coordinator/loop/local_worker.h"
#include "coordinator/loop/model_check.h"
#include "coordinator/loop/run_campaign.h"
#include "coordinator/process/child_process.h"
#include "coordinator/prompt/prompt_file.h"
#include "coordinator/terminal/ask.h"
#include "coordinator/yaml/yaml_writer.h"

namespace whetstone {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// What a GRPO step of the small model takes on two cores, after a warm-up as long as eight; and a
// step of an endpoint at the least: the budget ends what is planned too long.
constexpr StepTime kStepsHere = {.seconds = 20, .steps_before = 8};
constexpr StepTime kStepsElsewhere = {.seconds = 1, .steps_before = 0};

// Returns a path as YAML.
std::string AbsoluteInYaml(const std::string& path) {
  return QuotedText(fs::absolute(path).string());
}

// Returns what of the options the campaign is made of, a line each: not how an endpoint is asked.
std::string SettingsOf(const DiscoverOptions& options) {
  std::string settings;
  if (!options.campaign.empty()) absl::StrAppend(&settings, "--campaign ", options.campaign, "\n");
  if (!options.endpoint.empty()) {
    absl::StrAppend(&settings, "--endpoint ", options.endpoint, " --model ", options.model, "\n");
  }
  for (const std::string& set : options.sets) {
    if (!SaysHowAnEndpointIsAsked(set)) absl::StrAppend(&settings, "--set ", set, "\n");
  }
  return settings;
}

// A Search is one call of Discover.
class Search {
 public:
  Search(const DiscoverOptions& options, DiscoverFolder folder, StopSignals* signals,
         Console* console)
      : options_(options),
        settings_(SettingsOf(options)),
        folder_(std::move(folder)),
        signals_(signals),
        console_(console) {
    if (options_.campaign.empty()) {
      options_.campaign =
          absl::StrCat(ProgramDirectory(), "/../../../deploy/",
                       options_.endpoint.empty() ? "discover.yaml" : "endpoint.yaml");
    }
  }

  absl::StatusOr<Discovery> Run() {
    RETURN_IF_ERROR(folder_.CheckUnchanged());
    if (!folder_.Approved() && !options_.yes && !console_->CanAsk()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "nobody has approved ", folder_.problem(),
          ": whatever passes its check counts as right. Look at it, and at what whet problem check "
          "says of it; then run this again with --yes"));
    }
    ASSIGN_OR_RETURN(problem_, ParsePromptFile(folder_.problem()));
    // A campaign that cannot run is known before minutes are spent on what comes first.
    ASSIGN_OR_RETURN(const bool begun, RunBegun());
    RETURN_IF_ERROR(begun ? folder_.CheckSettings(settings_) : CheckCampaign());
    RETURN_IF_ERROR(Local());
    // What was found counts, however the campaign ends.
    const absl::Status campaign = signals_->stopped() ? absl::OkStatus() : Campaign(begun);
    const auto stopped = [this] { return signals_->stopped(); };
    ASSIGN_OR_RETURN(DiscoverResult result,
                     Conclude(folder_, problem_, /*verify=*/!stopped(), stopped,
                              [this](const std::string& text) { console_->Status(text); }));
    result.unproved_speedup = unproved_speedup_;
    return Discovery{std::move(folder_), std::move(result), campaign, stopped()};
  }

 private:
  // Says whether the campaign has got anywhere: one that has not is made again, of today's
  // settings.
  absl::StatusOr<bool> RunBegun() const {
    const RunPaths paths(folder_.run());
    std::error_code error;
    if (!fs::exists(paths.campaign(), error) || Journal::IsEmpty(paths.journal())) return false;
    ASSIGN_OR_RETURN(const OpenedRun run, OpenRun(RunPaths(RunRoot()), /*read_only=*/true));
    return run.journal->HasProgress();
  }

  // What needs a worker of its own: the check, and the rules.
  absl::Status Local() {
    std::error_code error;
    const bool ruled = fs::exists(folder_.rule_result(), error);
    if (folder_.Approved() && ruled) return ApproveCost();
    console_->Status("starting a worker");
    ASSIGN_OR_RETURN(const std::unique_ptr<LocalWorker> worker, LocalWorker::Start());
    // Who edits the problem before he says yes gets that checked too.
    while (!folder_.Approved()) {
      ASSIGN_OR_RETURN(const std::string text, ReadFile(folder_.problem()));
      ASSIGN_OR_RETURN(problem_, ParsePrompt(text, folder_.problem()));
      RETURN_IF_ERROR(Check(text, worker.get()));
      RETURN_IF_ERROR(Ask());
      RETURN_IF_ERROR(folder_.Approve(text));
    }
    RETURN_IF_ERROR(ApproveCost());
    return ruled ? absl::OkStatus() : Rules(worker.get());
  }

  absl::Status Check(const std::string& text, LocalWorker* worker) {
    ASSIGN_OR_RETURN(const ProblemReport report,
                     CheckOnWorker(problem_, text, folder_.problem(), /*quick=*/false, worker,
                                   console_, [this] { return signals_->stopped(); }));
    console_->Line(report.Table());
    if (report.sound()) return absl::OkStatus();
    if (!report.proven) {
      return absl::UnavailableError(
          absl::StrCat(folder_.problem(), " wants more of this machine than it has; see above"));
    }
    return absl::InvalidArgumentError(
        absl::StrCat("this problem would not tell right from wrong, or fast from slow; put right "
                     "what FAILED in ",
                     folder_.problem(), " and run whet discover again"));
  }

  absl::Status Ask() {
    if (options_.yes) return absl::OkStatus();
    const std::string question =
        absl::StrCat("A program is right if it passes this check. Edit ", folder_.problem(),
                     " if it should be stricter.\nGo on? [y/N]");
    if (AskYes(question, signals_, console_)) return absl::OkStatus();
    return absl::CancelledError(
        absl::StrCat("not approved; edit ", folder_.problem(), " and run this again"));
  }

  absl::Status Rules(LocalWorker* worker) {
    ASSIGN_OR_RETURN(
        VerdictLog log,
        VerdictLog::Open(folder_.rule_log(), absl::StrCat(ProblemHash(problem_), " ", HostId())));
    console_->Line(log.size() == 0
                       ? std::string("rules first: what they make of the function is measured")
                       : absl::StrCat("rules go on: ", log.size(), " programs are measured"));
    absl::Status worker_failure;
    const RuleSearchTools tools{.worker = worker,
                                .console = console_,
                                .stopped = [this] { return signals_->stopped(); },
                                .log = &log,
                                .worker_failure = &worker_failure};
    const RewriteOptions options;
    ASSIGN_OR_RETURN(RewriteSearch search,
                     SearchByRules(problem_, options, ShareOfRules(options_.budget), tools));
    console_->Line(SearchText(problem_, search, options, /*remedy=*/""));
    if (signals_->stopped()) {
      if (search.fastest) unproved_speedup_ = search.fastest->speedup;
      return absl::OkStatus();  // The log has it.
    }
    // Where the worker is gone nothing of it counts; tried again, the log answers at once.
    RETURN_IF_ERROR(worker_failure);
    if (!WentThrough(search) && !absl::IsCancelled(search.ended)) {
      console_->Notice(absl::StrCat("rules: ", search.ended.message(),
                                    "; the search goes on from what they had found"));
    }
    ASSIGN_OR_RETURN(const std::vector<ProvedRewrite> proved, Prove(&search, worker));
    RETURN_IF_ERROR(WriteFileAtomically(folder_.rewrites(), ExamplesOf(problem_, search.kept)));
    RETURN_IF_ERROR(WriteFileAtomically(folder_.known(), ExamplesOf(problem_, ToShow(search))));
    return WriteRuleResult(folder_, search, proved);
  }

  // Proves the fastest program that is still right, if there is one; what is not is not taught.
  absl::StatusOr<std::vector<ProvedRewrite>> Prove(RewriteSearch* search, LocalWorker* worker) {
    std::vector<FoundRewrite> programs = search->kept;
    if (search->fastest) programs.insert(programs.begin(), *search->fastest);
    const std::string folder = absl::StrCat(folder_.rule_proof(), "/", problem_.id());
    for (const FoundRewrite& program : programs) {
      const absl::StatusOr<v1::Verdict> verdict = ProveProgram(problem_, program, folder, worker);
      if (verdict.ok()) return std::vector<ProvedRewrite>{{program, *verdict}};
      if (!absl::IsFailedPrecondition(verdict.status())) return verdict.status();
      console_->Notice(absl::StrCat("rules: ", verdict.status().message()));
      std::erase_if(search->kept,
                    [&](const FoundRewrite& rewrite) { return rewrite.source == program.source; });
      if (search->fastest && search->fastest->source == program.source) search->fastest.reset();
    }
    return std::vector<ProvedRewrite>();
  }

  absl::StatusOr<v1::Campaign> LoadOwnCampaign(std::vector<std::string>* sets) const {
    *sets = {absl::StrCat("problems=[", AbsoluteInYaml(folder_.problem()), "]"),
             absl::StrCat("name=discover-", absl::StrReplaceAll(problem_.id(), {{"_", "-"}}))};
    if (!options_.endpoint.empty()) {
      sets->push_back(absl::StrCat("policy.endpoint=", QuotedText(options_.endpoint)));
      sets->push_back(absl::StrCat("policy.model=", QuotedText(options_.model)));
    }
    std::vector<std::string> all = *sets;
    all.insert(all.end(), options_.sets.begin(), options_.sets.end());
    ASSIGN_OR_RETURN(const v1::Campaign first, LoadCampaign(options_.campaign, all));
    const bool elsewhere = !first.policy().endpoint().empty();
    const int rollouts = first.train().prompts_per_step() * first.train().group_size();
    if (!elsewhere) {
      sets->push_back(absl::StrCat("warmup.rewrites=", AbsoluteInYaml(folder_.rewrites())));
    } else if (first.search().parents() > 0) {
      sets->push_back(absl::StrCat("search.rewrites=", AbsoluteInYaml(folder_.known())));
    }
    sets->push_back(absl::StrCat(
        "train.steps=",
        PlannedSteps(options_.budget, rollouts, elsewhere ? kStepsElsewhere : kStepsHere)));
    sets->insert(sets->end(), options_.sets.begin(), options_.sets.end());
    return LoadCampaign(options_.campaign, *sets);
  }

  absl::StatusOr<CampaignPlan> Plan(const v1::Campaign& campaign,
                                    const std::vector<std::string>& sets) const {
    if (campaign.has_cluster()) {
      return ErrorAt(PlaceInCampaign(options_.campaign, sets, "cluster"),
                     "'cluster': whet discover works on this machine alone; leave it out");
    }
    const std::string id = NewCampaignId(campaign.name());
    ASSIGN_OR_RETURN(CampaignPlan plan,
                     BuildPlan(campaign, id, CheckpointDir(campaign, RunPaths(RunRoot()), id)));
    const auto place = [&](const std::string& key) {
      return PlaceInCampaign(options_.campaign, sets, key);
    };
    RETURN_IF_ERROR(CheckLocalModel(plan, place, signals_).status());
    return plan;
  }

  absl::Status CheckCampaign() {
    std::error_code error;
    std::string found;  // by rules, before there was known.jsonl
    if (fs::exists(folder_.rewrites(), error)) {
      ASSIGN_OR_RETURN(found, ReadFile(folder_.rewrites()));
    }
    for (const std::string& file : {folder_.rewrites(), folder_.known()}) {
      if (!fs::exists(file, error)) RETURN_IF_ERROR(WriteFileAtomically(file, found));
    }
    std::vector<std::string> sets;
    ASSIGN_OR_RETURN(const v1::Campaign campaign, LoadOwnCampaign(&sets));
    elsewhere_ = !campaign.policy().endpoint().empty();
    ASSIGN_OR_RETURN(planned_, Plan(campaign, sets));
    return absl::OkStatus();
  }

  // What is asked of another's machine may cost money. The time that an answer takes is nobody's.
  absl::Status ApproveCost() {
    if (planned_) RETURN_IF_ERROR(ApproveEndpoint(*planned_, options_.yes, signals_, console_));
    begun_ = Clock::now();
    return absl::OkStatus();
  }

  std::string RunRoot() const { return fs::absolute(folder_.run()).lexically_normal().string(); }

  // Says, after each update, whether the budget is spent.
  bool Spent(const CampaignPlan& plan, const v1::UpdateName& done) const {
    // The last step saves its checkpoint and ends by itself.
    if (done.phase() == v1::UpdateName::GRPO && done.step() >= plan.campaign.train().steps()) {
      return false;
    }
    if (options_.budget.seconds) {
      return std::chrono::duration<double>(Clock::now() - begun_).count() >=
             *options_.budget.seconds;
    }
    return SpentCandidates(plan, done.phase() == v1::UpdateName::GRPO ? done.step() : 0);
  }

  bool SpentCandidates(const CampaignPlan& plan, int64_t steps) const {
    if (!options_.budget.candidates) return false;
    const v1::TrainConfig& train = plan.campaign.train();
    return steps * train.prompts_per_step() * train.group_size() >=
           *options_.budget.candidates - *ShareOfRules(options_.budget).candidates;
  }

  absl::Status Campaign(bool begun) {
    if (begun) {
      ASSIGN_OR_RETURN(const RunDir run_dir,
                       RunDir::Open(folder_.run(), RunDir::kPatience,
                                    [this](const std::string& what) { console_->Line(what); }));
      ASSIGN_OR_RETURN(OpenedRun run, OpenRun(run_dir.paths(), /*read_only=*/false));
      std::vector<std::string> sets = options_.sets;
      std::erase_if(sets, [](const std::string& set) { return !SaysHowAnEndpointIsAsked(set); });
      RETURN_IF_ERROR(ChangeSettings(sets, &run).status());
      return RunToBudget(run.plan, run_dir.paths(), run.journal.get());
    }
    std::vector<std::string> sets;
    ASSIGN_OR_RETURN(const v1::Campaign campaign, LoadOwnCampaign(&sets));
    ASSIGN_OR_RETURN(const CampaignPlan plan, Plan(campaign, sets));
    RETURN_IF_ERROR(WriteFileAtomically(folder_.settings(), settings_));
    ASSIGN_OR_RETURN(const CreatedRun run, CreateRun(plan, RunRoot()));
    console_->Line(
        elsewhere_ ? absl::StrCat("search: ", campaign.policy().model(), " is asked in up to ",
                                  campaign.train().steps(), " steps, in ", folder_.run())
                   : absl::StrCat("campaign: ", plan.warmup_updates(), " updates of warm-up, then ",
                                  campaign.train().steps(), " steps of GRPO, in ", folder_.run()));
    return RunToBudget(plan, RunPaths(RunRoot()), run.journal.get());
  }

  absl::Status RunToBudget(const CampaignPlan& plan, const RunPaths& paths, Journal* journal) {
    ASSIGN_OR_RETURN(const int64_t steps, StepsDone(*journal));
    if (steps < plan.campaign.train().steps() && SpentCandidates(plan, steps)) {
      console_->Line("the budget is spent; a larger --budget goes on");
      return absl::OkStatus();
    }
    const absl::Status status =
        RunCampaign(plan, paths, journal, signals_, console_,
                    [&](const v1::UpdateName& done) { return Spent(plan, done); });
    if (absl::IsCancelled(status)) return absl::OkStatus();  // By the operator, or the budget.
    if (!status.ok()) console_->Line("nothing is lost; run whet discover again, and it goes on");
    return status;
  }

  DiscoverOptions options_;
  const std::string settings_;
  DiscoverFolder folder_;
  StopSignals* const signals_;
  Console* const console_;
  v1::Problem problem_;
  bool elsewhere_ = false;                  // a model behind an endpoint writes the programs
  std::optional<CampaignPlan> planned_;     // nothing: it has begun
  std::optional<double> unproved_speedup_;  // of what rules have found, where they were stopped
  Clock::time_point begun_ = Clock::now();  // from here on the budget's time counts
};

// The search's own keys are not the operator's to set.
absl::Status CheckSets(const DiscoverOptions& options) {
  for (const std::string& set : options.sets) {
    const std::string key = set.substr(0, set.find('='));
    for (const char* own :
         {"problems", "name", "warmup", "warmup.rewrites", "search", "search.rewrites", "train"}) {
      if (key != own) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("--set ", key,
                       ": whet discover sets problems, name, warmup.rewrites or search.rewrites "
                       "and train.steps itself; of warmup, search and train name single keys, as "
                       "in warmup.nearest=96"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<DiscoverFolder> OpenFolder(const DiscoverOptions& options, Console* console) {
  ASSIGN_OR_RETURN(const std::string given, ReadFile(options.file));
  const std::string root =
      options.out.empty() ? absl::StrCat("runs/discover-", fs::path(options.file).stem().string())
                          : options.out;
  OwnProblemOptions own{options.file,
                        options.function,
                        {},
                        options.answers,
                        /*ask=*/!options.yes && console->CanAsk()};
  ASSIGN_OR_RETURN(own.generator, ReadGeneratorFile(options.generator));
  if (DiscoverFolder::Holds(root)) return DiscoverFolder::Open(root, given, AskedOf(own));
  ASSIGN_OR_RETURN(const std::string problem, OwnProblem(own, console));
  return DiscoverFolder::Create(root, given, AskedOf(own), problem);
}

}  // namespace

absl::StatusOr<Discovery> Discover(const DiscoverOptions& options, StopSignals* signals,
                                   Console* console) {
  RETURN_IF_ERROR(CheckSets(options));
  // Until there is a folder, a Ctrl-C breaks nothing: a worker ends with this process.
  signals->OnStop([] { _exit(kExitStopped); });
  absl::StatusOr<DiscoverFolder> opened = OpenFolder(options, console);
  signals->OnStop(nullptr);
  ASSIGN_OR_RETURN(DiscoverFolder folder, std::move(opened));
  console->Line(absl::StrCat("in ", folder.root(), ": ", folder.problem(),
                             folder.Approved() ? ", approved; going on" : ""));
  return Search(options, std::move(folder), signals, console).Run();
}

}  // namespace whetstone
