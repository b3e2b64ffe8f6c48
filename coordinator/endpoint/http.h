// One HTTP request, by libcurl, to a server that somebody else runs and that may be slow, broken or
// hostile: everything is bounded, and a key goes nowhere that it could be read on the way.
//
//   HttpRequest request;
//   request.url = "http://127.0.0.1:8000/v1/chat/completions";
//   request.body = json;
//   ASSIGN_OR_RETURN(const HttpResponse response, SendHttp(request, cancelled));
#ifndef WHETSTONE_COORDINATOR_ENDPOINT_HTTP_H_
#define WHETSTONE_COORDINATOR_ENDPOINT_HTTP_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace whetstone {

// Headers and body of a response have at most this many bytes together.
inline constexpr size_t kResponseBytesMax = 8 << 20;

struct HttpRequest {
  std::string url = {};
  // JSON that is sent with POST. Without it the request is a GET.
  std::optional<std::string> body = std::nullopt;
  // The key is sent as a bearer token; empty: none.
  std::string key = {};
  // The whole request may take this long, and its connection at most 10 s of it.
  std::chrono::milliseconds timeout{600'000};
};

struct HttpResponse {
  // Any status: a redirect is not followed.
  int status = 0;
  std::string body = {};
  // What the header Retry-After says, in seconds, also where it gives a date.
  std::optional<int> retry_after_s = std::nullopt;
};

// Says whether a URL may be asked, with a key or without. INVALID_ARGUMENT: it is no http or https
// URL; it holds a user or a password; `with_key`, and it is http to another machine than this one.
// The message never repeats what stands before an @.
absl::Status CheckUrl(const std::string& url, bool with_key);

// Says whether a URL that may be asked is one of this machine's loopback.
bool IsOnLoopback(const std::string& url);

// Sends the request and returns the response. It is thread-safe. `cancelled` (may be empty) is
// asked at least once a second. Unless null, `*sent` tells whether anything of the request went
// out, also after an error.
//
// Errors name the URL and hold libcurl's reason, never the key. INVALID_ARGUMENT: as CheckUrl.
// UNAVAILABLE: no connection, or it broke, or what came is no HTTP. DEADLINE_EXCEEDED: `timeout`
// passed. CANCELLED: `cancelled` said so. OUT_OF_RANGE: the response is larger than
// kResponseBytesMax. PERMISSION_DENIED: the server's certificate is none for it.
//
// Proxies are those of the environment (https_proxy, no_proxy…), but none stands between this
// process and its own machine. A .netrc is not read.
absl::StatusOr<HttpResponse> SendHttp(const HttpRequest& request,
                                      const std::function<bool()>& cancelled, bool* sent = nullptr);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_ENDPOINT_HTTP_H_
