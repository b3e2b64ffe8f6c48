#include "tests/system/ssh_campaign_fixture.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/eventually_testing.h"

namespace whetstone {

void SshCampaignTest::SetUp() {
  WhetTest::SetUp();
  auto sshd = PrivateSshd::Start();
  ASSERT_TRUE(sshd.ok()) << sshd.status();
  sshd_ = *std::move(sshd);
  StartTrainer();
  StartWorker(0);
}

void SshCampaignTest::StartTrainer(int ranks) {
  const std::string socket = Path("trainer.sock");
  trainer_.reset();
  unlink(socket.c_str());
  std::vector<std::string> words = {Binary("whet-trainer")};
  if (ranks > 1) {
    words.insert(words.end(),
                 {"launch", "--nproc", absl::StrCat(ranks), "--max-restarts", "3", "--"});
  }
  words.insert(words.end(), {"serve", "--listen", "unix:" + socket, "--threads", "1", "--dtype",
                             "fp32", "--device", "cpu"});
  trainer_ = std::make_unique<BackgroundProgram>(words, dir_->path());
  Await(*trainer_, socket);
}

void SshCampaignTest::StartWorker(size_t index) {
  if (index == workers_.size()) workers_.emplace_back();
  const std::string socket = WorkerSocket(index);
  workers_[index].reset();
  unlink(socket.c_str());
  workers_[index] = std::make_unique<BackgroundProgram>(
      std::vector<std::string>{Binary("whet-worker"), "serve", "--listen", "unix:" + socket},
      dir_->path());
  Await(*workers_[index], socket);
}

std::string SshCampaignTest::Cluster(const std::string& ssh_config) const {
  std::vector<std::string> workers;
  for (size_t i = 0; i < workers_.size(); ++i) {
    workers.push_back(absl::StrFormat("{ssh: \"cpu%02d\", socket: %s}", i + 1, WorkerSocket(i)));
  }
  return absl::StrCat("cluster:\n  trainer: {ssh: gpu01, socket: ", Path("trainer.sock"),
                      "}\n  workers: [", absl::StrJoin(workers, ", "),
                      "]\n  ssh_config: ", ssh_config, "\n");
}

std::string SshCampaignTest::WorkerSocket(size_t index) const {
  return Path(absl::StrCat("worker", index + 1, ".sock"));
}

void SshCampaignTest::Await(const BackgroundProgram& program, const std::string& socket) {
  ASSERT_TRUE(Eventually([&] { return access(socket.c_str(), F_OK) == 0 || program.Ended(); }));
  ASSERT_FALSE(program.Ended()) << program.err();
}

}  // namespace whetstone
