#include "coordinator/endpoint/http_server_testing.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"

namespace whetstone {
namespace {

// No request of a test is larger, and none takes longer.
constexpr size_t kRequestBytesMax = 8 << 20;
constexpr int kWaitMs = 120'000;

// Returns whether the socket has something, before the server stops.
bool AwaitInput(int fd, int stop) {
  pollfd waits[] = {{fd, POLLIN, 0}, {stop, POLLIN, 0}};
  return poll(waits, 2, kWaitMs) > 0 && waits[1].revents == 0;
}

void SendAll(int fd, const std::string& bytes) {
  size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t n = send(fd, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) break;  // The other side went, which some tests make it do.
    sent += static_cast<size_t>(n);
  }
}

std::string Bytes(const ScriptedAnswer& answer) {
  if (answer.raw.has_value()) return *answer.raw;
  std::string head =
      absl::StrCat("HTTP/1.1 ", answer.status,
                   " Scripted\r\nContent-Length: ", answer.length.value_or(answer.body.size()),
                   "\r\nConnection: close\r\n");
  for (const std::string& header : answer.headers) absl::StrAppend(&head, header, "\r\n");
  return absl::StrCat(head, "\r\n", answer.body);
}

}  // namespace

ScriptedHttpServer::ScriptedHttpServer(Script script) : script_(std::move(script)) {
  int stop[2];
  CHECK(pipe2(stop, O_CLOEXEC) == 0);
  stop_read_.reset(stop[0]);
  stop_write_.reset(stop[1]);
  listener_.reset(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  CHECK(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
  CHECK(listen(listener_.get(), 128) == 0);
  CHECK(getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
  port_ = ntohs(address.sin_port);
  accepting_ = std::thread([this] { Accept(); });
}

ScriptedHttpServer::~ScriptedHttpServer() {
  stop_write_.reset();
  accepting_.join();
  for (std::thread& connection : connections_) connection.join();
}

std::string ScriptedHttpServer::url() const {
  return absl::StrCat("http://127.0.0.1:", port_, "/v1");
}

std::vector<ScriptedRequest> ScriptedHttpServer::requests() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return requests_;
}

int ScriptedHttpServer::most_at_once() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return most_at_once_;
}

int ScriptedHttpServer::hanging() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return hanging_;
}

void ScriptedHttpServer::Accept() {
  for (;;) {
    pollfd waits[] = {{listener_.get(), POLLIN, 0}, {stop_read_.get(), POLLIN, 0}};
    if (poll(waits, 2, -1) < 0 || waits[1].revents != 0) return;
    const int fd = accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    const std::lock_guard<std::mutex> lock(mutex_);
    connections_.emplace_back([this, fd] { Serve(fd); });
  }
}

void ScriptedHttpServer::Serve(int fd) {
  const UniqueFd connection(fd);
  std::optional<ScriptedRequest> request = Read(fd);
  if (!request.has_value()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    request->number = static_cast<int>(requests_.size());
    requests_.push_back(*request);
    most_at_once_ = std::max(most_at_once_, ++at_once_);
  }
  const ScriptedAnswer answer = script_(*request);
  {
    // Before the answer, as the next request may come as soon as it is read.
    const std::lock_guard<std::mutex> lock(mutex_);
    --at_once_;
  }
  if (!answer.silent) SendAll(fd, Bytes(answer));
  if (answer.hang || answer.silent) Hang(fd);
}

std::optional<ScriptedRequest> ScriptedHttpServer::Read(int fd) const {
  std::string text;
  ScriptedRequest request;
  size_t head_end = std::string::npos;
  size_t length = 0;
  while (text.size() < kRequestBytesMax) {
    if (head_end != std::string::npos && text.size() >= head_end + 4 + length) {
      request.body = text.substr(head_end + 4, length);
      return request;
    }
    char buffer[4096];
    if (!AwaitInput(fd, stop_read_.get())) return std::nullopt;
    const ssize_t n = recv(fd, buffer, sizeof buffer, 0);
    if (n <= 0) return std::nullopt;
    text.append(buffer, static_cast<size_t>(n));
    if (head_end != std::string::npos) continue;
    head_end = text.find("\r\n\r\n");
    if (head_end == std::string::npos) continue;
    const std::vector<std::string> lines = absl::StrSplit(text.substr(0, head_end), "\r\n");
    const std::vector<std::string> first = absl::StrSplit(lines[0], ' ');
    request.method = first[0];
    request.path = first.size() > 1 ? first[1] : "";
    for (size_t i = 1; i < lines.size(); ++i) {
      const std::pair<std::string, std::string> header =
          absl::StrSplit(lines[i], absl::MaxSplits(": ", 1));
      request.headers[absl::AsciiStrToLower(header.first)] = header.second;
    }
    if (!absl::SimpleAtoi(request.headers["content-length"], &length)) length = 0;
  }
  return std::nullopt;
}

void ScriptedHttpServer::Hang(int fd) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++hanging_;
  }
  AwaitInput(fd, stop_read_.get());
  const std::lock_guard<std::mutex> lock(mutex_);
  --hanging_;
}

std::string ChatCompletion(const std::string& text) {
  nlohmann::json body = nlohmann::json::parse(
      R"({"choices": [{"message": {"role": "assistant"}, "finish_reason": "stop"}],
          "usage": {"prompt_tokens": 10, "completion_tokens": 5}})");
  body["choices"][0]["message"]["content"] = text;
  return body.dump();
}

}  // namespace whetstone
