// A ScriptedHttpServer is a real HTTP server on loopback for tests: a script decides what it
// answers, be it nothing, half an answer, or no HTTP at all.
//
//   ScriptedHttpServer server([](const ScriptedRequest&) { return ScriptedAnswer{.body = "{}"}; });
//   … ask server.url() …
//
// Each connection is for one request. It is thread-safe; the script is called from the connections'
// threads, several at once.
#ifndef WHETSTONE_COORDINATOR_ENDPOINT_HTTP_SERVER_TESTING_H_
#define WHETSTONE_COORDINATOR_ENDPOINT_HTTP_SERVER_TESTING_H_

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/unique_fd.h"

namespace whetstone {

struct ScriptedRequest {
  std::string method;
  std::string path;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
  int number = 0;  // of this server's requests, from 0
};

struct ScriptedAnswer {
  int status = 200;
  std::string body = {};
  std::vector<std::string> headers = {};  // "Retry-After: 1"
  // Content-Length says this in place of the body's length.
  std::optional<size_t> length = std::nullopt;
  // These bytes are sent as they are, in place of all the above.
  std::optional<std::string> raw = std::nullopt;
  // After what is sent the connection stays open, until the other side closes it. With `silent`
  // nothing is sent.
  bool hang = false;
  bool silent = false;
};

class ScriptedHttpServer {
 public:
  using Script = std::function<ScriptedAnswer(const ScriptedRequest&)>;

  explicit ScriptedHttpServer(Script script);
  // Closes all connections, whatever they wait for.
  ~ScriptedHttpServer();

  // Returns the API's base, "http://127.0.0.1:PORT/v1".
  std::string url() const;
  int port() const { return port_; }
  // Returns the requests that have come so far.
  std::vector<ScriptedRequest> requests() const;
  // Returns how many requests were between their arrival and their answer at once, at most.
  int most_at_once() const;
  // Returns how many connections hang now.
  int hanging() const;

 private:
  void Accept();
  void Serve(int fd);
  std::optional<ScriptedRequest> Read(int fd) const;
  void Hang(int fd);

  const Script script_;
  UniqueFd listener_;
  UniqueFd stop_read_, stop_write_;  // a pipe; that its end closes stops every wait
  int port_ = 0;
  mutable std::mutex mutex_;
  // mutex_ protects these.
  std::vector<ScriptedRequest> requests_;
  int at_once_ = 0;
  int most_at_once_ = 0;
  int hanging_ = 0;
  std::vector<std::thread> connections_;

  std::thread accepting_;  // the last: it uses all the others
};

// Returns the body of a chat completion with that text.
std::string ChatCompletion(const std::string& text);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_ENDPOINT_HTTP_SERVER_TESTING_H_
