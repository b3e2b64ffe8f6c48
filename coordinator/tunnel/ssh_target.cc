#include "coordinator/tunnel/ssh_target.h"

#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace whetstone {

absl::StatusOr<SshTarget> ParseSshTarget(absl::string_view text) {
  const auto bad = [text](absl::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat("ssh host '", text, "' ", why, "; write [user@]host[:port] or a host alias"));
  };
  SshTarget target;
  absl::string_view rest = text;
  if (const size_t at = rest.rfind('@'); at != absl::string_view::npos) {
    target.user = std::string(rest.substr(0, at));
    if (target.user.empty()) return bad("has an empty user");
    rest.remove_prefix(at + 1);
  }
  absl::string_view port;
  bool has_port = false;
  if (absl::ConsumePrefix(&rest, "[")) {
    const size_t end = rest.find(']');
    if (end == absl::string_view::npos) return bad("has '[' without ']'");
    port = rest.substr(end + 1);
    rest = rest.substr(0, end);
    if (!port.empty()) {
      if (!absl::ConsumePrefix(&port, ":")) return bad("has text after ']'");
      has_port = true;
    }
  } else if (const size_t colon = rest.find(':');
             colon != absl::string_view::npos && rest.find(':', colon + 1) == rest.npos) {
    port = rest.substr(colon + 1);
    rest = rest.substr(0, colon);
    has_port = true;
  }
  if (has_port &&
      (!absl::SimpleAtoi(port, &target.port) || target.port < 1 || target.port > 65535)) {
    return bad("has a port that is not 1 to 65535");
  }
  // A leading '-' would be taken for an option by the ssh program.
  if (rest.empty() || rest[0] == '-' || absl::StartsWith(target.user, "-")) {
    return bad("names no host");
  }
  if (rest.find_first_of(" \t\n'\"`$;&|<>\\") != absl::string_view::npos) {
    return bad("has a character no host name has");
  }
  target.host = std::string(rest);
  return target;
}

absl::StatusOr<RemoteEnd> ParseRemoteEnd(absl::string_view text) {
  RemoteEnd end;
  if (absl::StartsWith(text, "/")) {
    end.path = std::string(text);
    return end;
  }
  const absl::StatusOr<SshTarget> address = ParseSshTarget(text);
  if (!address.ok() || !address->user.empty() || address->port == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is neither a socket's absolute path nor HOST:PORT"));
  }
  end.host = address->host;
  end.port = address->port;
  return end;
}

std::string ExpandHome(const std::string& path) {
  const char* home = std::getenv("HOME");
  if (home == nullptr || !absl::StartsWith(path, "~/")) return path;
  return absl::StrCat(home, path.substr(1));
}

}  // namespace whetstone
