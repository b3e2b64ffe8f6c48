// EndpointService is the Trainer service of proto/whetstone/v1/trainer.proto on a model that
// somebody else serves. It generates; it can't learn, save or score, whose calls stay
// UNIMPLEMENTED.
//
// Who holds it is as with the trainer (TrainerGate): one campaign generates at a time.
//
// Generate differs from the trainer's in what an endpoint does not tell: prompts and completions
// have no token ids and no log-probabilities, and asking again gives other completions. A group's
// response_prefix is refused, as an endpoint's answer begins by itself. `deadline_s` counts from
// the request, the server's own queue included. `ignore_eos`, `stop_ids` and what is about memory
// and bits are not looked at.
//
// The call ends with the first error, after everything that came. Permanent ones are
// INVALID_ARGUMENT, UNAUTHENTICATED, PERMISSION_DENIED and RESOURCE_EXHAUSTED (a limit of the
// campaign). UNAVAILABLE: a sample was given up (chat_client.h).
#ifndef WHETSTONE_COORDINATOR_ENDPOINT_ENDPOINT_SERVICE_H_
#define WHETSTONE_COORDINATOR_ENDPOINT_ENDPOINT_SERVICE_H_

#include <grpcpp/server_context.h>

#include <mutex>
#include <string>

#include "common/clock.h"
#include "common/trainer_gate.h"
#include "coordinator/endpoint/chat_client.h"
#include "coordinator/endpoint/generation.h"
#include "whetstone/v1/trainer.grpc.pb.h"

namespace whetstone {

// An EndpointService is thread-safe; several Generate calls share the client's places.
class EndpointService final : public v1::Trainer::Service {
 public:
  // `client` is borrowed and must outlive the service. `version` is WHETSTONE_VERSION. The host
  // that computes is this one if `url` is on loopback: a worker here then does not time meanwhile.
  EndpointService(ChatClient* client, const std::string& url, std::string model,
                  std::string version, const GenerationOptions& options);

  grpc::Status GetInfo(grpc::ServerContext* context, const v1::TrainerInfoRequest* request,
                       v1::TrainerInfo* response) override;
  // Remembers the campaign. There is nothing to load, and `path` is not looked at.
  grpc::Status LoadCheckpoint(grpc::ServerContext* context,
                              const v1::LoadCheckpointRequest* request,
                              v1::LoadCheckpointResponse* response) override;
  grpc::Status Generate(grpc::ServerContext* context, const v1::GenerateRequest* request,
                        grpc::ServerWriter<v1::GenerateEvent>* writer) override;

  v1::TrainerInfo Info() const;

 private:
  absl::Status Stream(grpc::ServerContext* context, const TrainerHolder& caller,
                      const v1::GenerateRequest& request,
                      grpc::ServerWriter<v1::GenerateEvent>* writer);

  ChatClient* const client_;
  const GenerationOptions options_;
  const SteadyClock clock_;
  TrainerGate gate_{&clock_};
  mutable std::mutex mutex_;
  v1::TrainerInfo info_;  // mutex_ protects it
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_ENDPOINT_ENDPOINT_SERVICE_H_
