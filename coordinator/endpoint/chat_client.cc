#include "coordinator/endpoint/chat_client.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/philox.h"
#include "common/status_macros.h"
#include "coordinator/endpoint/api_key.h"
#include "coordinator/endpoint/chat_error.h"

namespace whetstone {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kCancelPoll{50};
constexpr int kNoChatCompletionsMax = 3;
constexpr int kAttemptsMin = 3;
constexpr int64_t kBytesAToken = 4;
constexpr size_t kExcerptCharacters = 80;
// A deadline of years is none, and milliseconds stay within their type.
constexpr double kDeadlineSecondsMax = 1e6;

bool IsCancelled(const std::function<bool()>& cancelled) { return cancelled && cancelled(); }

// Returns false if it was cancelled.
bool Pause(milliseconds pause, const std::function<bool()>& cancelled) {
  const auto end = steady_clock::now() + pause;
  for (;;) {
    if (IsCancelled(cancelled)) return false;
    const auto now = steady_clock::now();
    if (now >= end) return true;
    std::this_thread::sleep_for(std::min<steady_clock::duration>(end - now, kCancelPoll));
  }
}

// The Pauses of one sample lie apart from those of others that failed at the same time.
class Pauses {
 public:
  Pauses(const ChatClientOptions& options, uint32_t seed)
      : options_(options), rng_(seed, {}), next_(options.pause_min) {}

  milliseconds Next(std::optional<int> retry_after_s) {
    const milliseconds longest = std::exchange(next_, std::min(2 * next_, options_.pause_max));
    const auto pause = std::chrono::duration_cast<milliseconds>(longest * (1 - rng_.Uniform() / 2));
    if (!retry_after_s.has_value()) return pause;
    const milliseconds asked = std::chrono::seconds(*retry_after_s);
    return std::max(pause, std::min(asked, options_.retry_after_max));
  }

 private:
  const ChatClientOptions& options_;
  Philox rng_;
  milliseconds next_;
};

absl::Status Stopped() { return absl::CancelledError("stopped before the completion had come"); }

}  // namespace

absl::StatusOr<std::string> ApiUrl(const std::string& base, const std::string& path,
                                   bool with_key) {
  RETURN_IF_ERROR(CheckUrl(base, with_key));
  if (absl::StrContains(base, '?') || absl::StrContains(base, '#')) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", base.substr(0, base.find_first_of("?#")),
        "' is followed by ? or #; give the base of the API alone, as http://127.0.0.1:8000/v1"));
  }
  return absl::StrCat(absl::StripSuffix(base, "/"), path);
}

ChatClient::ChatClient(ChatClientOptions options, UsageLedger* ledger)
    : options_(std::move(options)),
      url_(absl::StrCat(absl::StripSuffix(options_.url, "/"), "/chat/completions")),
      ledger_(ledger) {}

absl::StatusOr<ChatAnswer> ChatClient::Complete(const ChatQuery& query,
                                                const std::function<bool()>& cancelled) {
  Pauses pauses(options_, query.seed);
  int no_chat_completions = 0, failures = 0;
  steady_clock::time_point first_failure;
  for (;;) {
    if (!TakePlace(cancelled)) return Stopped();
    Attempt attempt = Ask(query, cancelled);
    LeavePlace();
    if (attempt.answer.ok()) return attempt.answer;
    if (attempt.asked_wrongly) continue;
    const absl::Status& status = attempt.answer.status();
    // A request that took too long says nothing about the next one.
    if (!absl::IsUnavailable(status) && !absl::IsDeadlineExceeded(status)) return status;
    if (attempt.no_chat_completion && ++no_chat_completions == kNoChatCompletionsMax) return status;
    // A request may take minutes before it fails.
    if (++failures == 1) first_failure = steady_clock::now();
    const auto passed =
        std::chrono::duration_cast<milliseconds>(steady_clock::now() - first_failure);
    if (passed >= options_.retry_for && failures >= kAttemptsMin) {
      return absl::UnavailableError(
          absl::StrCat("no completion in ", failures, " attempts, ", passed.count() / 1000,
                       " s after the first; at last: ", status.message()));
    }
    const milliseconds left = std::max(options_.retry_for - passed, options_.pause_min);
    const milliseconds pause = std::min(pauses.Next(attempt.retry_after_s), left);
    spdlog::info("again in {:.1f} s: {}", std::chrono::duration<double>(pause).count(),
                 std::string(status.message()));
    if (!Pause(pause, cancelled)) return Stopped();
  }
}

