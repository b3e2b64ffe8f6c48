// A worked example for the supervised warm-up is a function and a faster rewrite of it.
//
//   ASSIGN_OR_RETURN(auto examples, ReadWorkedExamples("prompts/warmup.jsonl"));
//   const WarmupOptions options = {.epochs = 1, .batch_size = 8, .seed = 17};
//   for (const auto& batch : PlanWarmup(ChooseExamples(examples, options), options)) Update(batch);
//
// A file is JSON lines: {"id": "dot/1", "prompt_code": "…", "rewrite": "…"}. They may add "prose",
// and what is known of them: "family", "techniques" (a list), "gain" (how many times as fast),
// "difficulty" (0 easy, 1 hard) and "canonical_hash" (of the rewrite, as verdicts have it).
// All functions are pure and thread-safe.
#ifndef WHETSTONE_COORDINATOR_PROMPT_WORKED_EXAMPLES_H_
#define WHETSTONE_COORDINATOR_PROMPT_WORKED_EXAMPLES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "whetstone/v1/problem.pb.h"
#include "whetstone/v1/trainer.pb.h"

namespace whetstone {

struct WorkedExample {
  std::string id;
  std::string prose;  // usually empty
  std::string prompt_code;
  std::string rewrite;
  std::optional<double> gain = std::nullopt;
  std::optional<double> difficulty = std::nullopt;
  std::string canonical_hash = {};  // empty: not known
  std::string line = {};            // as it stands in its file
};

// Reads a file. INVALID_ARGUMENT "PATH:LINE: what is wrong"; an empty file is an error too.
absl::StatusOr<std::vector<WorkedExample>> ReadWorkedExamples(const std::string& path);
absl::StatusOr<std::vector<WorkedExample>> ParseWorkedExamples(absl::string_view text,
                                                               absl::string_view name);

// Returns the chat that teaches one example. `response_prefix` is what the campaign puts in front
// of every answer, where {signature} is that of the rewrite, as it is written there. Where it goes
// on with the signature, the answer leaves out #include lines before that; with helpers or a pragma
// there, it declares the function first. The prefix is left out of an example whose answer does not
// begin with it all the same.
v1::SftExample ToSftExample(const WorkedExample& example, absl::string_view response_prefix);

// Renames the identifiers of both texts consistently, as drawn from (seed, draw): a, b, i, j, n
// and the function's name get other usual names, so that the policy learns the rewrite and not the
// letters. The example comes back unchanged where new names would clash.
WorkedExample RenameIdentifiers(const WorkedExample& example, uint64_t seed, uint64_t draw);

// Returns the chat that teaches `program` as an answer to the problem: the words in which the
// campaign asks for it, and the prefix (RenderResponsePrefix) that it puts in front of the answer,
// as in ToSftExample.
v1::SftExample OwnExample(const v1::Problem& problem, absl::string_view program,
                          const std::string& prefix);

// A rewrite is shown so many times as often as a reference, which the prompt holds to be copied.
inline constexpr size_t kCopiesOfRewrite = 4;

// INVALID_ARGUMENT: one of the rewrites is of none of the problems.
absl::Status CheckRewrites(const std::vector<v1::Problem>& problems,
                           const std::vector<WorkedExample>& rewrites);

// Returns what teaches each problem its own right answers: its reference, `copies` times, or where
// it has rewrites (those whose function is its reference), each of them kCopiesOfRewrite * `copies`
// times. INVALID_ARGUMENT: a rewrite is of none of the problems. `response_prefix` is as in
// ToSftExample.
absl::StatusOr<std::vector<v1::SftExample>> OwnExamples(const std::vector<v1::Problem>& problems,
                                                        const std::vector<WorkedExample>& rewrites,
                                                        size_t copies,
                                                        absl::string_view response_prefix);

// Returns the fastest rewrite of the problem's reference where it is at least kLeastGainOfExpert
// times as fast, else "". A slower one would change no reward (RewardConfig in campaign.proto).
inline constexpr double kLeastGainOfExpert = 2;
std::string ExpertOf(const v1::Problem& problem, const std::vector<WorkedExample>& rewrites);

// Reads what `whet rewrite` wrote: worked examples, or nothing at all where no rule found any.
absl::StatusOr<std::vector<WorkedExample>> ReadRewrites(const std::string& path);

struct WarmupOptions {
  double epochs = 1;  // passes over the examples; 0.5 is the first half of one
  int batch_size = 8;
  uint64_t seed = 17;
  size_t max_response_chars = 1200;  // longer rewrites are skipped
  std::string response_prefix = {};
  bool curriculum = false;  // each epoch goes from easy to hard; what has no difficulty counts as 0
  size_t nearest = 0;       // takes only so many, those nearest to `functions`; 0: all
  std::vector<std::string> functions = {};  // C++ functions
  // These are shown besides, once an epoch each, as they are; in a curriculum amid the others.
  std::vector<v1::SftExample> own = {};
};

// Returns the examples that the options allow: those that are short enough, of these the nearest.
std::vector<WorkedExample> ChooseExamples(std::vector<WorkedExample> examples,
                                          const WarmupOptions& options);

// Returns every update's examples, in order. Each epoch is a fresh shuffle (a part of an epoch is
// the beginning of one; a curriculum sorts what is drawn by difficulty), and half of the draws of
// `chosen` (ChooseExamples) have renamed identifiers, drawn anew. The last batch may be smaller.
// The plan is empty if there is nothing to show, or so few epochs of it that nothing is drawn. One
// seed gives one plan: a resumed campaign asks again and goes on where it was.
std::vector<std::vector<v1::SftExample>> PlanWarmup(const std::vector<WorkedExample>& chosen,
                                                    const WarmupOptions& options);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_PROMPT_WORKED_EXAMPLES_H_
