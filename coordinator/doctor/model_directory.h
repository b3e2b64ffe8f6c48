// Looks at a Hugging Face directory from outside, without LibTorch: are the files there, whole, and
// of a family the trainer knows? The trainer itself checks more when it loads.
#ifndef WHETSTONE_COORDINATOR_DOCTOR_MODEL_DIRECTORY_H_
#define WHETSTONE_COORDINATOR_DOCTOR_MODEL_DIRECTORY_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace whetstone {

struct ModelSummary {
  std::string architecture;  // model_type: "llama"
  int64_t parameters = 0;
  int64_t weight_bytes = 0;
};

// NOT_FOUND: directory or a file is missing. INVALID_ARGUMENT: a file is broken or cut short, or
// the architecture is not supported. Messages name the file.
absl::StatusOr<ModelSummary> InspectModelDirectory(const std::string& path);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_DOCTOR_MODEL_DIRECTORY_H_
