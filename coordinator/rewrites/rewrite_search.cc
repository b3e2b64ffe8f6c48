#include "coordinator/rewrites/rewrite_search.h"

#include <algorithm>
#include <set>
#include <utility>

#include "common/status_macros.h"

namespace whetstone {
namespace {

struct Program {
  FoundRewrite found;
  double speedup_low = 1;
  bool rewritten = false;
};

std::vector<Program*> NextParents(std::vector<Program>& right, size_t count) {
  std::vector<Program*> parents;
  for (Program& program : right) {
    if (!program.rewritten) parents.push_back(&program);
  }
  std::stable_sort(parents.begin(), parents.end(), [](const Program* left, const Program* right) {
    return left->found.speedup > right->found.speedup;
  });
  parents.resize(std::min(parents.size(), count));
  return parents;
}

class Search {
 public:
  Search(const RewriteOptions& options, const RewriteTools& tools)
      : options_(options), tools_(tools) {}

  RewriteSearch Run(const v1::Problem& problem) {
    right_.push_back({.found = {.rules = {}, .source = problem.reference(), .speedup = 1}});
    seen_.insert(problem.reference());
    for (int round = 0; round < options_.rounds && !tools_.enough() && result_.ended.ok();
         ++round) {
      result_.ended = Round();
    }
    std::stable_sort(right_.begin(), right_.end(), [](const Program& left, const Program& right) {
      return left.found.speedup > right.found.speedup;
    });
    for (Program& program : right_) {
      if (result_.kept.size() == options_.kept) break;
      if (program.speedup_low < options_.least_gain ||
          program.found.speedup < options_.least_share * fastest_) {
        continue;
      }
      result_.kept.push_back(std::move(program.found));
    }
    return std::move(result_);
  }

 private:
  absl::Status Round() {
    std::vector<std::string> sources;
    std::vector<std::vector<std::string>> rules;
    for (Program* parent : NextParents(right_, options_.parents)) {
      parent->rewritten = true;
      sources.push_back(parent->found.source);
      rules.push_back(parent->found.rules);
    }
    if (sources.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(const auto proposed, tools_.propose(sources));
    for (size_t i = 0; i < proposed.size(); ++i) {
      for (const ProposedRewrite& rewrite : proposed[i]) {
        if (!seen_.insert(rewrite.source).second) continue;
        if (rewrite.source.size() > options_.chars_max) {
          ++result_.too_long;
          continue;
        }
        if (tools_.enough()) return absl::OkStatus();
        std::vector<std::string> applied = rules[i];
        applied.push_back(rewrite.rule);
        RETURN_IF_ERROR(Measure(rewrite.source, std::move(applied)));
      }
    }
    return absl::OkStatus();
  }

  absl::Status Measure(const std::string& source, std::vector<std::string> applied) {
    ASSIGN_OR_RETURN(const v1::Verdict verdict, tools_.measure(source));
    ++result_.measured;
    const bool fresh =
        verdict.canonical_hash().empty() || seen_.insert(verdict.canonical_hash()).second;
    if (verdict.outcome() == v1::CORRECT && fresh) {
      ++result_.right;
      fastest_ = std::max(fastest_, verdict.speedup());
      right_.push_back(
          {.found = {.rules = std::move(applied), .source = source, .speedup = verdict.speedup()},
           .speedup_low = verdict.speedup_low()});
    }
    if (tools_.progress) tools_.progress(result_.measured, fastest_);
    return absl::OkStatus();
  }

  const RewriteOptions& options_;
  const RewriteTools& tools_;
  std::vector<Program> right_;  // the reference first
  std::set<std::string> seen_;  // texts, and hashes of canonical sources
  double fastest_ = 1;
  RewriteSearch result_;
};

}  // namespace

RewriteSearch SearchRewrites(const v1::Problem& problem, const RewriteOptions& options,
                             const RewriteTools& tools) {
  return Search(options, tools).Run(problem);
}

}  // namespace whetstone
