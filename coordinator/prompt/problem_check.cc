#include "coordinator/prompt/problem_check.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status_macros.h"
#include "coordinator/prompt/canaries.h"

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

std::string LevelName(Level level) {
  switch (level) {
    case Level::kPassed:
      return "ok";
    case Level::kWarning:
      return "warning";
    case Level::kFailed:
      return "FAILED";
  }
  return "";
}

std::string Describe(const v1::Verdict& verdict) {
  std::string text = v1::Outcome_Name(verdict.outcome());
  if (!verdict.detail().empty()) absl::StrAppend(&text, ": ", verdict.detail());
  return text;
}

class Checker {
 public:
  Checker(const v1::Problem& problem, const ProblemTools& tools)
      : problem_(problem), tools_(tools) {
    report_.problem_id = problem.id();
  }

  absl::StatusOr<ProblemReport> Run() && {
    const absl::StatusOr<v1::Calibration> calibration = tools_.calibrate();
    if (absl::IsInvalidArgument(calibration.status())) {
      Add(Level::kFailed, "calibration", std::string(calibration.status().message()));
      return std::move(report_);
    }
    RETURN_IF_ERROR(calibration.status());
    Expert(calibration->expert());
    Noise(calibration->noise_band());
    RETURN_IF_ERROR(Reference(std::max(calibration->noise_band(), kNoiseFloor)));
    RETURN_IF_ERROR(Canaries());
    return std::move(report_);
  }

 private:
  void Add(Level level, std::string check, std::string detail) {
    report_.findings.push_back({level, std::move(check), std::move(detail)});
  }

  void Expert(const v1::Verdict& expert) {
    if (expert.outcome() != v1::CORRECT) {
      Add(Level::kFailed, "expert", absl::StrCat("must be correct, but is ", Describe(expert)));
      return;
    }
    const std::string speed =
        absl::StrFormat("%.2f× the reference (%.2f to %.2f)", expert.speedup(),
                        expert.speedup_low(), expert.speedup_high());
    if (expert.speedup() < kExpertSpeedupMin) {
      Add(Level::kFailed, "expert",
          absl::StrFormat("%s: needs at least %.1f×, or the reward cannot tell fast from slow",
                          speed, kExpertSpeedupMin));
      return;
    }
    Add(Level::kPassed, "expert", speed);
  }

  void Noise(double band) {
    const std::string text =
        absl::StrFormat("equal code measures within ±%.2f %% on this machine", 100 * band);
    if (band > kNoiseBandHigh) {
      Add(Level::kWarning, "noise",
          absl::StrCat(text, ": use larger timed sizes or a quieter machine"));
    } else {
      Add(Level::kPassed, "noise", text);
    }
  }

  // The reference as a candidate: right by its own measure, and as fast as itself.
  absl::Status Reference(double band) {
    std::string seen;
    for (int attempt = 1; attempt <= kEqualCodeTries; ++attempt) {
      ASSIGN_OR_RETURN(const v1::Verdict verdict,
                       tools_.measure(problem_.reference(), /*time=*/true));
      if (verdict.outcome() == v1::INFRASTRUCTURE_ERROR) return OurFault(verdict);
      if (verdict.outcome() != v1::CORRECT) {
        Add(Level::kFailed, "reference",
            absl::StrCat(problem_.oracle().empty()
                             ? "does not agree with itself, so it is not deterministic: "
                             : "does not agree with the oracle; loosen 'compare' or mend one: ",
                         Describe(verdict)));
        return absl::OkStatus();
      }
      if (attempt == 1) {
        Add(Level::kPassed, "reference", "deterministic, agrees with itself on every size");
        Lengths(verdict);
      }
      const double difference = std::abs(std::log(verdict.speedup()));
      if (difference <= band) {
        Add(Level::kPassed, "equal code",
            absl::StrFormat("the reference measures %.4f× itself, inside the noise band ±%.2f %%",
                            verdict.speedup(), 100 * band));
        return absl::OkStatus();
      }
      absl::StrAppend(&seen, seen.empty() ? "" : ", ", absl::StrFormat("%.4f×", verdict.speedup()));
    }
    Add(Level::kFailed, "equal code",
        absl::StrFormat("the reference measures %s itself, outside the noise band ±%.2f %%: the "
                        "machine is too busy, or the timed sizes are too small",
                        seen, 100 * band));
    return absl::OkStatus();
  }

