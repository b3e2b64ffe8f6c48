// Renders chat messages as the text a model was trained on.
//
//   ASSIGN_OR_RETURN(ChatFormat chat, ChatFormat::Load(directory));
//   ASSIGN_OR_RETURN(std::string text, chat.Render({{"user", "Hello"}}, ChatFormat::kGenerate));
//   tokenizer.Encode(text + response_prefix);
//
// A model's template is a Jinja program (chat_template.jinja, or chat_template in
// tokenizer_config.json). Render gives the same text as transformers' apply_chat_template.
// Immutable and thread-safe.
#ifndef WHETSTONE_GPU_TRAINER_TOKENIZER_CHAT_H_
#define WHETSTONE_GPU_TRAINER_TOKENIZER_CHAT_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace whetstone {

struct ChatMessage {
  std::string role;  // "system", "user" or "assistant"
  std::string content;
};

// Some templates let the caller choose these; the others ignore them.
struct ChatOptions {
  // With false Qwen3's enable_thinking closes the block of thoughts before the answer begins.
  // Without a value the template does as it does by itself.
  std::optional<bool> thinking;
  // It is Llama 3's date_string, the day that the system message tells ("26 Jul 2024"). If it is
  // empty, the template chooses, which may mean today.
  std::string date;
};

class ChatFormat {
 public:
  // kGenerate appends what comes before an assistant's answer.
  enum Ending { kClosed, kGenerate };

  // NOT_FOUND: the directory has no chat template (a base model).
  // INVALID_ARGUMENT: a template this version can not follow (says what is supported).
  static absl::StatusOr<ChatFormat> Load(const std::string& directory);

  // INVALID_ARGUMENT: no messages, or a role or order that the template refuses.
  absl::StatusOr<std::string> Render(const std::vector<ChatMessage>& messages, Ending ending,
                                     const ChatOptions& options = {}) const;

  // Returns the token that ends an assistant's turn, as text ("<|im_end|>"). It is appended to
  // learned answers, and ends a completion besides the config's eos ids.
  const std::string& end_of_turn() const { return end_of_turn_; }

  // Tells whether a prompt can depend on the day it is rendered, unless ChatOptions::date is given.
  bool can_tell_today() const { return can_tell_today_; }

 private:
  struct Format;
  std::shared_ptr<const Format> format_;
  std::string end_of_turn_;
  bool can_tell_today_ = false;
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_TOKENIZER_CHAT_H_
