#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "coordinator/tunnel/tunnel.h"

namespace whetstone {
namespace {

TEST(SshProgramTunnelTest, AMissingProgramSaysWhatToInstallOrSet) {
  const TempDir dir = *TempDir::Make("tun");
  const std::string path = std::getenv("PATH");
  setenv("PATH", dir.path().c_str(), 1);
  TunnelOptions options;
  options.host = "gpu01";
  options.remote_socket = "/run/whetstone/worker.sock";
  options.local_socket = dir.path() + "/local.sock";
  const auto tunnel = OpenSshProgramTunnel(options);
  setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(tunnel.status().code(), absl::StatusCode::kNotFound) << tunnel.status();
  for (const char* part : {"openssh-client", "cluster.tunnel: libssh"}) {
    EXPECT_NE(std::string(tunnel.status().message()).find(part), std::string::npos)
        << tunnel.status();
  }
}

}  // namespace
}  // namespace whetstone
