#include "coordinator/doctor/model_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/file.h"

namespace whetstone {
namespace {

using testing::HasSubstr;

class ModelDirectoryTest : public testing::Test {
 protected:
  void SetUp() override {
    Put("config.json", R"({"model_type": "llama"})");
    Put("tokenizer.json", "{}");
    Put("model.safetensors",
        Weights(R"({"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})", 24));
  }
  void Put(const std::string& name, const std::string& content) {
    ASSERT_TRUE(WriteFileAtomically(Path(name), content).ok());
  }
  std::string Path(const std::string& name) const { return dir_->path() + "/" + name; }
  static std::string Weights(const std::string& header, size_t data_bytes) {
    std::string length(8, '\0');
    for (size_t i = 0, n = header.size(); i < 8; ++i, n >>= 8) length[i] = static_cast<char>(n);
    return length + header + std::string(data_bytes, 'w');
  }
  void ExpectError(absl::StatusCode code, const std::string& a, const std::string& b) {
    const auto summary = InspectModelDirectory(dir_->path());
    EXPECT_EQ(summary.status().code(), code) << summary.status();
    EXPECT_THAT(std::string(summary.status().message()), HasSubstr(a));
    EXPECT_THAT(std::string(summary.status().message()), HasSubstr(b));
  }
  absl::StatusOr<TempDir> dir_ = TempDir::Make("model");
};

TEST_F(ModelDirectoryTest, CountsParametersOfAWholeDirectory) {
  const auto summary = InspectModelDirectory(dir_->path());
  ASSERT_TRUE(summary.ok()) << summary.status();
  EXPECT_EQ(summary->architecture, "llama");
  EXPECT_EQ(summary->parameters, 6);
  EXPECT_EQ(summary->weight_bytes, 24);
}

TEST_F(ModelDirectoryTest, FollowsAnIndexOfSeveralFiles) {
  Put("model.safetensors.index.json",
      R"({"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}})");
  Put("one.safetensors", Weights(R"({"a":{"shape":[4],"data_offsets":[0,8]}})", 8));
  ExpectError(absl::StatusCode::kNotFound, "two.safetensors", "missing");
  Put("two.safetensors", Weights(R"({"b":{"shape":[1],"data_offsets":[0,2]}})", 2));
  EXPECT_EQ(InspectModelDirectory(dir_->path())->parameters, 5);
}

TEST_F(ModelDirectoryTest, NamesWhatIsMissing) {
  remove(Path("tokenizer.json").c_str());
  ExpectError(absl::StatusCode::kNotFound, "tokenizer.json", "missing");
}

TEST_F(ModelDirectoryTest, RefusesOtherArchitectures) {
  Put("config.json", R"({"model_type": "mamba"})");
  ExpectError(absl::StatusCode::kInvalidArgument, "mamba", "llama");
}

TEST_F(ModelDirectoryTest, FindsFilesThatWereCutShort) {
  Put("model.safetensors",
      Weights(R"({"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})", 23));
  ExpectError(absl::StatusCode::kInvalidArgument, "model.safetensors", "damaged");
  Put("model.safetensors", "1234");
  ExpectError(absl::StatusCode::kInvalidArgument, "model.safetensors", "shorter than 8");
  Put("model.safetensors", std::string(64, '\xff'));
  ExpectError(absl::StatusCode::kInvalidArgument, "model.safetensors", "header says");
  Put("model.safetensors", Weights("not json", 0));
  ExpectError(absl::StatusCode::kInvalidArgument, "model.safetensors", "JSON");
  Put("model.safetensors", Weights(R"({"a":{"shape":[1]}})", 2));
  ExpectError(absl::StatusCode::kInvalidArgument, "tensor 'a'", "offsets");
  Put("config.json", "{");
  ExpectError(absl::StatusCode::kInvalidArgument, "config.json", "JSON");
}

}  // namespace
}  // namespace whetstone
