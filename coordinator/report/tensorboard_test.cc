#include "coordinator/report/tensorboard.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/file.h"

namespace whetstone {
namespace {

TEST(TensorBoardTest, ChecksumIsTheStandardsOwnExample) {
  // By RFC 3720, B.4, the CRC-32C of 32 zero bytes is 0x8a9136aa.
  const uint32_t crc = 0x8a9136aau;
  const uint32_t masked = ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
  EXPECT_EQ(MaskedCrc32c(std::string(32, '\0')), masked);
}

// TensorBoard's own reader reads the event file; its Python environment is the one that
// deploy/setup.sh --tests makes.
TEST(TensorBoardTest, TensorBoardReadsIt) {
  const std::string python = absl::StrCat(WHETSTONE_VENV_DIR, "/bin/python");
  const TempDir folder = *TempDir::Make("tb");
  {
    auto writer = *TensorBoardWriter::Create(folder.path());
    ASSERT_TRUE(writer->Add(1000.5, 1, {{"reward", 0.5}, {"loss", 2}}).ok());
    ASSERT_TRUE(writer->Add(2000.25, 2, {{"reward", -0.25}, {"kl", std::nan("")}}).ok());
  }
  std::ofstream(folder.path() + "/read.py") << R"(
import sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator(sys.argv[1])
events.Reload()
assert sorted(events.Tags()["scalars"]) == ["loss", "reward"], events.Tags()
assert [(e.step, e.value) for e in events.Scalars("reward")] == [(1, 0.5), (2, -0.25)]
assert [e.wall_time for e in events.Scalars("reward")] == [1000.5, 2000.25]
)";
  EXPECT_EQ(
      std::system(absl::StrCat(python, " ", folder.path(), "/read.py ", folder.path()).c_str()), 0);
}

}  // namespace
}  // namespace whetstone
