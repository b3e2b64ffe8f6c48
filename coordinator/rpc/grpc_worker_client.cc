#include "coordinator/rpc/grpc_channel.h"
#include "coordinator/rpc/worker_client.h"
#include "whetstone/v1/worker.grpc.pb.h"

namespace whetstone {
namespace {

class GrpcWorkerClient final : public WorkerClient {
 public:
  explicit GrpcWorkerClient(const std::string& target)
      : target_(target), stub_(v1::Worker::NewStub(MakeChannel(target))) {}

  absl::StatusOr<v1::WorkerInfo> GetInfo(const CallOptions& options) override {
    return Unary<v1::WorkerInfo>("Worker.GetInfo", options, [&](auto* context, auto* reply) {
      return stub_->GetInfo(context, v1::WorkerInfoRequest(), reply);
    });
  }
  absl::StatusOr<v1::PutProblemResponse> PutProblem(const v1::PutProblemRequest& request,
                                                    const CallOptions& options) override {
    return Unary<v1::PutProblemResponse>(
        "Worker.PutProblem", options,
        [&](auto* context, auto* reply) { return stub_->PutProblem(context, request, reply); });
  }
  absl::StatusOr<v1::MeasureResponse> Measure(const v1::MeasureRequest& request,
                                              const CallOptions& options) override {
    return Unary<v1::MeasureResponse>("Worker.Measure", options, [&](auto* context, auto* reply) {
      return stub_->Measure(context, request, reply);
    });
  }
  absl::Status Cancel(const v1::CancelRequest& request, const CallOptions& options) override {
    return Unary<v1::CancelResponse>(
               "Worker.Cancel", options,
               [&](auto* context, auto* reply) { return stub_->Cancel(context, request, reply); })
        .status();
  }

 private:
  template <typename Reply, typename Call>
  absl::StatusOr<Reply> Unary(const char* what, const CallOptions& options, const Call& call) {
    BoundContext context(options);
    Reply reply;
    const absl::Status status = CallStatus(call(context.get(), &reply), what, target_);
    if (!status.ok()) return status;
    return reply;
  }

  const std::string target_;
  const std::unique_ptr<v1::Worker::Stub> stub_;
};

}  // namespace

std::unique_ptr<WorkerClient> MakeGrpcWorkerClient(const std::string& target) {
  return std::make_unique<GrpcWorkerClient>(target);
}

}  // namespace whetstone
