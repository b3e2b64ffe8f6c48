#include "coordinator/report/rollout_view.h"

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/nearest.h"
#include "common/status_macros.h"
#include "coordinator/report/outcome_names.h"
#include "coordinator/report/program_diff.h"
#include "coordinator/report/verdict_json.h"

namespace whetstone {
namespace {

struct Place {
  int64_t step = 0;
  int group_index = 0;
  int sample = 0;
};

// The opposite of RolloutPlace.
std::optional<Place> ParsePlace(absl::string_view which) {
  const std::vector<absl::string_view> words = absl::StrSplit(which, '/');
  if (words.size() != 3) return std::nullopt;
  absl::string_view number = words[0];
  const bool evaluation = absl::ConsumePrefix(&number, "eval-");
  Place place;
  if (!absl::SimpleAtoi(number, &place.step) || place.step < (evaluation ? 0 : 1) ||
      !absl::SimpleAtoi(words[1], &place.group_index) || place.group_index < 0 ||
      !absl::SimpleAtoi(words[2], &place.sample) || place.sample < 0) {
    return std::nullopt;
  }
  if (evaluation) place.step = -place.step;
  return place;
}

absl::Status CheckProblem(const CampaignPlan& plan, const std::string& problem) {
  std::vector<std::string> known;
  for (const PlannedProblem& each : plan.learned()) known.push_back(each.problem.id());
  if (problem.empty() || std::ranges::count(known, problem) > 0) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat("the campaign has no problem '", problem,
                                          "'; did you mean '", Nearest(problem, known), "'?"));
}

absl::StatusOr<Place> BestOrWorst(const CampaignPlan& plan, const Journal& journal, bool best,
                                  const std::string& problem) {
  RETURN_IF_ERROR(CheckProblem(plan, problem));
  std::optional<Place> found;
  double reward = 0;
  // They come with the newest first.
  RETURN_IF_ERROR(
      journal.ForEachNewestVerdict(std::numeric_limits<int64_t>::max(), [&](const VerdictEntry& v) {
        if (IsEvaluation(v.step) || v.dropped) return;
        if (!problem.empty() && plan.ProblemOf(v.step, v.group_index).problem.id() != problem) {
          return;
        }
        if (found && (best ? v.reward < reward : v.reward > reward)) return;
        found = Place{v.step, v.group_index, v.sample};
        reward = v.reward;
      }));
  if (found) return *found;
  return absl::NotFoundError(absl::StrCat(
      "nothing was measured yet", problem.empty() ? "" : absl::StrCat(" of '", problem, "'")));
}

absl::StatusOr<Place> FindPlace(const CampaignPlan& plan, const Journal& journal,
                                absl::string_view which, const std::string& problem) {
  const std::string word = absl::AsciiStrToLower(which);
  if (word == "best" || word == "worst") return BestOrWorst(plan, journal, word == "best", problem);
  const std::optional<Place> place = ParsePlace(word);
  if (!place) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", which,
                     "' is no rollout: write STEP/GROUP/SAMPLE as in 12/0/3, eval-10/0/3 of the "
                     "evaluation after ten steps, best or worst"));
  }
  if (!problem.empty()) {
    return absl::InvalidArgumentError("--problem chooses among rollouts for best and worst only");
  }
  return *place;
}

std::string VerdictText(const RolloutView& view) {
  if (!view.verdict) return "not measured yet";
  const v1::Verdict& v = view.verdict->verdict;
  std::string text = OutcomeNameOf(v.outcome()).name;
  if (v.timed() && v.speedup() > 0) {
    absl::StrAppendFormat(&text, ", %.2f× as fast as the reference (%.2f to %.2f)", v.speedup(),
                          v.speedup_low(), v.speedup_high());
  }
  absl::StrAppendFormat(&text, ", reward %.3f", view.verdict->reward);
  if (view.verdict->dropped) text += ", not learned from";
  for (const v1::SizeResult& size : v.sizes()) {
    absl::StrAppendFormat(&text, "\n  %s: %.2f×, reference %.0f ns, program %.0f ns",
                          SizeText(size), size.speedup(), size.reference_ns(), size.candidate_ns());
  }
  if (v.techniques_size() > 0) {
    absl::StrAppend(&text, "\n  techniques: ", absl::StrJoin(v.techniques(), ", "));
  }
  return text;
}

std::string CompletionText(const v1::Completion& completion) {
  const int tokens = TokenCount(completion);
  std::string text = tokens == 0 ? "an unknown number of tokens" : absl::StrCat(tokens, " tokens");
  if (completion.finish() == v1::Completion::LENGTH) {
    text += ", cut off by generate.max_new_tokens or the context's end";
  } else if (completion.finish() == v1::Completion::DEADLINE) {
    text += ", cut off by generate.deadline_s";
  }
  const auto& logprobs = completion.sampling_logprobs();
  if (logprobs.empty()) return text;
  double sum = 0;
  for (const float logprob : logprobs) sum += logprob;
  const auto least = std::ranges::min_element(logprobs);
  absl::StrAppendFormat(&text, "; log-probability %.2f at the mean, %.2f at the least (token %d)",
                        sum / logprobs.size(), *least, least - logprobs.begin() + 1);
  return text;
}

std::string ParentText(const SearchParent& parent) {
  return parent.failure.empty()
             ? absl::StrFormat("a program that is %.2f× as fast, in the reference's place",
                               parent.speedup)
             : absl::StrCat("a program to mend: ", parent.failure);
}

