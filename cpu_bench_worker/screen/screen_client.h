// The worker's side of the screen: asks pre-started, sandboxed whet-screener processes to read
// candidates (screener_main.cc holds clang; nothing of clang shows here).
//
//   ASSIGN_OR_RETURN(auto screener, ScreenClient::Create(bin_dir, cores, slots));
//   ASSIGN_OR_RETURN(ScreenConfig config, screener->Prepare(problem));
//   ScreenReport report = screener->Screen(config, source);
//
// Courtesy and telemetry: the sandbox is the security. A screener parses hostile text in a child of
// its own. One that went all the same is started afresh and asked again; only by a candidate at
// which a second one goes is it brought down, which is that candidate's verdict. Everything else
// that fails here is our fault. Thread-safe; while all screeners read, requests queue.
#ifndef WHETSTONE_CPU_BENCH_WORKER_SCREEN_SCREEN_CLIENT_H_
#define WHETSTONE_CPU_BENCH_WORKER_SCREEN_SCREEN_CLIENT_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "whetstone/v1/problem.pb.h"
#include "whetstone/v1/verdict.pb.h"

namespace whetstone {

// What the screener needs to know of a problem; made once.
struct ScreenConfig {
  std::vector<std::string> flags;  // of clang: -std, -march …
  std::string header_dir;          // inside the sandbox: holds allowed.h and allowed.h.pch
  std::vector<std::string> headers;
  std::vector<std::string> allow;
  std::string function;
  std::string signature;
  std::string structs;  // their definitions, which stand behind the headers
  std::string type;     // canonical, as clang prints it: "void (const float *, float *, int)"
  int threads = 1;
};

struct ScreenReport {
  absl::Status status = {};  // not OK: our fault
  // UNSPECIFIED: passed. Else NO_CODE (wrong signature), FORBIDDEN or COMPILE_ERROR.
  v1::Outcome outcome = v1::OUTCOME_UNSPECIFIED;
  std::string detail = {};
  std::string canonical_hash = {};           // empty when it did not parse
  std::vector<std::string> techniques = {};  // sorted
};

class ScreenClient {
 public:
  // Up to `screeners` processes run on `cores`, the first from now on, each further one once all
  // others read. FAILED_PRECONDITION: whet-screener is missing or doesn't start in the sandbox.
  static absl::StatusOr<std::unique_ptr<ScreenClient>> Create(const std::string& bin_dir,
                                                              const std::vector<int>& cores,
                                                              int screeners);
  virtual ~ScreenClient() = default;
  // Precompiles the allowed headers for clang and resolves the signature's type.
  // INVALID_ARGUMENT: clang refuses headers, flags or signature.
  virtual absl::StatusOr<ScreenConfig> Prepare(const v1::Problem& problem) = 0;
  virtual ScreenReport Screen(const ScreenConfig& config, const std::string& source) = 0;
};

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_SCREEN_SCREEN_CLIENT_H_
