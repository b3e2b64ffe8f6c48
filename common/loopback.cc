#include "common/loopback.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"

namespace whetstone {

bool IsLoopbackHost(absl::string_view host) {
  if (absl::EqualsIgnoreCase(host, "localhost")) return true;
  in_addr four{};
  if (inet_pton(AF_INET, std::string(host).c_str(), &four) == 1) {
    return ntohl(four.s_addr) >> 24 == 127;
  }
  if (!absl::ConsumePrefix(&host, "[") || !absl::ConsumeSuffix(&host, "]")) return false;
  in6_addr six{};
  return inet_pton(AF_INET6, std::string(host).c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

}  // namespace whetstone