void Section(const std::string& title, absl::string_view body, std::string* text) {
  while (absl::ConsumePrefix(&body, "\n")) {
  }
  body = absl::StripTrailingAsciiWhitespace(body);
  if (!body.empty()) absl::StrAppend(text, "\n\n", title, ":\n", body);
}

// What a policy writes may not drive the terminal.
std::string Printable(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return absl::ascii_iscntrl(c) && c != '\n' && c != '\t'; }, '?');
  return text;
}

}  // namespace

std::string SizeText(const v1::SizeResult& size) {
  const std::map<std::string, int64_t> sorted(size.size().begin(), size.size().end());
  return absl::StrJoin(sorted, ", ", absl::PairFormatter(" = "));
}

absl::StatusOr<RolloutView> ViewRollout(const CampaignPlan& plan, const Journal& journal,
                                        absl::string_view which, const std::string& problem) {
  ASSIGN_OR_RETURN(const Place place, FindPlace(plan, journal, which, problem));
  ASSIGN_OR_RETURN(StepRecord step, journal.FindStep(plan, place.step));
  const size_t g = static_cast<size_t>(place.group_index), s = static_cast<size_t>(place.sample);
  if (g >= step.groups.size() || s >= step.groups[g].samples.size() ||
      !step.groups[g].samples[s].completion) {
    return absl::NotFoundError(absl::StrCat(
        "no rollout ", which, ": ", PhaseStep(StepName(place.step)), " has ", step.groups.size(),
        " groups of ", step.groups[0].samples.size(), " samples, both counted from 0, and ",
        step.rollouts, " of these were written"));
  }
  GroupRecord& group = step.groups[g];
  CandidateRecord& record = group.samples[s];
  const PlannedProblem& planned = plan.ProblemOf(place.step, place.group_index);
  RolloutView view;
  view.step = place.step;
  view.group_index = place.group_index;
  view.sample = place.sample;
  view.problem_id = planned.problem.id();
  view.response_prefix = planned.response_prefix;
  view.parent = std::move(group.parent);
  view.completion = *std::move(record.completion);
  view.program = std::move(record.source);
  view.verdict = std::move(record.verdict);
  view.asked = view.parent ? plan.MessagesFrom(place.step, place.group_index, *view.parent)
                           : plan.MessagesOf(place.step, place.group_index);
  if (!view.program) return view;
  view.from_reference =
      ProgramDiff("reference.cc", planned.problem.reference(), "program.cc", *view.program);
  if (view.parent) {
    view.from_parent = ProgramDiff("parent.cc", view.parent->source, "program.cc", *view.program);
  }
  return view;
}

std::string RolloutText(const RolloutView& view, const RolloutParts& parts) {
  std::string text =
      absl::StrCat(RolloutPlace(view.step, view.group_index, view.sample), ", ", view.problem_id,
                   ": ", VerdictText(view), "\n", CompletionText(view.completion));
  if (view.parent) absl::StrAppend(&text, "\nits prompt showed ", ParentText(*view.parent));
  if (view.verdict) Section("what the worker says", view.verdict->verdict.detail(), &text);
  if (parts.prompt) {
    for (const v1::Message& message : view.asked) {
      Section(absl::StrCat("asked, as ", message.role()), message.content(), &text);
    }
    Section("every answer begins with", view.response_prefix, &text);
  }
  Section("what the policy wrote", view.completion.text(), &text);
  Section("changes from the reference", view.from_reference, &text);
  Section("changes from the program that its prompt showed", view.from_parent, &text);
  if (parts.tokens) {
    std::string tokens;
    const int known =
        std::min(view.completion.ids_size(), view.completion.sampling_logprobs_size());
    for (int i = 0; i < known; ++i) {
      absl::StrAppendFormat(&tokens, "%5d %7d %9.4f\n", i + 1, view.completion.ids(i),
                            view.completion.sampling_logprobs(i));
    }
    Section("token, id, log-probability", tokens, &text);
  }
  return Printable(std::move(text));
}

nlohmann::ordered_json RolloutJson(const RolloutView& view) {
  const auto or_null = [](const auto& value) {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
  };
  nlohmann::ordered_json json = {
      {"rollout", RolloutPlace(view.step, view.group_index, view.sample)},
      {"problem", view.problem_id},
      {"prompt", nlohmann::ordered_json::array()},
      {"response_prefix", view.response_prefix},
      {"parent", nullptr},
      {"completion", view.completion.text()},
      {"finish", v1::Completion::Finish_Name(view.completion.finish())},
      {"tokens", TokenCount(view.completion)},
      {"ids", view.completion.ids()},
      {"logprobs", nlohmann::ordered_json::array()},
      {"program", or_null(view.program)},
      {"verdict", nullptr},
      {"diff_reference", view.from_reference},
      {"diff_parent", view.from_parent}};
  for (const v1::Message& message : view.asked) {
    json["prompt"].push_back({{"role", message.role()}, {"content", message.content()}});
  }
  for (const float logprob : view.completion.sampling_logprobs()) {
    json["logprobs"].push_back(NumberOrNull(logprob));
  }
  if (view.parent) {
    json["parent"] = {{"speedup", view.parent->speedup},
                      {"failure", view.parent->failure},
                      {"source", view.parent->source}};
  }
  if (view.verdict) {
    json["verdict"] = VerdictJson(view.verdict->verdict);
    json["verdict"]["reward"] = NumberOrNull(view.verdict->reward);
    json["verdict"]["dropped"] = view.verdict->dropped;
  }
  return json;
}

}  // namespace whetstone
