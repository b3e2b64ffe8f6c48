#include "coordinator/rewrites/rewrite_search.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"

namespace whetstone {
namespace {

constexpr double kAboutAsFast = 1.1;
constexpr double kAlike = 1.05;
// A round gives way to what is made of a program that is so much faster than all before it, once it
// has measured so many.
constexpr double kLeap = 1.25;
constexpr size_t kRoundMin = 8;

struct Program {
  FoundRewrite found;
  double speedup_low = 1;
  bool rewritten = false;
};

// A program that was not measured yet.
struct LaidAside {
  std::string source;
  std::vector<std::string> rules;
  double parent_speedup = 1;
};

// Returns the names of the rules without their numbers.
std::string Family(const Program& program) {
  std::string family = absl::StrJoin(program.found.rules, ",");
  std::erase_if(family, [](unsigned char c) { return absl::ascii_isdigit(c); });
  return family;
}

std::vector<Program*> NextParents(std::vector<Program>& right, size_t count) {
  std::vector<Program*> waiting;
  for (Program& program : right) {
    if (!program.rewritten) waiting.push_back(&program);
  }
  std::stable_sort(waiting.begin(), waiting.end(), [](const Program* left, const Program* right) {
    return left->found.speedup > right->found.speedup;
  });
  std::vector<Program*> parents;
  std::set<std::string> families;
  for (Program* program : waiting) {
    if (parents.size() == count) break;
    if (families.insert(Family(*program)).second) parents.push_back(program);
  }
  return parents;
}

class Search {
 public:
  Search(const RewriteOptions& options, const RewriteTools& tools)
      : options_(options), tools_(tools) {}

  RewriteSearch Run(const v1::Problem& problem) {
    right_.push_back({.found = {.rules = {}, .source = problem.reference(), .speedup = 1}});
    seen_.insert(problem.reference());
    longest_kept_ = options_.chars_kept + problem.signature().size();
    longest_easy_ = std::min(longest_kept_, options_.chars_easy + problem.signature().size());
    longest_ever_ = std::max(longest_kept_, options_.chars_max + problem.signature().size());
    if (options_.chars_max > options_.chars_kept) {
      longest_ever_ = std::max(longest_ever_, 2 * problem.reference().size());
    }
    longest_ = longest_easy_;
    const double reference_worth = Worth(right_.front().found);  // however long it is
    most_worth_ = reference_worth;
    result_.ended = Rounds();
    if (!long_.empty() && result_.ended.ok()) {
      longest_ = longest_ever_;
      result_.long_ended = MeasureLong();
      if (result_.long_ended.ok()) result_.long_ended = Rounds();
    }
    const auto clear = [&](const Program& program) {
      return program.speedup_low >= options_.least_gain;
    };
    double fastest_clear = 1;
    for (const Program& program : right_) {
      if (clear(program)) fastest_clear = std::max(fastest_clear, program.found.speedup);
    }
    for (const Program& program : right_) {
      const FoundRewrite& found = program.found;
      if (!clear(program) || kAlike * found.speedup < fastest_clear) continue;
      if (!result_.fastest || found.source.size() < result_.fastest->source.size()) {
        result_.fastest = found;
      }
    }
    // Of programs that are about as fast the shorter is the easier to write.
    const auto place = [&](const Program& program) {
      const double behind = std::log(most_worth_ / Worth(program.found)) / std::log(kAboutAsFast);
      return std::tuple(std::floor(behind), program.found.source.size(), -program.found.speedup);
    };
    std::stable_sort(right_.begin(), right_.end(), [&](const Program& left, const Program& right) {
      return place(left) < place(right);
    });
    for (Program& program : right_) {
      if (result_.kept.size() == options_.kept) break;
      if (!clear(program) || !MayBeKept(program.found.source) ||
          Worth(program.found) <= reference_worth ||
          Worth(program.found) < options_.least_share * most_worth_) {
        continue;
      }
      result_.kept.push_back(std::move(program.found));
    }
    result_.too_long = static_cast<int>(long_.size());
    return std::move(result_);
  }

 private:
  bool MayBeKept(const std::string& source) const { return source.size() <= longest_kept_; }

  // Returns how many times as much faster it has to be as an easy program.
  double LengthFactor(const std::string& source) const {
    return std::max(1.0, static_cast<double>(source.size()) / static_cast<double>(longest_easy_));
  }

  // What a program's speed is worth to a policy that has to write it.
  double Worth(const FoundRewrite& found) const {
    return found.speedup / LengthFactor(found.source);
  }

  // Returns the speedup below which a program is of no use, however much below: it is not kept
  // beside the best that is, nor is it the fastest.
  double LeastOf(const std::string& source) const {
    const double kept = MayBeKept(source) ? most_worth_ * LengthFactor(source) : fastest_;
    return std::max(options_.least_gain, options_.least_share * std::min(kept, fastest_));
  }

