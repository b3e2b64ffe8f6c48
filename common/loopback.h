// Which hosts are this machine itself, reached without a network.
#ifndef WHETSTONE_COMMON_LOOPBACK_H_
#define WHETSTONE_COMMON_LOOPBACK_H_

#include "absl/strings/string_view.h"

namespace whetstone {

// Says whether a host, as a URL has it, is this machine's loopback: localhost, an address of
// 127.0.0.0/8, or [::1]. Names are not resolved.
bool IsLoopbackHost(absl::string_view host);

}  // namespace whetstone

#endif  // WHETSTONE_COMMON_LOOPBACK_H_
