#include "gpu_trainer/checkpoint/optimizer_file.h"

#include <cstring>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "gpu_trainer/model/safetensors.h"

namespace whetstone {
namespace {

// Returns the name that safetensors has for a dtype of Learner::State.
const char* StoredDtype(torch::ScalarType dtype) {
  switch (dtype) {
    case torch::kFloat:
      return "F32";
    case torch::kBFloat16:
      return "BF16";
    case torch::kHalf:
      return "F16";
    case torch::kShort:
      return "I16";
    default:
      CHECK(dtype == torch::kByte);
      return "U8";
  }
}

}  // namespace

absl::Status WriteOptimizerFile(StateGather& state, const std::string& path) {
  std::vector<SafetensorsTensor> tensors;
  for (const ShardedTensor& tensor : state.tensors()) {
    tensors.push_back({.name = tensor.name,
                       .dtype = StoredDtype(tensor.mine.scalar_type()),
                       .shape = tensor.shape,
                       .bytes = {}});
  }
  torch::Tensor whole;  // It owns the bytes until they are written.
  return WriteSafetensors(path, tensors, [&](size_t) -> absl::StatusOr<absl::string_view> {
    ASSIGN_OR_RETURN(whole, state.Next());
    return absl::string_view(static_cast<const char*>(whole.const_data_ptr()),
                             static_cast<size_t>(whole.nbytes()));
  });
}

absl::Status ReadOptimizerFile(const std::string& path, int rank, Learner& learner) {
  ASSIGN_OR_RETURN(const std::unique_ptr<SafetensorsFile> file, SafetensorsFile::Open(path));
  const std::vector<ShardedTensor> wanted = learner.State();
  if (file->entries().size() != wanted.size()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", file->entries().size(),
                                                   " tensors instead of ", wanted.size(),
                                                   "; it belongs to another model"));
  }
  torch::NoGradGuard no_grad;
  for (const ShardedTensor& tensor : wanted) {
    const auto it = file->entries().find(tensor.name);
    if (it == file->entries().end() || it->second.dtype != StoredDtype(tensor.mine.scalar_type()) ||
        it->second.shape != tensor.shape) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": tensor ", tensor.name,
                       " is missing or of another kind or shape; it belongs to another model"));
    }
    if (tensor.mine.numel() == 0) continue;
    const torch::Tensor host = torch::empty_like(tensor.mine, torch::device(torch::kCPU));
    const size_t begin = static_cast<size_t>(tensor.slice_of(rank).begin) * host.itemsize();
    std::memcpy(host.data_ptr(), file->Bytes(it->second).data() + begin, host.nbytes());
    tensor.mine.detach().copy_(host);
  }
  learner.StateWasRestored();
  return absl::OkStatus();
}

}  // namespace whetstone
