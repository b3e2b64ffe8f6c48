// A cluster as an operator runs it: services under a service manager's rule (the test starts them
// again), and all hosts played by one private sshd.
#ifndef WHETSTONE_TESTS_SYSTEM_SSH_CAMPAIGN_FIXTURE_H_
#define WHETSTONE_TESTS_SYSTEM_SSH_CAMPAIGN_FIXTURE_H_

#include <memory>
#include <string>
#include <vector>

#include "tests/system/sshd_fixture.h"
#include "tests/system/whet_fixture.h"

namespace whetstone {

class SshCampaignTest : public WhetTest {
 protected:
  // One trainer and one worker.
  void SetUp() override;

  // Starts the service (again), and waits until it listens. A launcher starts several ranks, and
  // starts them anew when one is lost.
  void StartTrainer(int ranks = 1);
  void StartWorker(size_t index);  // at most one more than there are

  std::string WorkerSocket(size_t index) const;

  // The campaign's `cluster`: trainer gpu01 and workers cpu01, cpu02 …, each its own socket.
  std::string Cluster(const std::string& ssh_config) const;

  std::unique_ptr<PrivateSshd> sshd_;
  std::unique_ptr<BackgroundProgram> trainer_;
  std::vector<std::unique_ptr<BackgroundProgram>> workers_;

 private:
  // Waits until `program` listens at `socket`.
  static void Await(const BackgroundProgram& program, const std::string& socket);
};

}  // namespace whetstone

#endif  // WHETSTONE_TESTS_SYSTEM_SSH_CAMPAIGN_FIXTURE_H_
