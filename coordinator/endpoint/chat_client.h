// A ChatClient gets one completion from a server with OpenAI's chat completions API, however often
// it must ask for it.
//
//   ChatClient client(options, ledger.get());
//   ASSIGN_OR_RETURN(const ChatAnswer answer, client.Complete(query, cancelled));
#ifndef WHETSTONE_COORDINATOR_ENDPOINT_CHAT_CLIENT_H_
#define WHETSTONE_COORDINATOR_ENDPOINT_CHAT_CLIENT_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/endpoint/chat.h"
#include "coordinator/endpoint/http.h"
#include "coordinator/endpoint/usage_ledger.h"

namespace whetstone {

struct ChatClientOptions {
  std::string url = {};  // the API's base, "http://127.0.0.1:8000/v1"
  std::string model = {};
  std::string key = {};                        // empty: none
  int concurrency = 8;                         // requests under way at once
  std::chrono::milliseconds timeout{600'000};  // of one request
  // The pause before another attempt is `pause_min` at first, then twice as long each time up to
  // `pause_max`, less a random part of up to half; or what the server asks for (Retry-After), up to
  // `retry_after_max`, where that is longer.
  std::chrono::milliseconds pause_min{500};
  std::chrono::milliseconds pause_max{20'000};
  std::chrono::milliseconds retry_after_max{60'000};
  // A sample is given up so long after its first failure, and after three at least.
  std::chrono::milliseconds retry_for{150'000};
};

// Returns the URL of a path of the API ("/models"), or INVALID_ARGUMENT as CheckUrl says, or
// because the base holds a query or a fragment.
absl::StatusOr<std::string> ApiUrl(const std::string& base, const std::string& path, bool with_key);

// A ChatClient is thread-safe. Every wait ends soon after `cancelled` says so.
class ChatClient {
 public:
  // The ledger is borrowed and must outlive the client.
  ChatClient(ChatClientOptions options, UsageLedger* ledger);

  // Returns the completion for one sample. Before each request it waits until fewer than
  // `concurrency` are under way, and asks the ledger. Where `sampling.deadline_s` is above 0 a
  // request takes no longer, and what isn't there then is an answer without text, DEADLINE.
  //
  // CANCELLED: `cancelled` (may be empty) said so. UNAVAILABLE: given up after `retry_for`, or the
  // server sent something else than a chat completion three times. Others are permanent:
  // RESOURCE_EXHAUSTED as the ledger says, UNAUTHENTICATED, PERMISSION_DENIED and INVALID_ARGUMENT
  // as StatusOfResponse does, and what the ledger's file says.
  absl::StatusOr<ChatAnswer> Complete(const ChatQuery& query,
                                      const std::function<bool()>& cancelled);

 private:
  // An Attempt is what one request came to.
  struct Attempt {
    absl::StatusOr<ChatAnswer> answer;
    bool asked_wrongly = false;  // another dialect may do; no pause
    bool no_chat_completion = false;
    std::optional<int> retry_after_s = std::nullopt;
  };

  Attempt Ask(const ChatQuery& query, const std::function<bool()>& cancelled);
  Attempt Judge(const HttpResponse& as_sent, const ChatQuery& query, const Dialect& spoken);
  // Waits for one of the places, and returns whether it has it.
  bool TakePlace(const std::function<bool()>& cancelled);
  void LeavePlace();
  Dialect dialect() const;

  const ChatClientOptions options_;
  const std::string url_;  // of chat completions
  UsageLedger* const ledger_;
  mutable std::mutex mutex_;
  std::condition_variable place_left_;
  // mutex_ protects these.
  Dialect dialect_;
  int under_way_ = 0;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_ENDPOINT_CHAT_CLIENT_H_
