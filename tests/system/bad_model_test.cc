// A campaign whose model cannot serve, or that asks more of it than it has, is refused by `doctor`,
// `run --dry-run` and `run` alike, before a service is started or anything is made.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/file.h"
#include "tests/system/ssh_campaign_fixture.h"
#include "tests/system/whet_fixture.h"

namespace whetstone {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;

class BadModelTest : public WhetTest {
 protected:
  // Makes a folder of programs in which the services write down what they are started for, and a
  // campaign whose model, a copy of the tiny one, may be damaged.
  void SetUp() override {
    WhetTest::SetUp();
    fs::create_directory(Path("bin"));
    fs::copy_file(Binary("whet"), Path("bin/whet"));
    for (const char* service : {"whet-trainer", "whet-worker"}) {
      const std::string script = absl::StrCat(Path("bin/"), service);
      std::ofstream(script) << "#!/bin/sh\necho " << service << " $1 >> " << Path("started")
                            << "\nexec " << Binary(service) << " \"$@\"\n";
      fs::permissions(script, fs::perms::owner_all);
    }
    fs::copy(TinyModel(), Model());
    campaign_ = WriteCampaign(2);
    const std::string text = absl::StrReplaceAll(*ReadFile(campaign_), {{TinyModel(), Model()}});
    ASSERT_TRUE(WriteFileAtomically(campaign_, text).ok());
  }
  std::string Model() const { return Path("model"); }

  void Change(const std::string& file, const std::function<void(json&)>& change) const {
    const std::string path = absl::StrCat(Model(), "/", file);
    json value = json::parse(*ReadFile(path));
    change(value);
    ASSERT_TRUE(WriteFileAtomically(path, value.dump()).ok());
  }

  WhetResult RunWhet(std::vector<std::string> words, const std::vector<std::string>& more) const {
    words.insert(words.begin(), Path("bin/whet"));
    words.insert(words.end(), more.begin(), more.end());
    return BackgroundProgram(words, dir_->path()).Wait(seconds(120));
  }

  // All three commands refuse the campaign: `where` and `key` are blamed for `what`.
  void ExpectRefused(const std::string& where, const std::string& key, const std::string& what,
                     const std::vector<std::string>& more = {}) {
    const WhetResult doctor = RunWhet({"doctor", campaign_}, more);
    EXPECT_EQ(doctor.exit_code, 2) << doctor.out << doctor.err;
    EXPECT_THAT(doctor.out, AllOf(HasSubstr(absl::StrCat("fail  ", key, ": ")), HasSubstr(what),
                                  HasSubstr(absl::StrCat("fix: correct `", key, "`"))));
    for (const std::string option : {"--dry-run", "--json"}) {
      const WhetResult run = RunWhet({"run", campaign_, "--run-dir", RunDirectory(), option}, more);
      EXPECT_EQ(run.exit_code, 2) << run.out << run.err;
      EXPECT_THAT(run.err, AllOf(HasSubstr(absl::StrCat("whet: ", where, ": '", key, "': ")),
                                 HasSubstr(what)));
      EXPECT_NE(access(RunDirectory().c_str(), F_OK), 0) << "left a run directory behind";
    }
    EXPECT_EQ(*ReadFile(Path("started")),
              "whet-trainer inspect\nwhet-trainer inspect\nwhet-trainer inspect\n");
    fs::remove(Path("started"));
  }
  void ExpectModelRefused(const std::string& what) {
    ExpectRefused(campaign_ + ":2", "model", what);
  }

  std::string campaign_;
};

TEST_F(BadModelTest, FilesThatAreMissingOrCutShort) {
  fs::resize_file(Model() + "/model.safetensors", 1000000);
  ExpectModelRefused("model.safetensors is not a valid safetensors file");
  fs::remove(Model() + "/tokenizer.json");
  fs::copy_file(TinyModel() + "/model.safetensors", Model() + "/model.safetensors",
                fs::copy_options::overwrite_existing);
  ExpectModelRefused("cannot read " + Model() + "/tokenizer.json");
  fs::remove_all(Model());
  ExpectModelRefused("there is no directory " + Model());
}

TEST_F(BadModelTest, AnotherFamily) {
  Change("config.json", [](json& config) { config["model_type"] = "gpt2"; });
  ExpectModelRefused("model_type \"gpt2\" is not supported; supported architectures: llama");
}

TEST_F(BadModelTest, ATokenizerOfTwoTokens) {
  ASSERT_TRUE(
      WriteFileAtomically(Model() + "/tokenizer.json",
                          R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []}})")
          .ok());
  ExpectModelRefused("tokenizer.json: text does not survive encoding and decoding");
}

