// The gRPC face of a Measurer: checks what comes in and translates statuses. A client that hangs up
// leaves its measurement running for a while; whoever asks again within it joins it
// (waiting_callers.h).
#ifndef WHETSTONE_CPU_BENCH_WORKER_SERVICE_WORKER_SERVICE_H_
#define WHETSTONE_CPU_BENCH_WORKER_SERVICE_WORKER_SERVICE_H_

#include <grpcpp/grpcpp.h>

#include <string>

#include "cpu_bench_worker/measure/calibration_cache.h"
#include "cpu_bench_worker/measure/measure.h"
#include "cpu_bench_worker/service/waiting_callers.h"
#include "whetstone/v1/worker.grpc.pb.h"

namespace whetstone {

// Thread-safe, as gRPC needs.
class WorkerService final : public v1::Worker::Service {
 public:
  // `measurer` and `calibrations` are borrowed and must outlive the service.
  // `grace`: for how long a candidate is measured that nobody waits for.
  WorkerService(Measurer* measurer, std::string version, const CalibrationCache* calibrations,
                std::chrono::milliseconds grace = WaitingCallers::kGrace)
      : measurer_(measurer),
        version_(std::move(version)),
        calibrations_(calibrations),
        callers_([measurer](const std::vector<std::string>& ids) { measurer->Cancel(ids); },
                 grace) {}

  grpc::Status GetInfo(grpc::ServerContext* context, const v1::WorkerInfoRequest* request,
                       v1::WorkerInfo* response) override;
  grpc::Status PutProblem(grpc::ServerContext* context, const v1::PutProblemRequest* request,
                          v1::PutProblemResponse* response) override;
  grpc::Status Measure(grpc::ServerContext* context, const v1::MeasureRequest* request,
                       v1::MeasureResponse* response) override;
  grpc::Status Cancel(grpc::ServerContext* context, const v1::CancelRequest* request,
                      v1::CancelResponse* response) override;

 private:
  v1::WorkerInfo Info() const;

  Measurer* measurer_;
  std::string version_;
  const CalibrationCache* calibrations_;
  WaitingCallers callers_;
};

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_SERVICE_WORKER_SERVICE_H_
