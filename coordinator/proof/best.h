// RUN/best/<problem>/ holds the fastest verified program of a problem, and all it takes to believe
// it.
//
//   candidate.cc      the program
//   provenance.json   where it comes from, and on what it was measured how
//   verdict.json      what the worker found, measured again in fresh processes
//   benchmark.cc …    a Google Benchmark of reference and candidate that needs nothing of Whetstone
//   CMakeLists.txt, README.md, run.sh
#ifndef WHETSTONE_COORDINATOR_PROOF_BEST_H_
#define WHETSTONE_COORDINATOR_PROOF_BEST_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "absl/status/status.h"
#include "coordinator/durable/journal_entry.h"
#include "coordinator/journal/run_dir.h"
#include "whetstone/v1/campaign.pb.h"
#include "whetstone/v1/problem.pb.h"

namespace whetstone {

// Writes such a directory for any program measured as `verdict` says. `origin` goes to the front of
// provenance.json. What was there is replaced, file by file; written again, it is the same.
absl::Status WriteProof(const std::string& folder, const v1::Problem& problem,
                        const std::string& source, const v1::Verdict& verdict,
                        const nlohmann::ordered_json& origin);

// Does the same for the best program of a campaign, in its place.
absl::Status PublishBest(const RunPaths& paths, const v1::Campaign& campaign,
                         const v1::Problem& problem, const IncumbentEntry& incumbent);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_PROOF_BEST_H_