TEST_F(BadModelTest, ATokenizerLargerThanTheModel) {
  Change("tokenizer.json", [](json& tokenizer) {
    tokenizer["added_tokens"].push_back({{"id", 49152}, {"content", "<one too many>"}});
  });
  ExpectModelRefused("tokenizer.json has token ids up to 49152, but the model knows 49152");
}

TEST_F(BadModelTest, AReferenceModelThatIsNotThere) {
  const std::string set = "train.kl_reference=" + Path("nowhere");
  ExpectRefused("--set " + set, "train.kl_reference", "there is no directory " + Path("nowhere"),
                {"--set", "train.kl_beta=0.1", "--set", set});
}

TEST_F(BadModelTest, LengthsBeyondTheContext) {
  const auto plan = [&](const std::string& set) {
    return RunWhet({"run", campaign_, "--dry-run", "--json", "--set", set}, {});
  };
  const WhetResult fits = plan("generate.max_new_tokens=24");
  ASSERT_EQ(fits.exit_code, 0) << fits.err;
  const json model = fits.json()["plan"]["model"];
  EXPECT_EQ(model["family"], "llama");
  EXPECT_EQ(model["context_length"], 2048);
  const int prompt = model["longest_prompt_tokens"];
  EXPECT_GT(prompt, 100);
  const std::string key = "generate.max_new_tokens";
  const std::string room = absl::StrCat(
      "its context is 2048 tokens, and the longest prompt "
      "(problem multiply) has ",
      prompt, "; give at most ", 2048 - prompt);
  EXPECT_EQ(plan(absl::StrCat(key, "=", 2048 - prompt)).exit_code, 0);
  fs::remove(Path("started"));
  for (const int tokens : {2048 - prompt + 1, 20'000, 100'000'000}) {
    const std::string set = absl::StrCat(key, "=", tokens);
    ExpectRefused("--set " + set, key, absl::StrCat(tokens, " is beyond the model: ", room),
                  {"--set", set});
  }
}

// The same answers come from a trainer on another host, through SSH.
TEST_F(SshCampaignTest, ATrainerElsewhereRefusesWhatCannotServe) {
  fs::copy(TinyModel(), Path("model"));
  ASSERT_TRUE(
      WriteFileAtomically(Path("model/tokenizer.json"),
                          R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []}})")
          .ok());
  const std::string campaign = WriteCampaign(2, Cluster(sshd_->ssh_config()));
  struct Case {
    std::string set, key, what;
  };
  for (const Case& c : {Case{"model=" + Path("model"), "model", "text does not survive"},
                        Case{"generate.max_new_tokens=20000", "generate.max_new_tokens",
                             "20000 is beyond the model: its context is 2048 tokens"}}) {
    const WhetResult run = Whet({"run", campaign, "--run-dir", RunDirectory(), "--set", c.set});
    EXPECT_EQ(run.exit_code, 2) << run.out << run.err;
    EXPECT_THAT(run.err, AllOf(HasSubstr(absl::StrCat("'", c.key, "': ")), HasSubstr(c.what)));
    EXPECT_NE(access(RunDirectory().c_str(), F_OK), 0) << "left a run directory behind";
  }
  // The doctor goes on with the other hosts.
  const WhetResult doctor = Whet({"doctor", campaign, "--set", "generate.max_new_tokens=20000"});
  EXPECT_EQ(doctor.exit_code, 2) << doctor.out << doctor.err;
  EXPECT_THAT(doctor.out, AllOf(HasSubstr("fail  generate.max_new_tokens: 20000 is beyond"),
                                HasSubstr("worker cpu01: noise")));
}

}  // namespace
}  // namespace whetstone
