#include "coordinator/tunnel/sockets.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>

namespace whetstone {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

// A resolver that answers once the test lets it.
class SilentResolverTest : public testing::Test {
 protected:
  ~SilentResolverTest() override { gate_.set_value(); }
  absl::Status Connect(milliseconds within, const std::function<bool()>& stop) {
    return ConnectTcp("cpu01", 22, steady_clock::now() + within, seconds(5), stop,
                      [gate = gate_.get_future().share()](const char*, const char*, const addrinfo*,
                                                          addrinfo**) {
                        gate.wait();
                        return EAI_AGAIN;
                      })
        .status();
  }
  std::promise<void> gate_;
};

TEST_F(SilentResolverTest, IsNotWaitedForBeyondTheDeadline) {
  const absl::Status status = Connect(milliseconds(1), nullptr);
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_NE(status.message().find("'cpu01'"), std::string::npos) << status;
}

TEST_F(SilentResolverTest, IsNotWaitedForOnceItIsToStop) {
  EXPECT_EQ(Connect(std::chrono::hours(1), [] { return true; }).code(),
            absl::StatusCode::kCancelled);
}

TEST(ConnectTcpTest, AnUnknownHostIsNamed) {
  const absl::Status status =
      ConnectTcp("cpu01", 22, steady_clock::now() + seconds(60), seconds(5), nullptr,
                 [](const char*, const char*, const addrinfo*, addrinfo**) { return EAI_NONAME; })
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(status.message().find("cannot resolve host 'cpu01'"), std::string::npos) << status;
}

}  // namespace
}  // namespace whetstone
