// Bad input gets a clear message that says what to do and an exit code that is not 0, and nothing
// is left half-written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/eventually_testing.h"
#include "common/file.h"
#include "common/tree_testing.h"
#include "tests/system/sshd_fixture.h"
#include "tests/system/whet_fixture.h"

namespace whetstone {
namespace {

using std::chrono::seconds;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

class BadInputTest : public WhetTest {
 protected:
  // `whet run` on `campaign` fails before it makes anything; the message has every one of `words`.
  void ExpectRefused(const std::string& campaign, const std::vector<std::string>& words,
                     const std::vector<std::string>& more = {}) {
    std::vector<std::string> command = {"run", campaign, "--run-dir", RunDirectory()};
    command.insert(command.end(), more.begin(), more.end());
    const WhetResult run = Whet(command);
    EXPECT_EQ(run.exit_code, 2) << run.out << run.err;
    for (const std::string& word : words) EXPECT_THAT(run.err, HasSubstr(word));
    EXPECT_NE(access(RunDirectory().c_str(), F_OK), 0) << "left a run directory behind";
  }

  std::string CampaignWith(const std::string& from, const std::string& to) {
    const std::string path = WriteCampaign(2);
    const std::string text = absl::StrReplaceAll(*ReadFile(path), {{from, to}});
    EXPECT_TRUE(WriteFileAtomically(path, text).ok());
    return path;
  }
};

TEST_F(BadInputTest, MisspeltKeyNamesFileLineAndTheNearestKey) {
  ExpectRefused(CampaignWith("group_size", "gruop_size"),
                {"campaign.yaml", "gruop_size", "group_size"});
}

TEST_F(BadInputTest, WrongTypeAndImpossibleValueAreNamed) {
  ExpectRefused(CampaignWith("group_size: 4", "group_size: many"), {"group_size", "many"});
  ExpectRefused(CampaignWith("group_size: 4", "group_size: 0"), {"group_size"});
  ExpectRefused(WriteCampaign(2), {"train.losss"}, {"--set", "train.losss=dapo"});
}

TEST_F(BadInputTest, MissingCampaignAndBrokenYaml) {
  ExpectRefused(Path("nowhere.yaml"), {"nowhere.yaml"});
  ASSERT_TRUE(WriteFileAtomically(Path("broken.yaml"), "name: [unclosed\n").ok());
  ExpectRefused(Path("broken.yaml"), {"broken.yaml"});
}

TEST_F(BadInputTest, BrokenPromptFileNamesFileAndLine) {
  const std::string prompt = *ReadFile(SourceDir() + "/tests/system/multiply.md");
  ASSERT_TRUE(
      WriteFileAtomically(Path("broken.md"), absl::StrReplaceAll(prompt, {{"timed:", "timmed:"}}))
          .ok());
  ExpectRefused(CampaignWith(SourceDir() + "/tests/system/multiply.md", Path("broken.md")),
                {"broken.md:", "timmed", "timed"});
  ExpectRefused(CampaignWith(SourceDir() + "/tests/system/multiply.md", Path("none.md")),
                {"none.md"});
}

TEST_F(BadInputTest, SocketInUse) {
  const std::string address = "unix:" + Path("worker.sock");
  const BackgroundProgram first({Binary("whet-worker"), "serve", "--listen", address},
                                dir_->path());
  ASSERT_TRUE(Eventually([&] { return access(Path("worker.sock").c_str(), F_OK) == 0; }));
  BackgroundProgram second({Binary("whet-worker"), "serve", "--listen", address}, dir_->path());
  const WhetResult result = second.Wait(seconds(120));
  EXPECT_GT(result.exit_code, 0);
  EXPECT_THAT(result.err + result.out, HasSubstr("another server listens"));
  EXPECT_FALSE(first.Ended()) << "the first must not suffer";
}

TEST_F(BadInputTest, ServicesListenNowhereButOnSocketsAndLoopback) {
  for (const char* binary : {"whet-worker", "whet-trainer"}) {
    BackgroundProgram service({Binary(binary), "serve", "--listen", "0.0.0.0:7070"}, dir_->path());
    const WhetResult result = service.Wait(seconds(120));
    EXPECT_GT(result.exit_code, 0) << binary;
    EXPECT_THAT(result.err + result.out, HasSubstr("0.0.0.0:7070")) << binary;
  }
}

TEST_F(BadInputTest, WrongCommandLine) {
  const WhetResult typo = Whet({"rnu", "x.yaml"});
  EXPECT_EQ(typo.exit_code, 2);
  EXPECT_THAT(typo.err, HasSubstr("whet run"));
  EXPECT_EQ(Whet({"status", Path("no-run")}).exit_code, 2);
  EXPECT_EQ(Whet({"resume", Path("no-run")}).exit_code, 2);
}

// These are ranks of one job that do not fit together: each says why, with the rank's name, and
// ends soon.
class BadRankTest : public WhetTest {
 protected:
  // Starts one rank of two as a launcher does.
  std::unique_ptr<BackgroundProgram> Rank(int rank, int port, const std::string& binary,
                                          const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"env",
                                      absl::StrCat("RANK=", rank),
                                      absl::StrCat("LOCAL_RANK=", rank),
                                      "WORLD_SIZE=2",
                                      "MASTER_ADDR=127.0.0.1",
                                      absl::StrCat("MASTER_PORT=", port),
                                      binary,
                                      "serve",
                                      "--listen",
                                      absl::StrCat("unix:", Path("t.sock"), port),
                                      "--device",
                                      "cpu"};
    words.insert(words.end(), more.begin(), more.end());
    return std::make_unique<BackgroundProgram>(words, dir_->path());
  }
  static int FreePort() {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length), 0);
    close(fd);
    return ntohs(address.sin_port);
  }
};

