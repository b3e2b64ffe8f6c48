#include "gpu_trainer/model/compute_type.h"

#include <gtest/gtest.h>

#include "gpu_trainer/kernels/cpu/cpu.h"

namespace whetstone {
namespace {

TEST(ComputeTypeTest, NamesAreThoseOfBothWorlds) {
  for (const char* name : {"bf16", "bfloat16"}) {
    EXPECT_EQ(*ParseComputeType(name), torch::kBFloat16);
    EXPECT_EQ(*ChooseComputeType(name, torch::kCPU), torch::kBFloat16) << "whatever it costs";
  }
  EXPECT_EQ(ParseComputeType("int8").status().message(),
            "'int8' is no compute type; valid: auto, bf16, fp16, fp32");
  EXPECT_FALSE(ParseComputeType("auto").ok()) << "it says nothing without a device";
}

TEST(ComputeTypeTest, AutoIsTheFasterOne) {
  EXPECT_EQ(*ChooseComputeType("auto", torch::kCUDA), torch::kBFloat16);
  EXPECT_EQ(*ChooseComputeType("auto", torch::kCPU),
            MultipliesBf16() ? torch::kBFloat16 : torch::kFloat);
}

}  // namespace
}  // namespace whetstone
