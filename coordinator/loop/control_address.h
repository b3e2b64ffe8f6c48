// A live run is asked at RUN/control.sock, by a name that is short however deep the run lies. (A
// unix socket's path holds 107 bytes: this one leads through an open descriptor of the run
// directory.)
#ifndef WHETSTONE_COORDINATOR_LOOP_CONTROL_ADDRESS_H_
#define WHETSTONE_COORDINATOR_LOOP_CONTROL_ADDRESS_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "coordinator/journal/run_dir.h"

namespace whetstone {

class ControlAddress {
 public:
  static absl::StatusOr<ControlAddress> Open(const RunPaths& paths);
  ControlAddress(ControlAddress&& other) noexcept
      : directory_fd_(std::exchange(other.directory_fd_, -1)) {}
  ControlAddress& operator=(ControlAddress&&) = delete;
  ~ControlAddress();

  // Returns "unix:/proc/self/fd/7/control.sock", to listen on or to connect to, in this process and
  // while this object lives.
  std::string target() const;

 private:
  explicit ControlAddress(int directory_fd) : directory_fd_(directory_fd) {}
  int directory_fd_;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_LOOP_CONTROL_ADDRESS_H_
