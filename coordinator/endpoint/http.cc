#include "coordinator/endpoint/http.h"

#include <curl/curl.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/loopback.h"
#include "common/status_macros.h"

namespace whetstone {
namespace {

constexpr std::chrono::milliseconds kConnectTimeout{10'000};

struct UrlDeleter {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
using UrlHandle = std::unique_ptr<CURLU, UrlDeleter>;

struct EasyDeleter {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
using EasyHandle = std::unique_ptr<CURL, EasyDeleter>;

// A HeaderList owns what libcurl only borrows while it works.
class HeaderList {
 public:
  ~HeaderList() { curl_slist_free_all(list_); }
  void Add(const std::string& header) {
    curl_slist* const longer = curl_slist_append(list_, header.c_str());
    CHECK(longer != nullptr);
    list_ = longer;
  }
  curl_slist* get() const { return list_; }

 private:
  curl_slist* list_ = nullptr;
};

// Returns a part of a URL, or "" if it has none.
std::string Part(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, 0) != CURLUE_OK) return "";
  std::string copy = text;
  curl_free(text);
  return copy;
}

struct CheckedUrl {
  UrlHandle handle;
  bool loopback = false;
};

absl::StatusOr<CheckedUrl> ParseUrl(const std::string& text, bool with_key) {
  // What libcurl takes for a user may not be what the operator took for one.
  if (absl::StrContains(text, '@')) {
    return absl::InvalidArgumentError(
        "a URL with @ holds a user or a password; leave them out and give the key by "
        "policy.key_env or policy.key_file");
  }
  CheckedUrl url;
  url.handle.reset(curl_url());
  CHECK(url.handle != nullptr);
  const CURLUcode wrong = curl_url_set(url.handle.get(), CURLUPART_URL, text.c_str(), 0);
  if (wrong != CURLUE_OK) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", text, "' is no URL such as http://127.0.0.1:8000/v1: ", curl_url_strerror(wrong)));
  }
  const std::string scheme = Part(url.handle.get(), CURLUPART_SCHEME);
  if (scheme != "http" && scheme != "https") {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' begins with neither http:// nor https://"));
  }
  url.loopback = IsLoopbackHost(Part(url.handle.get(), CURLUPART_HOST));
  if (with_key && scheme == "http" && !url.loopback) {
    return absl::InvalidArgumentError(
        absl::StrCat("the key would travel to ", text,
                     " in the clear; use https, or reach the server through this machine's "
                     "loopback (ssh -L), or give no key"));
  }
  return url;
}

// A Transfer is what libcurl's callbacks work on.
struct Transfer {
  const std::function<bool()>& cancelled;
  std::string body;
  size_t bytes = 0;
  bool too_large = false;

  // Returns whether so many more bytes are welcome.
  bool Take(size_t more) {
    bytes += more;
    too_large = too_large || bytes > kResponseBytesMax;
    return !too_large;
  }
};

size_t OnBody(char* data, size_t size, size_t count, void* transfer) {
  Transfer& to = *static_cast<Transfer*>(transfer);
  if (!to.Take(size * count)) return 0;
  to.body.append(data, size * count);
  return size * count;
}

size_t OnHeader(char*, size_t size, size_t count, void* transfer) {
  return static_cast<Transfer*>(transfer)->Take(size * count) ? size * count : 0;
}

int OnProgress(void* transfer, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  const Transfer& of = *static_cast<Transfer*>(transfer);
  return of.cancelled && of.cancelled() ? 1 : 0;
}

void SetUp(CURL* easy, const HttpRequest& request, const CheckedUrl& url, HeaderList* headers,
           Transfer* transfer, char* reason) {
  curl_easy_setopt(easy, CURLOPT_CURLU, url.handle.get());
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  if (url.loopback) curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  // A resolver that hangs is left behind.
  curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(std::min(kConnectTimeout, request.timeout).count()));
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(request.timeout.count()));
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, reason);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &OnBody);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &OnHeader);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, transfer);
  curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, &OnProgress);
  curl_easy_setopt(easy, CURLOPT_XFERINFODATA, transfer);
  headers->Add("Accept: application/json");
  headers->Add("User-Agent: whetstone");
  if (request.body.has_value()) {
    headers->Add("Content-Type: application/json");
    headers->Add("Expect:");  // Small servers do not know 100-continue.
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body->size()));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.body->data());
  }
  if (!request.key.empty()) headers->Add(absl::StrCat("Authorization: Bearer ", request.key));
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers->get());
}

absl::Status StatusFromCurl(CURLcode code, const std::string& reason, const HttpRequest& request,
                            const Transfer& transfer) {
  if (transfer.too_large) {
    return absl::OutOfRangeError(absl::StrCat(request.url, " sent more than ",
                                              kResponseBytesMax >> 20,
                                              " MiB for one request; is it the right URL?"));
  }
  if (code == CURLE_ABORTED_BY_CALLBACK) {
    return absl::CancelledError(absl::StrCat(request.url, ": cancelled"));
  }
  // Of a proxy's URL in the environment a reason may repeat the password.
  const bool may_tell = !reason.empty() && !absl::StrContains(reason, '@');
  const std::string text =
      absl::StrCat(request.url, ": ", may_tell ? reason : curl_easy_strerror(code));
  if (code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE) {
    return absl::PermissionDeniedError(text);  // It may be somebody else's.
  }
  if (code == CURLE_OPERATION_TIMEDOUT) return absl::DeadlineExceededError(text);
  return absl::UnavailableError(text);
}

void InitCurlOnce() {
  static std::once_flag once;
  std::call_once(once, [] { CHECK(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK); });
}

}  // namespace

absl::Status CheckUrl(const std::string& url, bool with_key) {
  return ParseUrl(url, with_key).status();
}

bool IsOnLoopback(const std::string& url) {
  const absl::StatusOr<CheckedUrl> checked = ParseUrl(url, /*with_key=*/false);
  return checked.ok() && checked->loopback;
}

absl::StatusOr<HttpResponse> SendHttp(const HttpRequest& request,
                                      const std::function<bool()>& cancelled, bool* sent) {
  if (sent != nullptr) *sent = false;
  InitCurlOnce();
  ASSIGN_OR_RETURN(const CheckedUrl url, ParseUrl(request.url, !request.key.empty()));
  Transfer transfer{.cancelled = cancelled, .body = {}};
  HeaderList headers;
  char reason[CURL_ERROR_SIZE] = "";
  const EasyHandle easy(curl_easy_init());
  CHECK(easy != nullptr);
  SetUp(easy.get(), request, url, &headers, &transfer, reason);
  const CURLcode code = curl_easy_perform(easy.get());
  if (sent != nullptr) {
    long bytes = 0;
    curl_easy_getinfo(easy.get(), CURLINFO_REQUEST_SIZE, &bytes);
    *sent = bytes > 0;
  }
  if (code != CURLE_OK) return StatusFromCurl(code, reason, request, transfer);
  long status = 0;
  curl_off_t retry_after_s = 0;
  curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &status);
  curl_easy_getinfo(easy.get(), CURLINFO_RETRY_AFTER, &retry_after_s);
  HttpResponse response{.status = static_cast<int>(status), .body = std::move(transfer.body)};
  if (retry_after_s > 0) {
    response.retry_after_s =
        static_cast<int>(std::min<curl_off_t>(retry_after_s, std::numeric_limits<int>::max()));
  }
  return response;
}

}  // namespace whetstone
