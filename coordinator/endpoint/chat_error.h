// What an HTTP response other than a chat completion means: try again, give up, or ask again
// without a parameter that the server refuses. Pure.
#ifndef WHETSTONE_COORDINATOR_ENDPOINT_CHAT_ERROR_H_
#define WHETSTONE_COORDINATOR_ENDPOINT_CHAT_ERROR_H_

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "coordinator/endpoint/http.h"

namespace whetstone {

// Returns the first `characters` of a text, made printable: valid UTF-8 on one line, with "…" where
// it was cut.
std::string OneLine(absl::string_view text, size_t characters);

// Returns what a server says in an error's body, printable and at most 300 characters: OpenAI's
// error.message, FastAPI's detail (without the input that it repeats), or the body itself.
std::string ServerMessage(const std::string& body);

// Returns the parameter that a response of status 400, 422, 500 or 501 says that the server does
// not take, of those that were sent (`parameters`, as ChatParameters gives them); nothing if it
// names none, or speaks of something else, such as a value out of range. It is named by
// error.param, by a detail's `loc`, or in the message, where the first one counts; `stop`, an
// everyday word, must stand in quotes there. Of max_tokens and max_completion_tokens, both named,
// it is max_tokens.
std::optional<std::string> RefusedParameter(const HttpResponse& response,
                                            const nlohmann::json& parameters);

// Returns a response's status or, of a success whose body holds an error, that one's: its `code` if
// it is a status, else 502.
int StatusInBody(const HttpResponse& response);

// Returns whether a filter refuses this one prompt: others may be answered.
bool RefusesThePrompt(const HttpResponse& response);

// Returns the status of a response that is not 2xx, with the server's message. What another attempt
// may heal is UNAVAILABLE: 408, 409, 424, 425, 429, 498 and 5xx. The others are permanent:
// UNAUTHENTICATED (401), PERMISSION_DENIED (403), RESOURCE_EXHAUSTED (429 for want of money),
// INVALID_ARGUMENT. `url` is where the request went.
absl::Status StatusOfResponse(const HttpResponse& response, const std::string& url,
                              const std::string& model);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_ENDPOINT_CHAT_ERROR_H_
