#include "common/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace whetstone {
namespace {

TEST(Crc32cTest, TheStandardsOwnExamples) {
  // RFC 3720, B.4.
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  std::string rising;
  for (char c = 0; c < 32; ++c) rising.push_back(c);
  EXPECT_EQ(Crc32c(rising), 0x46dd794eu);
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(Crc32c(""), 0u);
}

TEST(Crc32cTest, PiecesGiveTheWholesChecksum) {
  const std::string text = "the quick brown fox jumps over the lazy dog";
  for (size_t i = 0; i <= text.size(); ++i) {
    EXPECT_EQ(ExtendCrc32c(Crc32c(text.substr(0, i)), text.substr(i)), Crc32c(text)) << i;
  }
}

}  // namespace
}  // namespace whetstone
