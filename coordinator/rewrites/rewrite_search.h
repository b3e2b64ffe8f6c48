// SearchRewrites looks for faster forms of a problem's reference: rules propose, the ruler decides.
//
// It is best-first among unlike programs: of each family of right programs every round rewrites the
// fastest that has not been rewritten yet, so that changes add up which gain nothing alone, and no
// family fills a round with its numbers ("8 accumulators" and "16 accumulators" are one). Rules are
// classical transformations (cpu_bench_worker/rewrite/rules/rules.h) and need not be allowed where
// they are applied; wrong programs fall at the check like any candidate. A round that finds a much
// faster program gives way to what is made of that one, and is ended later: where a verdict takes
// seconds, they are not spent on other forms of a slow one.
//
// It looks among programs that a policy writes easily first, and then, with the time that is left,
// among longer ones; what is made of the reference itself, or of the fastest program, does not
// wait.
#ifndef WHETSTONE_COORDINATOR_REWRITES_REWRITE_SEARCH_H_
#define WHETSTONE_COORDINATOR_REWRITES_REWRITE_SEARCH_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "whetstone/v1/problem.pb.h"
#include "whetstone/v1/verdict.pb.h"

namespace whetstone {

// A program with one change.
struct ProposedRewrite {
  std::string rule;
  std::string source;
};

// What the search needs of the outside. A failure of either ends it; what was found by then is
// kept.
struct RewriteTools {
  // Returns the rewrites of each source, in order.
  std::function<absl::StatusOr<std::vector<std::vector<ProposedRewrite>>>(
      const std::vector<std::string>& sources)>
      propose;
  // Timing may end once the speedup is clearly below `least`: such a program is neither kept nor
  // the fastest.
  std::function<absl::StatusOr<v1::Verdict>(const std::string& source, double least)> measure;
  // Asked before each program: the search ends with what it has. The budget is the caller's clock.
  std::function<bool()> enough;
  // Called after each program; may be empty.
  std::function<void(int measured, double fastest)> progress;
};

struct RewriteOptions {
  // Lengths are without the signature. A kept program that is longer than an easy one counts as so
  // much slower as it is longer: a policy writes it right less often.
  size_t chars_easy = 960;
  size_t chars_kept = 1400;
  // Of a program that is measured; where that is more than what is kept, and the reference is long,
  // twice its length.
  size_t chars_max = 4000;
  size_t parents = 6;       // programs that are rewritten in a round
  int rounds = 5;           // changes that add up; as many again among long programs
  double least_gain = 1.1;  // the interval of a found program's speedup begins above this
  double least_share =
      0.8;  // of the best kept one's speedup, as lengths count, that a kept program has
  size_t kept = 4;
};

struct FoundRewrite {
  std::vector<std::string> rules;  // in the order applied
  std::string source;
  double speedup = 1;
  std::string canonical_hash = {};  // as its verdict has it
};

struct RewriteSearch {
  // The fastest that are short enough, as lengths count, fastest first, in bands of a tenth below
  // the fastest, and in a band the shortest first; empty: no rule makes it clearly faster.
  std::vector<FoundRewrite> kept;
  // Of whatever length: of those within a twentieth of the fastest the shortest.
  std::optional<FoundRewrite> fastest;
  int measured = 0;
  int right = 0;
  int too_long = 0;         // programs that were laid aside and not measured
  absl::Status ended;       // what ended it before it was through; OK otherwise
  absl::Status long_ended;  // the same among long programs
};

// Rewrites and measures the problem's reference, on the caller's thread. Each program is measured
// once, by its text, and kept once, by its canonical source.
RewriteSearch SearchRewrites(const v1::Problem& problem, const RewriteOptions& options,
                             const RewriteTools& tools);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_REWRITES_REWRITE_SEARCH_H_
