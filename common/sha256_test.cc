#include "common/sha256.h"

#include <gtest/gtest.h>

namespace whetstone {
namespace {

// The answers are those of FIPS 180-2, appendix B.
TEST(Sha256Test, KnownAnswers) {
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256Test, MissingFileNamesThePath) {
  auto hash = Sha256HexOfFile("/nonexistent/x");
  ASSERT_FALSE(hash.ok());
  EXPECT_NE(hash.status().message().find("/nonexistent/x"), std::string::npos);
}

}  // namespace
}  // namespace whetstone
