// Rewriter asks the program whet-rewriter, which applies the rules.
//
//   ASSIGN_OR_RETURN(Rewriter rewriter, Rewriter::Make(problem));
//   ASSIGN_OR_RETURN(auto proposed, rewriter.Propose({problem.reference()}, {}));
//
// Not thread-safe: calls share files.
#ifndef WHETSTONE_COORDINATOR_REWRITES_REWRITER_H_
#define WHETSTONE_COORDINATOR_REWRITES_REWRITER_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/file.h"
#include "coordinator/rewrites/rewrite_search.h"
#include "whetstone/v1/problem.pb.h"

namespace whetstone {

class Rewriter {
 public:
  // One for each problem: its headers are precompiled once. INVALID_ARGUMENT: the signature is
  // none.
  static absl::StatusOr<Rewriter> Make(const v1::Problem& problem);
  // Returns all rewrites of each program, in order. FAILED_PRECONDITION: the only program cannot be
  // rewritten (it does not parse …). The rest as CallRewriter.
  absl::StatusOr<std::vector<std::vector<ProposedRewrite>>> Propose(
      const std::vector<std::string>& sources, const std::function<bool()>& cancelled);

 private:
  Rewriter(v1::Problem problem, std::string function, TempDir dir);
  v1::Problem problem_;
  std::string function_;
  TempDir dir_;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_REWRITES_REWRITER_H_
