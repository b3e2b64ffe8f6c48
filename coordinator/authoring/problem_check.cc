#include "coordinator/authoring/problem_check.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status_macros.h"
#include "coordinator/authoring/mutant_check.h"
#include "coordinator/authoring/negative_controls.h"

namespace whetstone {
namespace {

using Level = ProblemFinding::Level;

constexpr double kExpertSpeedupMin = 1.2;
// Equal code may differ by this much even where calibration saw less.
constexpr double kNoiseFloor = 0.01;
constexpr double kNoiseBandHigh = 0.05;
constexpr int kEqualCodeTries = 3;
constexpr double kReferenceNsHigh = 5e6;
constexpr double kReferenceNsLow = 1e3;
// An expert of this much or more earns the full reward, give or take the noise of two measurements.
constexpr double kFullRewardSpeedup = 2.0;
constexpr double kFullReward = 1.3;
constexpr double kMostReward = 1.5;
constexpr double kFullRewardTolerance = 0.15;
constexpr int kExpertTries = 3;

std::string Describe(const v1::Verdict& verdict) {
  std::string text = v1::Outcome_Name(verdict.outcome());
  if (!verdict.detail().empty()) absl::StrAppend(&text, ": ", verdict.detail());
  return text;
}

// Returns the part of the file that a worker's refusal is about: the first one that it names.
std::string PartOf(const std::string& refusal) {
  size_t first = std::string::npos;
  std::string part = "reference";
  for (const char* name : {"reference", "expert", "generator", "checker", "oracle", "sizes"}) {
    const size_t at = refusal.find(name);
    if (at >= first) continue;
    first = at;
    part = name;
  }
  return part;
}

// Returns what the author should do about that part.
std::string RemedyOf(const std::string& part) {
  if (part == "expert") {
    return "correct the expert, or write a faster one; where nothing can be gained, choose other "
           "timed sizes or another problem";
  }
  if (part == "generator") return "correct the generator section";
  if (part == "checker") return "correct the checker section";
  if (part == "oracle") return "correct the oracle section";
  if (part == "sizes") return "correct 'sizes'";
  return "make the reference a function of its arguments alone, without state of its own and "
         "without reading an output before it is written; leave sizes at which it gives no result "
         "out of 'sizes'";
}

// Returns what the author should do about a refusal that is about `part`.
std::string RemedyOfRefusal(const std::string& refusal, const std::string& part) {
  if (absl::StrContains(refusal, "does not compile") ||
      absl::StrContains(refusal, "does not define"))
    return "correct the block (its first line is line 1)";
  if (absl::StrContains(refusal, "the reference could not be measured"))
    return "correct the reference, or what the inputs are filled with: at every size it must "
           "return, "
           "without a crash and within 'limits'";
  return RemedyOf(part);
}

double GeometricMean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) {
    if (value <= 0) return 0;
    sum += std::log(value);
  }
  return values.empty() ? 0 : std::exp(sum / static_cast<double>(values.size()));
}

class Checker {
 public:
  Checker(const v1::Problem& problem, const PromptLocations& locations, const ProblemTools& tools,
          bool quick)
      : problem_(problem), locations_(locations), tools_(tools) {
    report_.problem_id = problem.id();
    report_.quick = quick;
  }

  absl::StatusOr<ProblemReport> Run() && {
    absl::StatusOr<v1::Calibration> calibration = tools_.calibrate(/*measured=*/!report_.quick);
    if (absl::IsInvalidArgument(calibration.status())) {
      const std::string refusal(calibration.status().message());
      const std::string part = PartOf(refusal);
      Add(Level::kFailed, part, part, absl::StrCat(refusal, ": ", RemedyOfRefusal(refusal, part)));
      return std::move(report_);
    }
    if (absl::IsFailedPrecondition(calibration.status())) {
      report_.proven = false;
      Add(Level::kWarning, "machine", "compile",
          absl::StrCat(calibration.status().message(), ": check it on a larger machine"));
      return std::move(report_);
    }
    RETURN_IF_ERROR(calibration.status());
    if (report_.quick) {
      if (!HasNoExpert()) RETURN_IF_ERROR(IsRight("expert", problem_.expert()));
      RETURN_IF_ERROR(IsRight("reference", problem_.reference()));
    } else {
      calibration_ = *std::move(calibration);
      Noise(calibration_.noise_band());
      if (!HasNoExpert() && Expert(calibration_.expert())) {
        RETURN_IF_ERROR(ExpertReward());
      }
      RETURN_IF_ERROR(Reference(std::max(calibration_.noise_band(), kNoiseFloor)));
    }
    if (report_.sound()) RETURN_IF_ERROR(Outputs());
    RETURN_IF_ERROR(NegativeControls());
    if (!report_.quick && report_.sound())
      RETURN_IF_ERROR(CheckMutants(problem_, reference_object_, locations_, tools_, &report_));
    return std::move(report_);
  }

