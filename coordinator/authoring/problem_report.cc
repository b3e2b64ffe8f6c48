#include "coordinator/authoring/problem_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace whetstone {
namespace {

using Level = ProblemFinding::Level;

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

std::string Ending(const ProblemReport& report) {
  if (!report.proven) return " is not proven: this machine cannot measure it";
  if (!report.sound()) return " is NOT sound";
  return report.quick ? " tells right from wrong; its speeds were not checked" : " is sound";
}

}  // namespace

bool ProblemReport::sound() const {
  return proven &&
         std::none_of(findings.begin(), findings.end(), [](const ProblemFinding& finding) {
           return finding.level == Level::kFailed;
         });
}

std::string ProblemReport::Table() const {
  size_t width = 0;
  for (const ProblemFinding& finding : findings) width = std::max(width, finding.check.size());
  std::string text;
  for (const ProblemFinding& finding : findings) {
    absl::StrAppendFormat(&text, "%-8s %-*s  %s%s%s\n", LevelName(finding.level),
                          static_cast<int>(width), finding.check, finding.location,
                          finding.location.empty() ? "" : ": ", finding.detail);
  }
  absl::StrAppend(&text, problem_id, Ending(*this), "\n");
  return text;
}

std::string ProblemReport::Summary() const {
  std::string text;
  for (const ProblemFinding& finding : findings) {
    if (finding.level == Level::kPassed) continue;
    absl::StrAppend(&text, LevelName(finding.level), " ", finding.location, ": ", finding.check,
                    ": ", finding.detail, "\n");
  }
  absl::StrAppend(&text, problem_id, Ending(*this));
  if (figures.reference_ns > 0) {
    absl::StrAppendFormat(&text, ": reference %.1f µs, reward %.2f", figures.reference_ns / 1e3,
                          figures.reference_reward);
    if (figures.expert_speedup > 0) {
      absl::StrAppendFormat(&text, "; expert %.2f×, reward %.2f", figures.expert_speedup,
                            figures.expert_reward);
    }
  }
  return text;
}

nlohmann::json ProblemReport::ToJson() const {
  nlohmann::json list = nlohmann::json::array();
  for (const ProblemFinding& finding : findings) {
    const char* level = finding.level == Level::kPassed    ? "passed"
                        : finding.level == Level::kWarning ? "warning"
                                                           : "failed";
    list.push_back({{"level", level},
                    {"check", finding.check},
                    {"place", finding.location},
                    {"detail", finding.detail}});
  }
  return {{"problem", problem_id},
          {"sound", sound()},
          {"proven", proven},
          {"quick", quick},
          {"reference_ns", figures.reference_ns},
          {"expert_speedup", figures.expert_speedup},
          {"roofline_share", figures.roofline_share},
          {"reference_reward", figures.reference_reward},
          {"expert_reward", figures.expert_reward},
          {"findings", std::move(list)}};
}

}  // namespace whetstone
