// The archive of a campaign that searches (`search`): the fastest different programs of each
// problem, and the latest that failed. Each may be the parent of a group. One that is right is
// shown in the place of the reference; which one, follows from the archive, the seed and the
// group's place, by PUCT after TTT-Discover (arXiv 2601.16175): what came of each program, and more
// for what was tried little. One that failed is shown as an answer, with what was wrong with it:
// the second turn of a conversation (Kevin, arXiv 2507.11948), whose first one was another group's.
//
//   SearchArchive archive = FirstArchive(plan);
//   Archive(plan, step, &archive);   // with each update
//   std::optional<SearchParent> parent =
//       ChooseParent(plan, archive, pending, step, group);   // of a later step
//
// The functions are pure.
#ifndef WHETSTONE_COORDINATOR_DURABLE_SEARCH_ARCHIVE_H_
#define WHETSTONE_COORDINATOR_DURABLE_SEARCH_ARCHIVE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/durable/campaign_plan.h"
#include "coordinator/durable/step_record.h"

namespace whetstone {

struct ArchivedProgram {
  // Where it was found; step 0: it was known before the campaign began.
  int64_t step = 0;
  int group_index = 0;
  int sample = 0;
  // What makes it another program than the others: its canonical source, and what became of that.
  std::string hash;
  std::string object_hash;
  std::string parent;  // hash of the program that its group was shown, right or failed; else empty
  std::string source;  // without the problem's structs
  double speedup = 0;  // over the reference
  int groups = 0;      // that it was the parent of
  // The speedup of the fastest right program among those that is another than this; 0: none was.
  double best_child = 0;
};

struct FailedProgram {
  std::string hash;
  std::string source;
  std::string failure;  // what its verdict says, at most kFailureBytes; never blank
  int groups = 0;       // that it was the parent of
};

struct ProblemArchive {
  std::vector<ArchivedProgram> programs;  // the fastest first, of equally fast ones the oldest
  std::vector<FailedProgram> failed;      // the oldest first; without those that a group mended
};

using SearchArchive = std::map<std::string, ProblemArchive>;  // by problem id

// PendingParents counts, by problem id and hash, the groups that have a parent and are not in the
// archive yet.
using PendingParents = std::map<std::pair<std::string, std::string>, int>;

// Returns the archive that the campaign begins with: what is known of its problems' programs.
SearchArchive FirstArchive(const CampaignPlan& plan);

// Returns whether any group of the campaign may have a parent.
bool Searches(const v1::Campaign& campaign);

// Adds what `step` found that is clearly faster than the reference and new, as far as there is
// room, and what failed, and tells parents what came of them. Its verdicts must be there.
void Archive(const CampaignPlan& plan, const StepRecord& step, SearchArchive* archive);

// Returns the parent of a group that is about to be sampled; nothing: it is shown the reference.
std::optional<SearchParent> ChooseParent(const CampaignPlan& plan, const SearchArchive& archive,
                                         const PendingParents& pending, int64_t step,
                                         int group_index);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_DURABLE_SEARCH_ARCHIVE_H_
