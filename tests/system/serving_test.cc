// `whet discover` asks a real server of chat completions: `transformers serve` with the small
// model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/eventually_testing.h"
#include "common/file.h"
#include "common/tree_testing.h"
#include "coordinator/process/child_process.h"
#include "tests/system/whet_fixture.h"

namespace whetstone {
namespace {

using std::chrono::seconds;

int FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  close(fd);
  return ntohs(address.sin_port);
}

class ServingTest : public WhetTest {
 protected:
  void SetUp() override {
    WhetTest::SetUp();
    port_ = FreePort();
    ChildOptions options;
    options.argv = {WHETSTONE_VENV "/bin/python",
                    "-m",
                    "transformers.cli.transformers",
                    "serve",
                    SmallModel(),
                    "--host",
                    "127.0.0.1",
                    "--port",
                    absl::StrCat(port_),
                    "--device",
                    "cpu"};
    options.log_path = Path("serve.log");
    server_ = *ChildProcess::Start(options);
    // It has read the model then.
    ASSERT_TRUE(Eventually(
        [&] {
          return server_->Ended() ||
                 ReadFile(Path("serve.log")).value_or("").find("Uvicorn running") !=
                     std::string::npos;
        },
        seconds(300)));
    ASSERT_FALSE(server_->Ended()) << LastLines(Path("serve.log"), 20);
  }

  int port_ = 0;
  std::unique_ptr<ChildProcess> server_;
};

TEST_F(ServingTest, WhatTransformersServesIsAsked) {
  const std::string problem = Path("multiply.md");
  ASSERT_TRUE(
      WriteFileAtomically(problem, *ReadFile(SourceDir() + "/tests/system/multiply.md")).ok());
  const WhetResult found =
      Whet({"discover", problem, "--out", Path("found"), "--budget", "50 candidates", "--endpoint",
            absl::StrCat("http://127.0.0.1:", port_, "/v1"), "--model", SmallModel(), "--set",
            "generate.max_new_tokens=32", "--set", "policy.concurrency=2", "--set", "train.steps=1",
            "--yes", "--json"},
           seconds(600));
  // 2: its own benchmark found another speed, on a machine that does something else meanwhile.
  ASSERT_TRUE(found.exit_code == 0 || found.exit_code == 2) << found.out << found.err;
  EXPECT_EQ(found.json()["steps_done"], 1) << found.err;
  EXPECT_GT(found.json()["speedup"].get<double>(), 1.2) << found.out;
  const std::string row = *ReadFile(Path("found/run/metrics.jsonl"));
  const nlohmann::json first = nlohmann::json::parse(row.substr(0, row.find('\n')));
  EXPECT_EQ(first["num_completions"], 8);
  EXPECT_GT(first["completions/mean_length"].get<double>(), 10) << "the server counts tokens";
  EXPECT_LE(first["completions/max_length"].get<double>(), 32);
}

}  // namespace
}  // namespace whetstone
