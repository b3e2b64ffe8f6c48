// ModelText is a model's tokenizer and chat template, held to go with the model.
//
//   ASSIGN_OR_RETURN(const ModelText text, LoadModelText(directory, config, chat, deterministic));
//   ASSIGN_OR_RETURN(const std::vector<int32_t> ids, text.PromptIds(messages, response_prefix));
#ifndef WHETSTONE_GPU_TRAINER_RPC_MODEL_TEXT_H_
#define WHETSTONE_GPU_TRAINER_RPC_MODEL_TEXT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_trainer/model/config.h"
#include "gpu_trainer/tokenizer/chat.h"
#include "gpu_trainer/tokenizer/tokenizer.h"
#include "whetstone/v1/trainer.pb.h"

namespace whetstone {

// It is immutable and thread-safe once loaded.
struct ModelText {
  using Messages = google::protobuf::RepeatedPtrField<v1::Message>;

  std::unique_ptr<Tokenizer> tokenizer;
  ChatOptions chat_options;
  // An error says that the model has no template.
  absl::StatusOr<ChatFormat> chat = absl::UnknownError("");

  // Returns the messages as the model is asked them, or as tokens. Errors say that the model has no
  // template, or that the template refuses them.
  absl::StatusOr<std::string> PromptText(const Messages& messages) const;
  absl::StatusOr<std::vector<int32_t>> PromptIds(const Messages& messages,
                                                 const std::string& response_prefix) const;
};

// Reads both from `directory`. INVALID_ARGUMENT says that a file is damaged or not supported, that
// the tokenizer has ids beyond the model's vocabulary or does not give text back, that no token
// ends an answer or, with `deterministic`, that the template tells the day. NOT_FOUND says that
// there is no tokenizer.json.
absl::StatusOr<ModelText> LoadModelText(const std::string& directory, const ModelConfig& config,
                                        const v1::ChatSettings& chat, bool deterministic);

// Returns the prompt's tokens. INVALID_ARGUMENT, besides PromptText's errors, says that template or
// tokenizer lose something of what the messages say, or that no token ends where `response_prefix`
// does when `continuation` (empty: unknown) comes next: the policy could not go on there as it
// would by itself.
absl::StatusOr<std::vector<int32_t>> CheckPrompt(const ModelText& text,
                                                 const ModelText::Messages& messages,
                                                 const std::string& response_prefix,
                                                 const std::string& continuation);

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_RPC_MODEL_TEXT_H_