TEST_F(BadRankTest, EveryRankSaysWhatDoesNotFit) {
  const std::string trainer = Binary("whet-trainer"), other = Path("other-trainer");
  std::filesystem::copy_file(trainer, other);
  std::ofstream(other, std::ios::app) << "another build";
  struct Case {
    std::unique_ptr<BackgroundProgram> program;
    int exit_code;
    std::string words;
  };
  std::vector<Case> cases;
  const int types = FreePort(), builds = FreePort(), nobody = FreePort();
  for (const int rank : {0, 1}) {
    cases.push_back({Rank(rank, types, trainer, {"--dtype", rank == 0 ? "fp32" : "bf16"}), 2,
                     "rank 1 has another --dtype than rank 0: bf16, not fp32"});
    cases.push_back({Rank(rank, builds, rank == 0 ? trainer : other, {}), 2,
                     "rank 1 has another build than rank 0: whet-trainer of SHA-256 "});
  }
  cases.push_back(
      {Rank(1, nobody, trainer, {"--join-timeout", "2"}), 3,
       absl::StrCat("rank 1 of 2: rank 0 does not answer at MASTER_ADDR 127.0.0.1, port ",
                    nobody)});
  for (Case& c : cases) {
    const WhetResult result = c.program->Wait(seconds(300));
    EXPECT_EQ(result.exit_code, c.exit_code) << result.err;
    EXPECT_THAT(result.err, HasSubstr(c.words));
  }
}

// These clusters can't be reached: the campaign must not start.
class BadHostTest : public BadInputTest {
 protected:
  void SetUp() override {
    WhetTest::SetUp();
    auto sshd = PrivateSshd::Start();
    ASSERT_TRUE(sshd.ok()) << sshd.status();
    sshd_ = *std::move(sshd);
  }
  void ExpectUnreachable(const std::string& host, const std::string& ssh_config,
                         const std::vector<std::string>& words) {
    const std::string campaign = WriteCampaign(
        2, absl::StrCat("cluster:\n  trainer: {ssh: \"", host, "\", socket: ", Path("t.sock"),
                        "}\n  workers: [{ssh: \"", host, "\", socket: ", Path("w.sock"),
                        "}]\n  ssh_config: ", ssh_config, "\n"));
    const WhetResult run = Whet({"run", campaign, "--run-dir", RunDirectory()}, seconds(120));
    EXPECT_GT(run.exit_code, 0) << run.out << run.err;
    for (const std::string& word : words) EXPECT_THAT(run.err, HasSubstr(word));
    EXPECT_TRUE(Metrics().empty());
    const WhetResult doctor = Whet({"doctor", campaign}, seconds(120));
    EXPECT_EQ(doctor.exit_code, 2) << doctor.out;
    for (const std::string& word : words) EXPECT_THAT(doctor.out, HasSubstr(word));
    EXPECT_THAT(doctor.out, HasSubstr("fix:"));
  }
  std::unique_ptr<PrivateSshd> sshd_;
};

TEST_F(BadHostTest, WrongHostKey) {
  const std::string other = *ReadFile(sshd_->dir() + "/user_key.pub");
  const std::string known = Path("known_hosts");
  ASSERT_TRUE(WriteFileAtomically(known, absl::StrCat("[127.0.0.1]:", sshd_->port(), " ",
                                                      other.substr(0, other.rfind(' ')), "\n"))
                  .ok());
  ExpectUnreachable(
      "gpu01",
      sshd_->SshConfigWith("changed", "UserKnownHostsFile", "  UserKnownHostsFile " + known),
      {"host key", known});
}

