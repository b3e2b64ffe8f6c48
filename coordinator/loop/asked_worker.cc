#include "coordinator/loop/asked_worker.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/problem/problem_hash.h"
#include "common/status_macros.h"
#include "coordinator/campaign/deadlines.h"

namespace whetstone {
namespace {

constexpr int kAttempts = 2;  // to measure a program that the worker fails on
// So begins what a worker says of a reference, a generator and the like that do not come to their
// end (paired_run.cc, operator_program.cc).
constexpr char kProblemFailed[] = "the problem's ";

CallOptions Within(Seconds seconds, CallControl* control) {
  return {std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000)), control};
}

}  // namespace

absl::StatusOr<v1::WorkerInfo> AskedWorker::Info() {
  return client_->GetInfo(Within(kProbeDeadline, &control_));
}

absl::StatusOr<v1::Calibration> AskedWorker::Put(const v1::Problem& problem,
                                                 v1::PutProblemRequest::Keeping keeping,
                                                 v1::IsolationLevel isolation_min) {
  v1::PutProblemRequest request;
  request.set_keeping(keeping);
  request.set_isolation_min(isolation_min);
  return Put(problem, std::move(request));
}

absl::StatusOr<v1::Calibration> AskedWorker::Put(const v1::Problem& problem,
                                                 v1::PutProblemRequest request) {
  *request.mutable_problem() = problem;
  request.set_problem_hash(ProblemHash(problem));
  ASSIGN_OR_RETURN(v1::PutProblemResponse reply,
                   client_->PutProblem(request, Within(PutProblemDeadline(problem), &control_)));
  return std::move(*reply.mutable_calibration());
}

absl::StatusOr<v1::Verdict> AskedWorker::Measure(const v1::Problem& problem,
                                                 const std::string& source, bool time, bool fresh,
                                                 double least_speedup) {
  v1::MeasureRequest request;
  request.set_problem_hash(ProblemHash(problem));
  request.set_source(source);
  request.set_time(time);
  request.set_fresh(fresh);
  request.set_least_speedup(least_speedup);
  request.set_seed(17);
  std::string detail;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    request.set_candidate_id(absl::StrCat(name_, "/", ++candidates_));
    ASSIGN_OR_RETURN(v1::MeasureResponse reply,
                     client_->Measure(request, Within(MeasureDeadline(problem), &control_)));
    if (reply.verdict().outcome() != v1::INFRASTRUCTURE_ERROR) {
      return std::move(*reply.mutable_verdict());
    }
    detail = reply.verdict().detail();
  }
  if (absl::StartsWith(detail, kProblemFailed)) return absl::InvalidArgumentError(detail);
  return absl::InternalError(absl::StrCat("the worker could not measure: ", detail));
}

}  // namespace whetstone