  // Warns of timed sizes that take too long or too short, and of verdicts near their limit.
  void Lengths(const v1::Verdict& verdict) {
    for (const v1::SizeResult& size : verdict.sizes()) {
      std::string where;
      for (const auto& [name, value] : size.size()) {
        absl::StrAppend(&where, where.empty() ? "" : ", ", name, "=", value);
      }
      if (size.reference_ns() > kReferenceNsHigh) {
        Add(Level::kWarning, "size",
            absl::StrFormat("timed size %s takes %.1f ms a call: above 5 ms measuring is slow",
                            where, size.reference_ns() / 1e6));
      } else if (size.reference_ns() < kReferenceNsLow) {
        Add(Level::kWarning, "size",
            absl::StrFormat("timed size %s takes %.0f ns a call: below 1 µs the harness weighs in",
                            where, size.reference_ns()));
      }
    }
    const double total_s =
        verdict.screen_s() + verdict.compile_s() + verdict.check_s() + verdict.time_s();
    if (total_s > 0.5 * problem_.limits().total_s()) {
      Add(Level::kWarning, "duration",
          absl::StrFormat("one verdict takes %.1f s, more than half of limits.total_s (%.1f s)",
                          total_s, problem_.limits().total_s()));
    }
  }

  absl::Status Canaries() {
    ASSIGN_OR_RETURN(const std::vector<Canary> canaries, MakeCanaries(problem_));
    for (const Canary& canary : canaries) {
      ASSIGN_OR_RETURN(const v1::Verdict verdict,
                       tools_.measure(canary.source, canary.needs_timing));
      RETURN_IF_ERROR(JudgeCanary(canary, verdict));
    }
    return absl::OkStatus();
  }

  absl::Status JudgeCanary(const Canary& canary, const v1::Verdict& verdict) {
    const std::string check = absl::StrCat("canary: ", canary.name);
    switch (verdict.outcome()) {
      case v1::WRONG_ANSWER:
      case v1::CRASH:
      case v1::TIMEOUT:
      case v1::MEMORY_LIMIT:
        Add(Level::kPassed, check, absl::StrCat("caught: ", v1::Outcome_Name(verdict.outcome())));
        return absl::OkStatus();
      case v1::FORBIDDEN:
        Add(Level::kPassed, check, absl::StrCat("cannot be written: ", Describe(verdict)));
        return absl::OkStatus();
      case v1::CORRECT:
      case v1::SUSPECT:
        Add(Level::kFailed, check,
            "passes for right: the outputs must depend on every input, and inputs must not be "
            "all alike");
        return absl::OkStatus();
      case v1::INFRASTRUCTURE_ERROR:
        return OurFault(verdict);
      default:
        Add(Level::kWarning, check,
            absl::StrCat("proves nothing, it did not run: ", Describe(verdict)));
        return absl::OkStatus();
    }
  }

  static absl::Status OurFault(const v1::Verdict& verdict) {
    return absl::UnavailableError(absl::StrCat("the worker failed: ", verdict.detail()));
  }

  const v1::Problem& problem_;
  const ProblemTools& tools_;
  ProblemReport report_;
};

}  // namespace

bool ProblemReport::sound() const {
  return std::none_of(findings.begin(), findings.end(), [](const ProblemFinding& finding) {
    return finding.level == Level::kFailed;
  });
}

std::string ProblemReport::Table() const {
  size_t width = 0;
  for (const ProblemFinding& finding : findings) width = std::max(width, finding.check.size());
  std::string text;
  for (const ProblemFinding& finding : findings) {
    absl::StrAppendFormat(&text, "%-8s %-*s  %s\n", LevelName(finding.level),
                          static_cast<int>(width), finding.check, finding.detail);
  }
  absl::StrAppend(&text, problem_id, sound() ? " is sound\n" : " is NOT sound\n");
  return text;
}

nlohmann::json ProblemReport::ToJson() const {
  nlohmann::json list = nlohmann::json::array();
  for (const ProblemFinding& finding : findings) {
    const char* level = finding.level == Level::kPassed    ? "passed"
                        : finding.level == Level::kWarning ? "warning"
                                                           : "failed";
    list.push_back({{"level", level}, {"check", finding.check}, {"detail", finding.detail}});
  }
  return {{"problem", problem_id}, {"sound", sound()}, {"findings", std::move(list)}};
}

absl::StatusOr<ProblemReport> CheckProblem(const v1::Problem& problem, const ProblemTools& tools) {
  return Checker(problem, tools).Run();
}

}  // namespace whetstone
