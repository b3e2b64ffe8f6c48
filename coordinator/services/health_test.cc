#include "coordinator/services/health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "common/file.h"
#include "common/unique_fd.h"

namespace whetstone {
namespace {

using testing::HasSubstr;

constexpr std::chrono::milliseconds kSoon{200};

std::string HealthError(const std::string& path) {
  const absl::Status status = CheckServing("unix:" + path, kSoon);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  return std::string(status.message());
}

// Where nobody answers, the message says what is there instead.
TEST(HealthTest, SilenceIsExplained) {
  const TempDir folder = *TempDir::Make("health");
  const std::string path = folder.path() + "/s";
  EXPECT_THAT(HealthError(path), HasSubstr("there is no socket " + path));
  std::ofstream(path) << "a file";
  EXPECT_THAT(HealthError(path), HasSubstr(path + " is no socket"));
  ASSERT_EQ(unlink(path.c_str()), 0);
  const UniqueFd listener(socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(listen(listener.get(), 8), 0);  // connects, and says nothing
  EXPECT_THAT(HealthError(path), HasSubstr("nothing answered within 0.2 s"));
}

}  // namespace
}  // namespace whetstone
