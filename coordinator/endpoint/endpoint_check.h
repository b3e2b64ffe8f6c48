// Whether an endpoint is there and has a model, before anything is asked of it.
#ifndef WHETSTONE_COORDINATOR_ENDPOINT_ENDPOINT_CHECK_H_
#define WHETSTONE_COORDINATOR_ENDPOINT_ENDPOINT_CHECK_H_

#include <chrono>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace whetstone {

// Asks for the API's list of models. OK: the server answers and, if it gives a list, it has the
// model; a server without such a list (403, 404, 405, 500, 501)
// counts as there, and names are compared leniently. Messages are sentences that say
// what to do. INVALID_ARGUMENT: a wrong URL, or something else than the API answers. NOT_FOUND: no
// such model; the message has the first ten names of the list. UNAUTHENTICATED: the
// key. PERMISSION_DENIED: the server's certificate. UNAVAILABLE, DEADLINE_EXCEEDED: nobody answers,
// or only with an error of its own.
absl::Status CheckEndpoint(const std::string& url, const std::string& model, const std::string& key,
                           std::chrono::milliseconds timeout);

// Returns OK or NOT_FOUND, as above, by the body of such an answer; INVALID_ARGUMENT: it isn't
// JSON.
absl::Status CheckModelList(absl::string_view body, const std::string& url,
                            const std::string& model);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_ENDPOINT_ENDPOINT_CHECK_H_
