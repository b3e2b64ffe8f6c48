#include "coordinator/durable/search_archive.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "common/philox.h"
#include "common/second_turn.h"
#include "common/sha256.h"
#include "common/utf8.h"
#include "coordinator/durable/remembered_programs.h"

namespace whetstone {
namespace {

// It sets this stream of random numbers apart from the samplers'
// (gpu_trainer/engine/sampling/token_sampler.cc).
constexpr uint64_t kStream = 0x7365617263680001;

// What a program is worth as a parent, in logarithm of the speedup: what came of it, nothing if
// nothing did, or where it stands itself while it is untried.
double Value(const ArchivedProgram& program) {
  if (program.groups == 0) return std::log(program.speedup);
  return program.best_child > 0 ? std::log(program.best_child) : 0;
}

const ArchivedProgram& ByPuct(const std::vector<ArchivedProgram>& programs,
                              const std::function<int(const std::string& hash)>& pending,
                              double exploration) {
  const double n = static_cast<double>(programs.size());
  double tried = 0;
  for (const ArchivedProgram& program : programs) tried += program.groups + pending(program.hash);
  // They are in the order of their speedups.
  const double range = std::max(1e-6, std::log(programs.front().speedup / programs.back().speedup));
  const ArchivedProgram* chosen = &programs[0];
  double best = -std::numeric_limits<double>::infinity();
  for (size_t rank = 0; rank < programs.size(); ++rank) {
    const ArchivedProgram& program = programs[rank];
    // The prior falls in a straight line with the rank.
    const double prior = 2 * (n - static_cast<double>(rank)) / (n * (n + 1));
    const double bonus = exploration * range * prior * std::sqrt(1 + tried) /
                         (1 + program.groups + pending(program.hash));
    if (Value(program) + bonus <= best) continue;
    best = Value(program) + bonus;
    chosen = &program;
  }
  return *chosen;
}

// So many failed programs of one group are noted at most: they are much alike.
constexpr int kFailedOfAGroup = 2;
// A token of a program is longer than this only where nobody would write it.
constexpr size_t kTokenBytesMax = 8;

// Returns the beginning of a verdict's detail; whole lines of it, or whole words, unless that is
// less than half of what there is room for. Empty: it says nothing.
std::string FailureText(const v1::Verdict& verdict) {
  const absl::string_view detail = absl::StripAsciiWhitespace(verdict.detail());
  constexpr auto kRoom = static_cast<size_t>(kFailureBytes);
  if (detail.size() <= kRoom) return ToValidUtf8(detail);
  std::string text;
  Utf8Stream().Take(detail.substr(0, kRoom), &text);  // leaves half a character out
  for (const char end : {'\n', ' '}) {
    const size_t at = detail.rfind(end, kRoom);
    if (at == absl::string_view::npos || at < kRoom / 2) continue;
    text = ToValidUtf8(detail.substr(0, at));
    break;
  }
  absl::StripTrailingAsciiWhitespace(&text);
  return text;
}

// Says whether a program that ended so can be mended by who is told why. A policy that learns is
// not shown what is forbidden: it would be told where the screen looks.
bool CanBeMended(const CampaignPlan& plan, v1::Outcome outcome) {
  if (outcome == v1::FORBIDDEN) return plan.campaign.train().frozen();
  return outcome == v1::COMPILE_ERROR || outcome == v1::CRASH || outcome == v1::TIMEOUT ||
         outcome == v1::MEMORY_LIMIT || outcome == v1::WRONG_ANSWER;
}

// Returns the one that was tried least, of equally tried ones the latest.
const FailedProgram& NextToMend(const std::vector<FailedProgram>& failed,
                                const std::function<int(const std::string& hash)>& pending) {
  const auto tried = [&](const FailedProgram& program) {
    return program.groups + pending(program.hash);
  };
  return *std::min_element(failed.rbegin(), failed.rend(),
                           [&](const FailedProgram& left, const FailedProgram& right) {
                             return tried(left) < tried(right);
                           });
}

// Returns `source` without a repetition of the structs, which stand above it in the prompt.
std::string Without(const std::string& structs, std::string source) {
  const size_t at = structs.empty() ? std::string::npos : source.find(structs);
  if (at != std::string::npos) source.erase(at, structs.size());
  return source;
}

// Tells the failed parent of `group` what came of it: once it is mended it has done its service.
void TellFailed(const GroupRecord& group, std::vector<FailedProgram>* failed) {
  const auto parent = std::find_if(
      failed->begin(), failed->end(),
      [&](const FailedProgram& program) { return program.hash == group.parent->hash; });
  if (parent == failed->end()) return;  // there was no room for it any more
  ++parent->groups;
  if (std::any_of(group.samples.begin(), group.samples.end(), [](const CandidateRecord& record) {
        return record.verdict->verdict.outcome() == v1::CORRECT;
      })) {
    failed->erase(parent);
  }
}

// Tells the parent of `group` what came of it.
void TellParent(const GroupRecord& group, ProblemArchive* archive) {
  if (!group.parent->failure.empty()) return TellFailed(group, &archive->failed);
  for (ArchivedProgram& program : archive->programs) {
    if (program.hash != group.parent->hash) continue;
    ++program.groups;
    for (const CandidateRecord& record : group.samples) {
      if (record.verdict->verdict.outcome() != v1::CORRECT) continue;
      if (ProgramHash(record) == program.hash) continue;
      program.best_child = std::max(program.best_child, record.verdict->verdict.speedup());
    }
  }
}

// Puts a program that is another than those there in its place, if there is room.
void Keep(ArchivedProgram program, size_t room, std::vector<ArchivedProgram>* programs) {
  const auto same = [&](const ArchivedProgram& known) {
    return known.hash == program.hash ||
           (!program.object_hash.empty() && known.object_hash == program.object_hash);
  };
  if (std::any_of(programs->begin(), programs->end(), same)) return;
  const auto slower =
      std::find_if(programs->begin(), programs->end(),
                   [&](const ArchivedProgram& other) { return other.speedup < program.speedup; });
  programs->insert(slower, std::move(program));
  if (programs->size() > room) programs->pop_back();
}

size_t RoomOf(const CampaignPlan& plan) {
  return static_cast<size_t>(plan.campaign.search().archive());
}

void AddPrograms(const CampaignPlan& plan, const StepRecord& step, int group_index,
                 std::vector<ArchivedProgram>* programs) {
  const GroupRecord& group = step.groups[static_cast<size_t>(group_index)];
  const std::string& structs = plan.ProblemOf(step.step, group_index).structs;
  for (const CandidateRecord& record : group.samples) {
    const v1::Verdict& verdict = record.verdict->verdict;
    if (!record.source || verdict.speedup_low() <= 1 || !ClearlyFaster(verdict, 1)) continue;
    ArchivedProgram program{.step = step.step,
                            .group_index = group_index,
                            .sample = record.completion->sample(),
                            .hash = ProgramHash(record),
                            .object_hash = verdict.object_hash(),
                            .parent = group.parent ? group.parent->hash : "",
                            .source = Without(structs, *record.source),
                            .speedup = verdict.speedup()};
    Keep(std::move(program), RoomOf(plan), programs);
  }
}

// Adds what may be shown as an answer to mend: it was not cut off, which would be its only fault,
// and leaves room for the next answer; its verdict says something; and it is another than those
// there and than the group's parent, which had its turn.
void AddFailed(const CampaignPlan& plan, int64_t step, const GroupRecord& group,
               std::vector<FailedProgram>* failed) {
  if (plan.campaign.search().repairs() == 0) return;
  const auto bytes_max =
      kTokenBytesMax * static_cast<size_t>(plan.CampaignAt(step).generate().max_new_tokens());
  int added = 0;
  for (const CandidateRecord& record : group.samples) {
    if (added == kFailedOfAGroup) return;
    const v1::Verdict& verdict = record.verdict->verdict;
    if (!record.source || !CanBeMended(plan, verdict.outcome()) ||
        record.source->size() > bytes_max || record.completion->finish() != v1::Completion::STOP) {
      continue;
    }
    FailedProgram program{ProgramHash(record), *record.source, FailureText(verdict)};
    if (program.failure.empty() || (group.parent && group.parent->hash == program.hash) ||
        std::any_of(failed->begin(), failed->end(),
                    [&](const FailedProgram& known) { return known.hash == program.hash; })) {
      continue;
    }
    failed->push_back(std::move(program));
    ++added;
    if (failed->size() > RoomOf(plan)) failed->erase(failed->begin());
  }
}

}  // namespace

SearchArchive FirstArchive(const CampaignPlan& plan) {
  SearchArchive archive;
  for (const PlannedProblem& planned : plan.learned()) {
    for (const KnownProgram& known : planned.known) {
      ArchivedProgram program;
      program.hash = known.hash.empty() ? Sha256Hex(known.source) : known.hash;
      program.source = Without(planned.structs, known.source);
      program.speedup = known.speedup;
      Keep(std::move(program), RoomOf(plan), &archive[planned.problem.id()].programs);
    }
  }
  return archive;
}

bool Searches(const v1::Campaign& campaign) {
  return campaign.search().parents() > 0 || campaign.search().repairs() > 0;
}

void Archive(const CampaignPlan& plan, const StepRecord& step, SearchArchive* archive) {
  if (!Searches(plan.campaign) || IsEvaluation(step.step)) return;
  for (size_t g = 0; g < step.groups.size(); ++g) {
    const int group_index = static_cast<int>(g);
    ProblemArchive& of_problem = (*archive)[plan.ProblemOf(step.step, group_index).problem.id()];
    if (step.groups[g].parent) TellParent(step.groups[g], &of_problem);
    AddPrograms(plan, step, group_index, &of_problem.programs);
    AddFailed(plan, step.step, step.groups[g], &of_problem.failed);
  }
}

std::optional<SearchParent> ChooseParent(const CampaignPlan& plan, const SearchArchive& archive,
                                         const PendingParents& pending, int64_t step,
                                         int group_index) {
  const v1::SearchConfig& config = plan.campaign.search();
  if (!Searches(plan.campaign) || IsEvaluation(step)) return std::nullopt;
  const std::string& id = plan.ProblemOf(step, group_index).problem.id();
  const auto found = archive.find(id);
  if (found == archive.end()) return std::nullopt;
  const auto& [programs, failed] = found->second;
  Philox rng(plan.campaign.seed(),
             {static_cast<uint64_t>(step), static_cast<uint64_t>(group_index), kStream, 0});
  const double share = rng.Uniform();
  const auto waiting = [&](const std::string& hash) {
    const auto groups = pending.find({id, hash});
    return groups == pending.end() ? 0 : groups->second;
  };
  if (share < config.parents()) {
    if (programs.empty()) return std::nullopt;
    const ArchivedProgram& parent = ByPuct(programs, waiting, config.exploration());
    return SearchParent{parent.hash, parent.source, parent.speedup, /*failure=*/""};
  }
  if (share >= config.parents() + config.repairs() || failed.empty()) return std::nullopt;
  const FailedProgram& parent = NextToMend(failed, waiting);
  return SearchParent{parent.hash, parent.source, /*speedup=*/0, parent.failure};
}

}  // namespace whetstone