  absl::Status Rounds() {
    for (int round = 0; round < options_.rounds && !tools_.enough();) {
      RETURN_IF_ERROR(Round());
      if (waiting_.empty()) ++round;
    }
    return absl::OkStatus();
  }

  // Measures what was too long so far: first what can be kept, and of that what was made of the
  // fastest.
  absl::Status MeasureLong() {
    std::vector<LaidAside> waiting = std::exchange(long_, {});
    std::stable_sort(waiting.begin(), waiting.end(),
                     [&](const LaidAside& left, const LaidAside& right) {
                       return std::tuple(!MayBeKept(left.source), -left.parent_speedup) <
                              std::tuple(!MayBeKept(right.source), -right.parent_speedup);
                     });
    for (LaidAside& each : waiting) {
      if (tools_.enough()) {
        long_.push_back(std::move(each));
      } else {
        RETURN_IF_ERROR(Take(std::move(each)));
      }
    }
    return absl::OkStatus();
  }

  absl::Status Round() {
    std::vector<std::string> sources;
    std::vector<FoundRewrite> parents;
    for (Program* parent : NextParents(right_, options_.parents)) {
      parent->rewritten = true;
      sources.push_back(parent->found.source);
      parents.push_back(parent->found);
    }
    std::vector<LaidAside> made;
    if (!sources.empty()) {
      ASSIGN_OR_RETURN(const auto proposed, tools_.propose(sources));
      for (size_t i = 0; i < proposed.size(); ++i) {
        for (const ProposedRewrite& rewrite : proposed[i]) {
          made.push_back({rewrite.source, parents[i].rules, parents[i].speedup});
          made.back().rules.push_back(rewrite.rule);
        }
      }
    }
    for (LaidAside& each : std::exchange(waiting_, {})) made.push_back(std::move(each));
    const double fastest_before = fastest_;
    size_t taken = 0;
    for (size_t i = 0; i < made.size(); ++i) {
      if (!seen_.insert(made[i].source).second) continue;
      if (tools_.enough()) return absl::OkStatus();
      RETURN_IF_ERROR(Take(std::move(made[i])));
      if (++taken < kRoundMin || fastest_ < kLeap * fastest_before) continue;
      waiting_.assign(std::make_move_iterator(made.begin() + static_cast<ptrdiff_t>(i) + 1),
                      std::make_move_iterator(made.end()));
      return absl::OkStatus();
    }
    return absl::OkStatus();
  }

  // Measures the program, or lays it aside where it is longer than `longest_`, unless it is made of
  // the reference or of the fastest program: another algorithm is long, and what it makes possible
  // is not to wait for all that is short.
  absl::Status Take(LaidAside made) {
    const bool leads = made.rules.size() == 1 || made.parent_speedup >= fastest_;
    if (made.source.size() > (leads ? longest_ever_ : longest_)) {
      long_.push_back(std::move(made));
      return absl::OkStatus();
    }
    const std::string& source = made.source;
    ASSIGN_OR_RETURN(const v1::Verdict verdict, tools_.measure(source, LeastOf(source)));
    ++result_.measured;
    const bool fresh =
        verdict.canonical_hash().empty() || seen_.insert(verdict.canonical_hash()).second;
    if (verdict.outcome() == v1::CORRECT && fresh) {
      ++result_.right;
      fastest_ = std::max(fastest_, verdict.speedup());
      right_.push_back({.found = {.rules = std::move(made.rules),
                                  .source = source,
                                  .speedup = verdict.speedup(),
                                  .canonical_hash = verdict.canonical_hash()},
                        .speedup_low = verdict.speedup_low()});
      const FoundRewrite& found = right_.back().found;
      if (MayBeKept(found.source)) most_worth_ = std::max(most_worth_, Worth(found));
    }
    if (tools_.progress) tools_.progress(result_.measured, fastest_);
    return absl::OkStatus();
  }

  const RewriteOptions& options_;
  const RewriteTools& tools_;
  std::vector<Program> right_;      // the reference first
  std::set<std::string> seen_;      // texts, and hashes of canonical sources
  std::vector<LaidAside> waiting_;  // programs of a round that gave way
  std::vector<LaidAside> long_;     // programs that were longer than `longest_`
  size_t longest_ = 0;              // of most programs that are measured; rises for the long ones
  size_t longest_ever_ = 0;         // of any
  size_t longest_kept_ = 0;         // of one that may be kept
  size_t longest_easy_ = 0;         // of one that counts as fast as it is
  double fastest_ = 1;
  double most_worth_ = 1;  // of the reference and of all that may be kept
  RewriteSearch result_;
};

}  // namespace

RewriteSearch SearchRewrites(const v1::Problem& problem, const RewriteOptions& options,
                             const RewriteTools& tools) {
  return Search(options, tools).Run(problem);
}

}  // namespace whetstone
