#include "cpu_bench_worker/service/worker_service.h"

#include <spdlog/spdlog.h>

#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/clock.h"
#include "common/grpc_status.h"
#include "common/problem/problem_hash.h"

namespace whetstone {

grpc::Status WorkerService::GetInfo(grpc::ServerContext*, const v1::WorkerInfoRequest*,
                                    v1::WorkerInfo* response) {
  *response = Info();
  return grpc::Status::OK;
}

v1::WorkerInfo WorkerService::Info() const {
  v1::WorkerInfo info = measurer_->Info();
  info.set_version(version_);
  info.set_unix_time(UnixSeconds());
  return info;
}

grpc::Status WorkerService::PutProblem(grpc::ServerContext*, const v1::PutProblemRequest* request,
                                       v1::PutProblemResponse* response) {
  const std::string hash = ProblemHash(request->problem());
  if (request->problem_hash() != hash)
    return ToGrpcStatus(absl::FailedPreconditionError(
        absl::StrCat("problem_hash is '", request->problem_hash(), "', but the problem's is '",
                     hash, "'; coordinator and worker must be of one version")));
  if (const v1::WorkerInfo info = measurer_->Info();
      info.isolation_level() < request->isolation_min())
    return ToGrpcStatus(absl::FailedPreconditionError(
        absl::StrCat(info.hostname(), " isolates candidates at level ",
                     v1::IsolationLevel_Name(info.isolation_level()), ", and ",
                     v1::IsolationLevel_Name(request->isolation_min()), " is demanded; it lacks ",
                     absl::StrJoin(info.isolation_missing(), "; "))));
  std::optional<v1::Calibration> known;
  if (request->has_calibration()) known = request->calibration();
  if (!known && request->keeping() == v1::PutProblemRequest::KEPT)
    known = calibrations_->Find(hash, Info(), UnixSeconds());
  absl::StatusOr<v1::Calibration> calibration =
      measurer_->PutProblem(request->problem(), known ? &*known : nullptr);
  if (!calibration.ok()) {
    spdlog::warn("problem {} refused: {}", request->problem().id(),
                 std::string(calibration.status().message()));
    return ToGrpcStatus(calibration.status());
  }
  const double expert = calibration->expert().speedup();
  spdlog::info("problem {} ready: {}, A/A threshold {:.2f} %", request->problem().id(),
               expert > 0 ? absl::StrFormat("expert %.2fx", expert) : "no expert",
               100 * calibration->noise_band());
  if (!known && request->keeping() != v1::PutProblemRequest::MEASURED) {
    const absl::Status kept = calibrations_->Keep(hash, Info(), *calibration);
    if (!kept.ok()) spdlog::warn("the calibration is not kept: {}", kept.ToString());
  }
  *response->mutable_calibration() = std::move(*calibration);
  return grpc::Status::OK;
}

grpc::Status WorkerService::Measure(grpc::ServerContext* context, const v1::MeasureRequest* request,
                                    v1::MeasureResponse* response) {
  const WaitingCallers::Caller caller(&callers_, request->candidate_id(),
                                      [context] { return context->IsCancelled(); });
  absl::StatusOr<v1::Verdict> verdict = measurer_->Measure(*request);
  if (!verdict.ok()) return ToGrpcStatus(verdict.status());
  spdlog::debug("{}: {} {:.3f}x", request->candidate_id(), v1::Outcome_Name(verdict->outcome()),
                verdict->speedup());
  if (verdict->outcome() == v1::INFRASTRUCTURE_ERROR || verdict->outcome() == v1::SUSPECT)
    spdlog::warn("{}: {}: {}", request->candidate_id(), v1::Outcome_Name(verdict->outcome()),
                 verdict->detail());
  *response->mutable_verdict() = std::move(*verdict);
  return grpc::Status::OK;
}

grpc::Status WorkerService::Cancel(grpc::ServerContext*, const v1::CancelRequest* request,
                                   v1::CancelResponse*) {
  measurer_->Cancel({request->candidate_ids().begin(), request->candidate_ids().end()});
  return grpc::Status::OK;
}

}  // namespace whetstone
