#include "coordinator/endpoint/api_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "common/file.h"

namespace whetstone {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Refused(const KeySource& source) {
  const absl::StatusOr<std::string> key = ReadApiKey(source);
  EXPECT_EQ(key.status().code(), absl::StatusCode::kInvalidArgument) << key.status();
  return std::string(key.status().message());
}

TEST(ApiKeyTest, ComesFromTheEnvironment) {
  setenv("WHET_TEST_KEY", " sk-1234\n", 1);
  EXPECT_EQ(ReadApiKey({.environment_variable = "WHET_TEST_KEY", .file = ""}).value(), "sk-1234");
  setenv("WHET_TEST_KEY", " \t", 1);
  EXPECT_THAT(Refused({"WHET_TEST_KEY", ""}), HasSubstr("WHET_TEST_KEY"));
  setenv("WHET_TEST_KEY", "sk-12\r\nX-Other: 1", 1);
  EXPECT_THAT(Refused({"WHET_TEST_KEY", ""}),
              testing::AllOf(HasSubstr("WHET_TEST_KEY"), Not(HasSubstr("sk-12"))));
  unsetenv("WHET_TEST_KEY");
  EXPECT_THAT(Refused({"WHET_TEST_KEY", ""}),
              HasSubstr("WHET_TEST_KEY (policy.key_env) is not set"));
}

TEST(ApiKeyTest, ComesFromAFile) {
  const TempDir dir = *TempDir::Make("api-key-test");
  const std::string path = dir.path() + "/key";
  EXPECT_THAT(Refused({"", path}), HasSubstr(path));
  ASSERT_TRUE(WriteFileAtomically(path, "sk-5678\n").ok());
  EXPECT_EQ(ReadApiKey({.environment_variable = "", .file = path}).value(), "sk-5678");
  for (const std::string& text : {std::string(), std::string("a b"), std::string("k\0y", 3),
                                  std::string("schl\xc3\xbcssel"), std::string(5000, 'k')}) {
    ASSERT_TRUE(WriteFileAtomically(path, text).ok());
    EXPECT_THAT(Refused({"", path}), HasSubstr(path));
  }
}

TEST(ApiKeyTest, NoneOrOne) {
  EXPECT_EQ(ReadApiKey({}).value(), "");
  EXPECT_THAT(Refused({"A", "b"}), HasSubstr("not both"));
}

TEST(ApiKeyTest, IsTakenOutOfTexts) {
  EXPECT_EQ(WithoutKey("no sk-1 and sk-1", "sk-1"), "no [key] and [key]");
  EXPECT_EQ(WithoutKey("as it is", ""), "as it is");
}

}  // namespace
}  // namespace whetstone