 private:
  void Pass(std::string check, std::string detail) {
    report_.findings.push_back({Level::kPassed, std::move(check), "", std::move(detail)});
  }

  void Add(Level level, std::string check, const std::string& part, std::string detail) {
    report_.findings.push_back({level, std::move(check), locations_.Of(part), std::move(detail)});
  }

  bool HasNoExpert() {
    if (!problem_.expert().empty()) return false;
    Add(Level::kWarning, "expert", "reference",
        absl::StrFormat("none: a program twice as fast as the reference earns what an expert's "
                        "would, and much faster ones no more than %.1f; whet rewrite may find one",
                        kMostReward));
    return true;
  }

  // Checks a program of the problem's as a candidate, without timing it.
  absl::Status IsRight(const std::string& part, const std::string& source) {
    ASSIGN_OR_RETURN(const v1::Verdict verdict, tools_.measure(source, /*time=*/false));
    if (verdict.outcome() == v1::CORRECT) {
      Pass(part, verdict.detail());
    } else {
      MustBeCorrect(part, verdict);
    }
    return absl::OkStatus();
  }

  void MustBeCorrect(const std::string& part, const v1::Verdict& verdict) {
    Add(Level::kFailed, part, part,
        absl::StrCat("must be correct, but is ", Describe(verdict), ": ", RemedyOf(part)));
  }

  bool Expert(const v1::Verdict& expert) {
    if (expert.outcome() != v1::CORRECT) {
      MustBeCorrect("expert", expert);
      return false;
    }
    const std::string speed =
        absl::StrFormat("%.2f× the reference (%.2f to %.2f)", expert.speedup(),
                        expert.speedup_low(), expert.speedup_high());
    if (expert.speedup() < kExpertSpeedupMin) {
      Add(Level::kFailed, "expert", "expert",
          absl::StrFormat("%s: needs at least %.1f×, or the reward cannot tell fast from slow: %s",
                          speed, kExpertSpeedupMin, RemedyOf("expert")));
      return false;
    }
    Pass("expert", speed);
    return true;
  }

  // Measures the expert as a candidate, through the path that a policy's programs take.
  absl::Status ExpertReward() {
    std::string seen;
    for (int attempt = 1; attempt <= kExpertTries; ++attempt) {
      ASSIGN_OR_RETURN(const v1::Verdict verdict, tools_.measure(problem_.expert(), /*time=*/true));
      if (verdict.outcome() == v1::SUSPECT) {
        Add(Level::kFailed, "expert's reward", "cost",
            absl::StrCat("the expert is called ", Describe(verdict),
                         ": 'cost' asks for more than one call must do, lower it"));
        return absl::OkStatus();
      }
      if (verdict.outcome() != v1::CORRECT) {
        Add(Level::kFailed, "expert's reward", "expert",
            absl::StrCat("right when calibrated, then ", Describe(verdict), ": ",
                         RemedyOf("expert")));
        return absl::OkStatus();
      }
      const double reward = tools_.reward(verdict, calibration_);
      SetExpertFigures(verdict, reward);
      const bool full = calibration_.expert().speedup() >= kFullRewardSpeedup;
      if (!full || std::abs(reward - kFullReward) <= kFullRewardTolerance) {
        Pass("expert's reward", absl::StrFormat("%.2f for %.2f×", reward, verdict.speedup()));
        return absl::OkStatus();
      }
      absl::StrAppend(&seen, seen.empty() ? "" : ", ",
                      absl::StrFormat("%.2f for %.2f×", reward, verdict.speedup()));
    }
    Add(Level::kFailed, "expert's reward", "sizes",
        absl::StrFormat("%s, but %.2f× when calibrated, so not near %.1f: the machine is too busy, "
                        "or the timed sizes are too small",
                        seen, calibration_.expert().speedup(), kFullReward));
    return absl::OkStatus();
  }