ChatClient::Attempt ChatClient::Ask(const ChatQuery& query,
                                    const std::function<bool()>& cancelled) {
  if (const absl::Status granted = ledger_->Reserve(); !granted.ok()) return {granted};
  const Dialect spoken = dialect();
  HttpRequest request{.url = url_,
                      .body = ChatBody(query, options_.model, spoken),
                      .key = options_.key,
                      .timeout = options_.timeout};
  bool has_deadline = false;
  if (const double deadline_s = query.sampling.deadline_s(); deadline_s > 0) {
    const milliseconds deadline(
        static_cast<int64_t>(std::min(deadline_s, kDeadlineSecondsMax) * 1e3));
    has_deadline = deadline < request.timeout;
    if (has_deadline) request.timeout = std::max(deadline, milliseconds(1));
  }
  bool sent = false;
  const absl::StatusOr<HttpResponse> response = SendHttp(request, cancelled, &sent);
  Attempt attempt =
      response.ok() ? Judge(*response, query, spoken) : Attempt{.answer = response.status()};
  if (absl::IsOutOfRange(response.status())) {
    attempt.answer = absl::UnavailableError(response.status().message());
    attempt.no_chat_completion = true;
  }
  if (has_deadline && sent && absl::IsDeadlineExceeded(response.status())) {
    attempt.answer = ChatAnswer{.text = {}, .finish = v1::Completion::DEADLINE};
  }
  Usage used{.requests = sent ? 1 : 0};
  if (attempt.answer.ok()) {
    used.prompt_tokens = attempt.answer->prompt_tokens;
    used.completion_tokens = attempt.answer->completion_tokens;
    // Limits hold for servers that do not count, too.
    if (used.prompt_tokens + used.completion_tokens == 0) {
      used.prompt_tokens = static_cast<int64_t>(request.body->size()) / kBytesAToken;
      used.completion_tokens = attempt.answer->finish == v1::Completion::DEADLINE
                                   ? query.sampling.max_new_tokens()
                                   : static_cast<int64_t>(attempt.answer->bytes) / kBytesAToken;
    }
  }
  // Limits that are not on disk don't hold.
  if (const absl::Status settled = ledger_->Settle(used); !settled.ok()) return {settled};
  return attempt;
}

ChatClient::Attempt ChatClient::Judge(const HttpResponse& as_sent, const ChatQuery& query,
                                      const Dialect& spoken) {
  HttpResponse response = as_sent;
  // Some send an error that came late with the status of a success.
  response.status = StatusInBody(response);
  if (response.status >= 200 && response.status < 300) {
    absl::StatusOr<ChatAnswer> answer = ParseChatAnswer(response.body);
    if (answer.ok()) return {std::move(answer)};
    return {.answer = absl::UnavailableError(
                absl::StrCat(url_, " sent something else than a chat completion: ",
                             OneLine(WithoutKey(response.body, options_.key), kExcerptCharacters))),
            .no_chat_completion = true};
  }
  // Some servers repeat a key that they refuse.
  const HttpResponse shown{response.status, WithoutKey(response.body, options_.key),
                           response.retry_after_s};
  if (RefusesThePrompt(shown)) {
    spdlog::warn("{} does not answer one prompt: {}", url_, ServerMessage(shown.body));
    return {ChatAnswer{}};
  }
  Attempt attempt{.answer = StatusOfResponse(shown, url_, options_.model),
                  .retry_after_s = shown.retry_after_s};
  const std::optional<std::string> refused = RefusedParameter(shown, ChatParameters(query, spoken));
  if (!refused.has_value()) return attempt;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (dialect_.Drop(*refused)) {
    spdlog::warn("{} does not take {}, which is left out from now on: {}", url_, *refused,
                 ServerMessage(shown.body));
  }
  // Where another thread was faster, the dialect has changed all the same.
  attempt.asked_wrongly = !(dialect_ == spoken);
  return attempt;
}

bool ChatClient::TakePlace(const std::function<bool()>& cancelled) {
  std::unique_lock<std::mutex> lock(mutex_);
  while (under_way_ >= options_.concurrency) {
    place_left_.wait_for(lock, kCancelPoll);
    if (IsCancelled(cancelled)) return false;
  }
  if (IsCancelled(cancelled)) return false;
  ++under_way_;
  return true;
}

void ChatClient::LeavePlace() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    --under_way_;
  }
  place_left_.notify_one();
}

Dialect ChatClient::dialect() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return dialect_;
}

}  // namespace whetstone
