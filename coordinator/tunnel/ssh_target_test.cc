#include "coordinator/tunnel/ssh_target.h"

#include <gtest/gtest.h>

#include <string>

namespace whetstone {
namespace {

TEST(SshTargetTest, AcceptsWhatOperatorsWrite) {
  const struct {
    const char* text;
    const char* user;
    const char* host;
    int port;
  } kCases[] = {
      {"gpu01", "", "gpu01", 0},         {"me@gpu01", "me", "gpu01", 0},
      {"gpu01:2222", "", "gpu01", 2222}, {"me@127.0.0.1:22", "me", "127.0.0.1", 22},
      {"[::1]:2222", "", "::1", 2222},   {"::1", "", "::1", 0},
      {"[fe80::1]", "", "fe80::1", 0},   {"a@b@host", "a@b", "host", 0},
  };
  for (const auto& c : kCases) {
    const auto target = ParseSshTarget(c.text);
    ASSERT_TRUE(target.ok()) << c.text << ": " << target.status();
    EXPECT_EQ(target->user, c.user) << c.text;
    EXPECT_EQ(target->host, c.host) << c.text;
    EXPECT_EQ(target->port, c.port) << c.text;
  }
}

TEST(SshTargetTest, RefusesWhatCouldNotBeMeant) {
  for (const char* text : {"", "@host", "host:", "host:0", "host:65536", "host:ssh", "[::1",
                           "[::1]x", "-oProxyCommand=evil", "-x@host", "a b", "host;reboot"}) {
    const auto target = ParseSshTarget(text);
    EXPECT_EQ(target.status().code(), absl::StatusCode::kInvalidArgument) << "'" << text << "'";
  }
}

TEST(SshTargetTest, RemoteEndsAreSocketsOrPorts) {
  EXPECT_EQ(ParseRemoteEnd("/run/w.sock")->path, "/run/w.sock");
  const auto tcp = ParseRemoteEnd("[::1]:7070");
  ASSERT_TRUE(tcp.ok()) << tcp.status();
  EXPECT_EQ(tcp->host, "::1");
  EXPECT_EQ(tcp->port, 7070);
  EXPECT_EQ(tcp->path, "");
  for (const char* text : {"", "w.sock", "host", "me@host:22", "host:0"}) {
    EXPECT_EQ(ParseRemoteEnd(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace whetstone
