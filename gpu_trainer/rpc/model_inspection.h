// InspectModel of trainer.proto is answered here, without a policy or a server.
#ifndef WHETSTONE_GPU_TRAINER_RPC_MODEL_INSPECTION_H_
#define WHETSTONE_GPU_TRAINER_RPC_MODEL_INSPECTION_H_

#include "whetstone/v1/trainer.pb.h"

namespace whetstone {

// Reads small files and the headers of weights; no tensor gets memory. What is wrong becomes the
// facts' `error`, an exception of LibTorch's too.
v1::InspectModelResponse InspectModel(const v1::InspectModelRequest& request);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_RPC_MODEL_INSPECTION_H_
