#include "tests/system/sshd_fixture.h"

#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"

namespace whetstone {

absl::StatusOr<std::unique_ptr<PrivateSshd>> PrivateSshd::Start() {
  ASSIGN_OR_RETURN(TempDir dir, TempDir::Make("sshd"));
  std::unique_ptr<PrivateSshd> sshd(new PrivateSshd(std::move(dir)));
  RETURN_IF_ERROR(sshd->Run("start " + sshd->dir()));
  ASSIGN_OR_RETURN(const std::string port, ReadFile(sshd->dir() + "/port"));
  if (!absl::SimpleAtoi(port, &sshd->port_)) return absl::InternalError("no port: " + port);
  return sshd;
}

PrivateSshd::~PrivateSshd() { Stop().IgnoreError(); }

absl::Status PrivateSshd::Stop() { return Run("stop " + dir()); }

absl::Status PrivateSshd::Restart() { return Run(absl::StrCat("start ", dir(), " ", port_)); }

std::string PrivateSshd::SshConfigWith(const std::string& name, const std::string& keyword,
                                       const std::string& line) const {
  std::string changed;
  for (absl::string_view old : absl::StrSplit(*ReadFile(ssh_config()), '\n')) {
    absl::StrAppend(&changed,
                    absl::StartsWith(absl::StripLeadingAsciiWhitespace(old), keyword) ? line : old,
                    "\n");
  }
  const std::string path = absl::StrCat(dir(), "/", name);
  CHECK(WriteFileAtomically(path, changed).ok());
  return path;
}

absl::Status PrivateSshd::Run(const std::string& arguments) const {
  const std::string command =
      absl::StrCat(WHETSTONE_SOURCE_DIR, "/deploy/private_sshd.sh ", arguments);
  if (std::system(command.c_str()) != 0) return absl::InternalError(command + " failed");
  return absl::OkStatus();
}

}  // namespace whetstone
