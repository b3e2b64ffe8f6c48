// Exceptions stop here. LibTorch throws c10::Error; gRPC would turn it into UNKNOWN with a fixed
// text and the cause would be lost. Every handler and every thread's work goes through Guarded.
//
//   return Guarded("Update", [&]() -> absl::Status { … });
#ifndef WHETSTONE_GPU_TRAINER_RPC_RPC_BOUNDARY_H_
#define WHETSTONE_GPU_TRAINER_RPC_RPC_BOUNDARY_H_

#include <c10/util/Exception.h>
#include <spdlog/spdlog.h>

#include <exception>
#include <new>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace whetstone {

// Runs f, which returns absl::Status. c10::OutOfMemoryError, a failed allocation of LibTorch's CPU
// allocator and std::bad_alloc become RESOURCE_EXHAUSTED; any other exception INTERNAL with its
// message, the full text logged.
template <typename F>
absl::Status Guarded(absl::string_view what, const F& f) {
  const auto out_of_memory = [what](absl::string_view message) {
    return absl::ResourceExhaustedError(
        absl::StrCat(what,
                     ": out of memory; lower train.group_size or generate.max_new_tokens, or use a "
                     "machine with more (",
                     message, ")"));
  };
  try {
    return f();
  } catch (const c10::OutOfMemoryError& e) {
    spdlog::error("{}: {}", std::string(what), e.what());
    return out_of_memory(e.what_without_backtrace());
  } catch (const c10::Error& e) {
    spdlog::error("{}: {}", std::string(what), e.what());
    if (absl::StrContains(e.what_without_backtrace(), "DefaultCPUAllocator")) {
      return out_of_memory(e.what_without_backtrace());
    }
    return absl::InternalError(absl::StrCat(what, ": ", e.what_without_backtrace()));
  } catch (const std::bad_alloc& e) {
    return out_of_memory(e.what());
  } catch (const std::exception& e) {
    spdlog::error("{}: {}", std::string(what), e.what());
    return absl::InternalError(absl::StrCat(what, ": ", e.what()));
  }
}

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_RPC_RPC_BOUNDARY_H_