TEST_F(BadHostTest, RefusedKey) {
  ExpectUnreachable(
      "gpu01",
      sshd_->SshConfigWith("refused", "IdentityFile",
                           absl::StrCat("  IdentityFile ", sshd_->dir(), "/host_key")),
      {"refused every key", "authorized_keys"});
}

TEST_F(BadHostTest, DeadHost) {
  ExpectUnreachable("127.0.0.1:1", sshd_->ssh_config(), {"127.0.0.1 port 1", "sshd"});
}

TEST_F(BadHostTest, ServiceNotRunning) {
  ExpectUnreachable("gpu01", sshd_->ssh_config(), {Path("t.sock"), "start the service"});
}

// These hosts isolate less than a campaign demands.
class IsolationTest : public WhetTest {
 protected:
  // Runs `whet words…` where no control groups are mounted.
  WhetResult WhetWithoutControlGroups(const std::vector<std::string>& words) {
    std::vector<std::string> command = {
        "unshare",
        "--mount",
        "--propagation",
        "private",
        "sh",
        "-c",
        "for point in $(awk '$3 ~ /^cgroup/ {print $2}' /proc/mounts); do umount -l \"$point\"; "
        "done; exec \"$0\" \"$@\"",
        Binary("whet")};
    command.insert(command.end(), words.begin(), words.end());
    return BackgroundProgram(command, dir_->path()).Wait(seconds(300));
  }
};

TEST_F(IsolationTest, AWorkerBelowTheLevelDemandedRefuses) {
  if (geteuid() != 0) GTEST_SKIP() << "taking control groups away needs root";
  const std::string campaign = WriteCampaign(1);
  const std::string key = "measure.isolation_min";
  const WhetResult wrong = Whet({"run", campaign, "--set", key + "=cgroup", "--dry-run"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, AllOf(HasSubstr(key), HasSubstr("did you mean 'cgroups'?")));

  const WhetResult doctor =
      WhetWithoutControlGroups({"doctor", campaign, "--set", key + "=cgroups"});
  EXPECT_EQ(doctor.exit_code, 2) << doctor.out << doctor.err;
  EXPECT_THAT(doctor.out, AllOf(HasSubstr(key + " demands cgroups"), HasSubstr("cgroup:none")));

  const WhetResult refused = WhetWithoutControlGroups(
      {"run", campaign, "--run-dir", RunDirectory(), "--set", key + "=cgroups"});
  EXPECT_NE(refused.exit_code, 0) << refused.out;
  EXPECT_THAT(refused.err, AllOf(HasSubstr("no worker is left"), HasSubstr("CGROUPS is demanded"),
                                 HasSubstr("control groups that limit memory and processes")));
  EXPECT_TRUE(Verdicts().empty());

  const WhetResult enough = WhetWithoutControlGroups(
      {"run", campaign, "--run-dir", Path("second"), "--set", key + "=landlock"});
  EXPECT_EQ(enough.exit_code, 0) << enough.out << enough.err;
}

// When a disk fills up the run stops with a message, keeps what it had, and goes on once there is
// room.
class FullDiskTest : public WhetTest {
 protected:
  // Mounts a file system for the run directory, where this process may.
  bool Mount(const std::string& options) {
    mkdir(Path("disk").c_str(), 0755);
    return mount("tmpfs", Path("disk").c_str(), "tmpfs", 0, options.c_str()) == 0;
  }
  void TearDown() override { umount2(Path("disk").c_str(), MNT_DETACH); }
};

TEST_F(FullDiskTest, StopsWithAMessageAndResumesWithRoom) {
  // The tiny model's checkpoints need some 50 MB each.
  if (!Mount("size=24m")) GTEST_SKIP() << "this process may not mount a small tmpfs";
  std::filesystem::create_directory_symlink(Path("disk") + "/run", RunDirectory());
  const std::string campaign = WriteCampaign(4);
  const WhetResult run = Whet({"run", campaign, "--run-dir", Path("disk") + "/run"});
  EXPECT_GT(run.exit_code, 0) << run.out << run.err;
  EXPECT_THAT(run.err, AnyOf(HasSubstr("No space left"), HasSubstr("disk"), HasSubstr("full")));
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(Path("disk") + "/run/checkpoints")) {
    ADD_FAILURE() << "left behind: " << entry.path();
  }
  ASSERT_EQ(mount("tmpfs", Path("disk").c_str(), "tmpfs", MS_REMOUNT, "size=1g"), 0);
  const Rows rollouts = Rollouts();
  const WhetResult resumed = Whet({"resume", Path("disk") + "/run"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.out << resumed.err;
  ExpectComplete(4);
  for (const auto& [key, row] : rollouts) EXPECT_EQ(Rollouts()[key], row);
}

}  // namespace
}  // namespace whetstone
