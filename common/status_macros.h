// These macros return early on a failed absl::Status or absl::StatusOr.
//
//   RETURN_IF_ERROR(Open(path));
//   ASSIGN_OR_RETURN(std::string text, ReadFile(path));
//
// CHECK is for programmer errors: it prints the condition and aborts.
#ifndef WHETSTONE_COMMON_STATUS_MACROS_H_
#define WHETSTONE_COMMON_STATUS_MACROS_H_

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define WHETSTONE_CONCAT_INNER(a, b) a##b
#define WHETSTONE_CONCAT(a, b) WHETSTONE_CONCAT_INNER(a, b)

#define RETURN_IF_ERROR(expr)                                         \
  do {                                                                \
    if (absl::Status status_ = (expr); !status_.ok()) return status_; \
  } while (false)

#define ASSIGN_OR_RETURN(lhs, expr) \
  ASSIGN_OR_RETURN_IMPL(WHETSTONE_CONCAT(status_or_, __LINE__), lhs, expr)
#define ASSIGN_OR_RETURN_IMPL(var, lhs, expr)    \
  auto var = (expr);                             \
  if (!var.ok()) return std::move(var).status(); \
  lhs = std::move(var).value()

#ifndef CHECK
#define CHECK(condition)                                                                 \
  do {                                                                                   \
    if (!(condition)) {                                                                  \
      std::fprintf(stderr, "%s:%d: CHECK failed: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                      \
    }                                                                                    \
  } while (false)
#endif

#endif  // WHETSTONE_COMMON_STATUS_MACROS_H_