  void SetExpertFigures(const v1::Verdict& verdict, double reward) {
    std::vector<double> shares;
    for (const v1::SizeResult& size : verdict.sizes()) {
      shares.push_back(size.candidate_ns() > 0 ? size.floor_ns() / size.candidate_ns() : 0);
    }
    report_.figures.expert_speedup = verdict.speedup();
    report_.figures.expert_reward = reward;
    report_.figures.roofline_share = GeometricMean(shares);
  }

  void Noise(double band) {
    const std::string text =
        absl::StrFormat("equal code measures within ±%.2f %% on this machine", 100 * band);
    if (band > kNoiseBandHigh) {
      Add(Level::kWarning, "noise", "sizes",
          absl::StrCat(text, ": use larger timed sizes or a quieter machine"));
    } else {
      Pass("noise", text);
    }
  }

  // Measures the reference as a candidate: it must be right by its own measure, and as fast as
  // itself.
  absl::Status Reference(double band) {
    std::string seen;
    for (int attempt = 1; attempt <= kEqualCodeTries; ++attempt) {
      ASSIGN_OR_RETURN(const v1::Verdict verdict,
                       tools_.measure(problem_.reference(), /*time=*/true));
      if (verdict.outcome() != v1::CORRECT) {
        Add(Level::kFailed, "reference", "reference",
            absl::StrCat(problem_.oracle().empty()
                             ? "does not agree with itself, so it is not deterministic: "
                             : "does not agree with the oracle; loosen 'compare' or mend one: ",
                         Describe(verdict), ": ", RemedyOf("reference")));
        return absl::OkStatus();
      }
      if (attempt == 1) {
        Pass("reference", "deterministic, agrees with itself on every size");
        reference_object_ = verdict.object_hash();
        Lengths(verdict);
      }
      report_.figures.reference_reward = tools_.reward(verdict, calibration_);
      const double difference = std::abs(std::log(verdict.speedup()));
      if (difference <= band) {
        Pass("equal code",
             absl::StrFormat("the reference measures %.4f× itself, inside the noise band ±%.2f %%, "
                             "and earns %.2f",
                             verdict.speedup(), 100 * band, report_.figures.reference_reward));
        return absl::OkStatus();
      }
      absl::StrAppend(&seen, seen.empty() ? "" : ", ", absl::StrFormat("%.4f×", verdict.speedup()));
    }
    Add(Level::kFailed, "equal code", "sizes",
        absl::StrFormat("the reference measures %s itself, outside the noise band ±%.2f %%: the "
                        "machine is too busy, or the timed sizes are too small",
                        seen, 100 * band));
    return absl::OkStatus();
  }

  // Warns of timed sizes that take too long or too short, and of verdicts near their limit.
  void Lengths(const v1::Verdict& verdict) {
    std::vector<double> reference_ns;
    for (const v1::SizeResult& size : verdict.sizes()) {
      reference_ns.push_back(size.reference_ns());
      std::string where;
      for (const auto& [name, value] : size.size()) {
        absl::StrAppend(&where, where.empty() ? "" : ", ", name, "=", value);
      }
      if (size.reference_ns() > kReferenceNsHigh) {
        Add(Level::kWarning, "size", "sizes",
            absl::StrFormat("timed size %s takes %.1f ms a call: above 5 ms measuring is slow, "
                            "choose a smaller one",
                            where, size.reference_ns() / 1e6));
      } else if (size.reference_ns() < kReferenceNsLow) {
        Add(Level::kWarning, "size", "sizes",
            absl::StrFormat("timed size %s takes %.0f ns a call: below 1 µs the harness weighs in, "
                            "choose a larger one",
                            where, size.reference_ns()));
      }
    }
    report_.figures.reference_ns = GeometricMean(reference_ns);
    const double total_s =
        verdict.screen_s() + verdict.compile_s() + verdict.check_s() + verdict.time_s();
    if (total_s > 0.5 * problem_.limits().total_s()) {
      Add(Level::kWarning, "duration", "limits",
          absl::StrFormat("one verdict takes %.1f s, more than half of limits.total_s (%.1f s): "
                          "raise it, or choose smaller sizes",
                          total_s, problem_.limits().total_s()));
    }
  }

