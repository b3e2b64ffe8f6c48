// What OpenAI's chat completions API is to a completion: the body of a request and the reading of
// an answer. One request is for one sample, without streaming. Pure: no I/O, no clock.
//
//   const std::string body = ChatBody(query, model, dialect);
//   … send it …
//   ASSIGN_OR_RETURN(ChatAnswer answer, ParseChatAnswer(response.body));
//
// Servers differ in which parameters they take. A Dialect begins with all that a request may have
// and loses those that the server refuses (chat_error.h).
#ifndef WHETSTONE_COORDINATOR_ENDPOINT_CHAT_H_
#define WHETSTONE_COORDINATOR_ENDPOINT_CHAT_H_

#include <google/protobuf/repeated_ptr_field.h>

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "whetstone/v1/trainer.pb.h"

namespace whetstone {

// A Dialect is the parameters that a server takes. It is a value, not thread-safe.
class Dialect {
 public:
  bool Takes(const std::string& parameter) const { return dropped_.count(parameter) == 0; }
  // Leaves a parameter out from now on. Returns false, and changes nothing, where it is out already
  // or may not go: `max_completion_tokens` and `max_tokens` say the same, and one of them stays.
  bool Drop(const std::string& parameter);
  friend bool operator==(const Dialect& a, const Dialect& b) { return a.dropped_ == b.dropped_; }

 private:
  std::set<std::string> dropped_;
};

// The fields are borrowed while a ChatQuery lives.
struct ChatQuery {
  const google::protobuf::RepeatedPtrField<v1::Message>& messages;
  const v1::SamplingParams& sampling;
  uint32_t seed = 0;  // 31 bits
};

// Returns the parameters of a request without model and messages: those that say how to sample and
// are not off. JSON's object.
nlohmann::json ChatParameters(const ChatQuery& query, const Dialect& dialect);

// Returns the request's body, JSON.
std::string ChatBody(const ChatQuery& query, const std::string& model, const Dialect& dialect);

// Returns a seed of 31 bits, as a function of the sample's place; other samples have others, but
// for chance.
uint32_t SampleSeed(uint64_t seed, int64_t step, int32_t group_index, int32_t sample);

// A text has at most this many bytes; a longer one is cut and counts as LENGTH.
inline constexpr size_t kTextBytesMax = 1 << 20;

struct ChatAnswer {
  std::string text;  // valid UTF-8 without NUL; empty where the server sent none
  v1::Completion::Finish finish = v1::Completion::STOP;
  size_t bytes = 0;  // of the text as it came, thoughts included
  // As the server counts them; 0: it doesn't say, or nothing that makes sense.
  int32_t prompt_tokens = 0;
  int32_t completion_tokens = 0;
};

// Reads a response's body. What the model thought before it answered (<think>…</think>) is left
// out. INVALID_ARGUMENT: it is no chat completion, or one that broke off.
absl::StatusOr<ChatAnswer> ParseChatAnswer(absl::string_view body);

// Returns the JSON that a server sent, or a discarded value if it is none or nested more than a
// hundred levels deep. Bytes that are no UTF-8 become U+FFFD. Never throws.
nlohmann::json ParseServerJson(absl::string_view body);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_ENDPOINT_CHAT_H_
