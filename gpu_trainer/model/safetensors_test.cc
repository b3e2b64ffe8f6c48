#include "gpu_trainer/model/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "common/file.h"

namespace whetstone {
namespace {

using ::testing::HasSubstr;

std::string FileBytes(const std::string& header, size_t data_bytes) {
  const uint64_t n = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &n, 8);
  return bytes + header + std::string(data_bytes, 'x');
}

class SafetensorsTest : public ::testing::Test {
 protected:
  SafetensorsTest() : dir_(*TempDir::Make("safetensors")), path_(dir_.path() + "/m.safetensors") {}
  absl::Status OpenBytes(const std::string& bytes) {
    EXPECT_TRUE(WriteFileAtomically(path_, bytes).ok());
    return SafetensorsFile::Open(path_).status();
  }
  TempDir dir_;
  std::string path_;
};

TEST_F(SafetensorsTest, RoundTrip) {
  const std::string a(24, 'a'), b(4, 'b');
  ASSERT_TRUE(WriteSafetensors(path_, {{"first", "F32", {2, 3}, a},
                                       {"none", "I64", {0, 7}, ""},
                                       {"second", "BF16", {2}, b}})
                  .ok());
  auto file = SafetensorsFile::Open(path_);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_EQ((*file)->entries().size(), 3u);
  const SafetensorsEntry& first = (*file)->entries().at("first");
  EXPECT_EQ(first.dtype, "F32");
  EXPECT_EQ(first.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ((*file)->Bytes(first), a);
  EXPECT_EQ((*file)->Bytes((*file)->entries().at("second")), b);
  EXPECT_EQ((*file)->Bytes((*file)->entries().at("none")), "");
  EXPECT_FALSE(std::filesystem::exists(path_ + ".tmp"));
}

TEST_F(SafetensorsTest, MalformedHeadersAreRefused) {
  const std::string ok = R"("dtype":"F32","shape":[2],"data_offsets":[0,8])";
  // A case is {header, bytes of data, what the message must say}.
  const std::vector<std::tuple<std::string, size_t, std::string>> cases = {
      {"{\"a\":{" + ok + "}}", 7, "truncated"},
      {"{\"a\":{" + ok + "}}", 9, "too long"},
      {"{\"a\":{" + ok + "}", 8, "not a JSON object"},
      {"[]", 0, "not a JSON object"},
      {"{\"a\":{" + ok + "},\"a\":{" + ok + "}}", 8, "appears twice"},
      {"{\"a\":{" + ok + R"(},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", 12,
       "overlap"},
      {"{\"a\":{" + ok + R"(},"b":{"dtype":"F32","shape":[1],"data_offsets":[12,16]}})", 16,
       "hole"},
      {R"({"a":{"dtype":"F99","shape":[2],"data_offsets":[0,8]}})", 8, "unknown dtype"},
      {R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8, "do not match"},
      {R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8, "shape"},
      {R"({"a":{"dtype":"F32","shape":[2.5],"data_offsets":[0,8]}})", 8, "shape"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[-8,0]}})", 8, "non-negative"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8, "do not match"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0]}})", 8, "pair"},
      {R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})", 0,
       "do not match"},
      {R"({"a":{"shape":[2],"data_offsets":[0,8]}})", 8, "dtype is missing"},
      {R"({"a":7})", 0, "not an object"},
      {R"({"a":{"dtype":"F32","dtype":"I8","shape":[2],"data_offsets":[0,8]}})", 8,
       "appears twice"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,18446744073709551624]}})", 8,
       "non-negative"},
      {R"({"a":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8]}})", 8, "shape"},
      {std::string(100000, '['), 0, "not a JSON object"},
      {R"({"__metadata__":7})", 0, "__metadata__"},
      {"{\"a\":{" + ok + ",\"extra\":1}}", 8, "unknown key"},
  };
  for (const auto& [header, data_bytes, message] : cases) {
    const absl::Status status = OpenBytes(FileBytes(header, data_bytes));
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << header;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message)) << header;
    EXPECT_THAT(std::string(status.message()), HasSubstr(path_)) << header;
  }
}

TEST_F(SafetensorsTest, MalformedLengthsAreRefused) {
  EXPECT_THAT(std::string(OpenBytes("").message()), HasSubstr("only 0 bytes"));
  EXPECT_THAT(std::string(OpenBytes("1234567").message()), HasSubstr("only 7 bytes"));
  std::string wrapped(8, '\xff');  // 2^64 - 1, added to 8, would wrap around.
  EXPECT_THAT(std::string(OpenBytes(wrapped + "{}").message()), HasSubstr("header claims"));
  std::string beyond = FileBytes("{}", 0);
  beyond[0] = 3;
  EXPECT_THAT(std::string(OpenBytes(beyond).message()), HasSubstr("header claims"));
}

TEST_F(SafetensorsTest, EveryTruncationIsRefused) {
  const std::string whole =
      FileBytes(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8);
  for (size_t n = 0; n < whole.size(); ++n) {
    EXPECT_FALSE(OpenBytes(whole.substr(0, n)).ok()) << n;
  }
  EXPECT_TRUE(OpenBytes(whole).ok());
}

// Whatever one damaged byte makes of a header, it is an error or a table that fits the data.
TEST_F(SafetensorsTest, DamagedHeadersNeverCrash) {
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
      R"("b":{"dtype":"BF16","shape":[3],"data_offsets":[8,14]}})";
  ASSERT_TRUE(ParseSafetensorsHeader(header, 14).ok());
  size_t refused = 0;
  for (size_t at = 0; at < header.size(); ++at) {
    for (const char c : {'0', '9', '-', '"', '{', ']', ',', '\0', '\x80'}) {
      std::string damaged = header;
      damaged[at] = c;
      const auto entries = ParseSafetensorsHeader(damaged, 14);
      refused += !entries.ok();
      if (!entries.ok()) continue;
      for (const auto& [name, entry] : *entries) EXPECT_LE(entry.end, 14u) << damaged;
    }
  }
  EXPECT_GT(refused, header.size() * 6);
}

TEST_F(SafetensorsTest, FailedWriteLeavesNothing) {
  const std::string path = dir_.path() + "/missing/m.safetensors";
  EXPECT_FALSE(WriteSafetensors(path, {}).ok());
  EXPECT_FALSE(SafetensorsFile::Open(path).ok());
  // Nothing is left behind either where the second tensor can not be had.
  const std::vector<SafetensorsTensor> two = {{"a", "U8", {4}, {}}, {"b", "U8", {4}, {}}};
  const absl::Status status =
      WriteSafetensors(path_, two, [](size_t i) -> absl::StatusOr<absl::string_view> {
        if (i == 1) return absl::UnavailableError("rank 1 is gone");
        return "aaaa";
      });
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_FALSE(std::filesystem::exists(path_ + ".tmp"));
}

}  // namespace
}  // namespace whetstone