  // What an output array holds is poison: a reference may not build on it, nor leave it there.
  absl::Status Outputs() {
    const bool any =
        std::any_of(problem_.args().begin(), problem_.args().end(), [](const v1::Argument& arg) {
          return arg.has_array() && arg.array().direction() == v1::Array::OUT;
        });
    if (!any) return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::string clearing, ClearingOutputsFirst(problem_));
    ASSIGN_OR_RETURN(const v1::Verdict verdict, tools_.measure(clearing, /*time=*/false));
    if (verdict.outcome() == v1::CORRECT) {
      Pass("outputs", "written only");
    } else {
      Add(Level::kFailed, "outputs", "args",
          absl::StrCat("with zeros in the 'out' arrays before the call the reference is ",
                       Describe(verdict),
                       ": it reads what it did not write, or leaves some of it "
                       "as it was; say 'inout: true' of such an array"));
    }
    return absl::OkStatus();
  }

  absl::Status NegativeControls() {
    ASSIGN_OR_RETURN(const std::vector<NegativeControl> controls, MakeNegativeControls(problem_));
    for (const NegativeControl& control : controls) {
      ASSIGN_OR_RETURN(const v1::Verdict verdict,
                       tools_.measure(control.source, control.needs_timing));
      RETURN_IF_ERROR(JudgeControl(control, verdict));
    }
    return absl::OkStatus();
  }

  absl::Status JudgeControl(const NegativeControl& control, const v1::Verdict& verdict) {
    const std::string check = absl::StrCat("canary: ", control.name);
    switch (verdict.outcome()) {
      case v1::WRONG_ANSWER:
      case v1::CRASH:
      case v1::TIMEOUT:
      case v1::MEMORY_LIMIT:
        Pass(check, absl::StrCat("caught: ", v1::Outcome_Name(verdict.outcome())));
        return absl::OkStatus();
      case v1::FORBIDDEN:
        Pass(check, absl::StrCat("cannot be written: ", Describe(verdict)));
        return absl::OkStatus();
      case v1::CORRECT:
      case v1::SUSPECT:
        PassesForRight(control, check);
        return absl::OkStatus();
      default:
        Add(Level::kWarning, check, "reference",
            absl::StrCat("proves nothing, it did not run: ", Describe(verdict)));
        return absl::OkStatus();
    }
  }

  void PassesForRight(const NegativeControl& control, const std::string& check) {
    if (!control.input.empty()) {
      Add(Level::kFailed, check, absl::StrCat("args.", control.input),
          absl::StrCat("the reference is right although it reads zeros for '", control.input,
                       "', so its answer does not depend on that input: use '", control.input,
                       "' in the reference, fill it with values that matter, or leave it out"));
      return;
    }
    if (control.needs_timing) {
      Add(Level::kFailed, check, "args",
          "an answer kept from an earlier call passes for right, so the outputs have no variance: "
          "fill the inputs with values that change the answer from call to call");
      return;
    }
    const bool tolerant =
        problem_.checker().empty() && problem_.compare().rule() != v1::Compare::EXACT;
    Add(Level::kFailed, check, !problem_.checker().empty() ? "checker" : "compare",
        absl::StrCat("passes for right without doing the work: ",
                     tolerant ? "lower the tolerances of 'compare', or " : "",
                     !problem_.checker().empty() ? "make the checker stricter, or " : "",
                     "choose inputs whose answers are larger and differ"));
  }

  const v1::Problem& problem_;
  const PromptLocations& locations_;
  const ProblemTools& tools_;
  v1::Calibration calibration_;
  std::string reference_object_;
  ProblemReport report_;
};

}  // namespace

absl::StatusOr<ProblemReport> CheckProblem(const v1::Problem& problem,
                                           const PromptLocations& locations,
                                           const ProblemTools& tools, bool quick) {
  return Checker(problem, locations, tools, quick).Run();
}

}  // namespace whetstone
