#include "gpu_trainer/profile/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "gpu_trainer/profile/device_memory.h"
#include "gpu_trainer/profile/event_clock.h"
#include "gpu_trainer/profile/fake_gpu_testing.h"
#include "gpu_trainer/profile/memory.h"

namespace whetstone {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(DeviceTest, IsInitialisedBeforeItsMemoryIsAskedForAndCurrentOnTheThread) {
  FakeGpus& gpus = FakeGpus::Get();
  const torch::Device second = FakeGpus::device(1);
  ASSERT_FALSE(gpus.initialised());
  EXPECT_THROW(FreeTensorBytes(second), c10::Error) << "what a trainer's first load came upon";

  UseDevice(second);
  EXPECT_TRUE(gpus.initialised());
  EXPECT_EQ(FakeGpus::current(), 1);
  gpus.free_bytes = 1000;
  gpus.reserved_bytes = 300;
  gpus.allocated_bytes = 200;
  gpus.peak_bytes = 250;
  EXPECT_EQ(FreeTensorBytes(second), 1000 + 300 - 200) << "the cache's rest is free for tensors";
  const MemoryUse use = MemoryUseOf(second);
  EXPECT_EQ(use.peak_bytes, 250) << "of the GPU, not of the process";
  EXPECT_EQ(use.headroom_bytes, 1100);

  std::thread([&] {
    EXPECT_EQ(FakeGpus::current(), 0) << "every thread has a current device of its own";
    UseDevice(second);
    EXPECT_EQ(FakeGpus::current(), 1);
  }).join();
  UseDevice(FakeGpus::device(0));
  EXPECT_EQ(FakeGpus::current(), 0);
  UseDevice(torch::kCPU);
  EXPECT_EQ(FakeGpus::current(), 0);
}

TEST(DeviceTest, ACpusMemoryIsTheProcesss) {
  const MemoryUse use = MemoryUseOf(torch::kCPU);
  EXPECT_GT(use.peak_bytes, 1 << 20);
  EXPECT_LE(use.peak_bytes, PeakMemoryBytes());
  EXPECT_GT(use.headroom_bytes, 0);
}

TEST(EventClockTest, TellsTheSecondsBetweenMarksAndKeepsTheLast) {
  FakeGpus& gpus = FakeGpus::Get();
  EXPECT_EQ(MakeDeviceClock(torch::kCPU), nullptr);
  const std::unique_ptr<DeviceClock> clock = MakeDeviceClock(FakeGpus::device(1));
  EXPECT_THAT(clock->Seconds(), IsEmpty());
  for (const double at : {10.0, 10.5, 12.5}) {
    gpus.now_s = at;
    clock->Mark();
  }
  EXPECT_THAT(clock->Seconds(), ElementsAre(0.5, 2.0));
  EXPECT_EQ(gpus.events, 1) << "the last one alone";
  gpus.now_s = 13.5;
  clock->Mark();
  EXPECT_THAT(clock->Seconds(), ElementsAre(1.0));
  gpus.broken = true;
  clock->Mark();
  gpus.broken = false;
  clock->Mark();
  EXPECT_THAT(clock->Seconds(), IsEmpty()) << "a mark is missing: no time is right any more";
}

TEST(DriverTest, VersionsAsTheKernelModulesSayThem) {
  EXPECT_EQ(DriverVersionIn("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22 "
                            "01:44:30 UTC 2024\nGCC version:  gcc version 12.2.0\n"),
            "550.54.14");
  EXPECT_EQ(DriverVersionIn("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  "
                            "Release Build  (dvs-builder@U22)  Sun Jul 27 07:17:50 UTC 2025\n"),
            "580.65.06");
  EXPECT_EQ(DriverVersionIn(""), "");
  EXPECT_EQ(DriverVersionIn("GCC version:  gcc version 12.2.0\n"), "");
}

TEST(DriverTest, ChoiceOfADeviceByWhatThereIs) {
  const GpuFacts none = {}, good = {.gpus = 2, .driver = "580.65.06", .with_cuda = true},
                 old = {.driver = "550.54.14", .with_cuda = true},
                 not_built = {.driver = "580.65.06"},
                 no_device = {.driver = "590.10", .with_cuda = true},
                 hidden = {.driver = "580.65.06", .with_cuda = true, .gpu_hidden = true};
  for (const GpuFacts& facts : {none, good, old, not_built, no_device, hidden}) {
    const auto cpu = ChooseDevice("cpu", facts);
    ASSERT_TRUE(cpu.ok()) << cpu.status();
    EXPECT_TRUE(cpu->device.is_cpu());
    EXPECT_EQ(cpu->unused_gpu, "") << "the CPU was asked for";
  }
  for (const char* name : {"auto", "cuda"}) {
    const auto choice = ChooseDevice(name, good);
    ASSERT_TRUE(choice.ok()) << choice.status();
    EXPECT_EQ(choice->device, torch::Device(torch::kCUDA, 0));
  }
  const auto too_old = AllOf(HasSubstr("is 550.54.14"), HasSubstr("needs 580 or newer"));
  for (const auto& [facts, why] : std::vector<std::pair<GpuFacts, testing::Matcher<std::string>>>{
           {none, IsEmpty()},
           {old, too_old},
           {not_built, HasSubstr("built without CUDA: run deploy/setup.sh --cuda")},
           {no_device, HasSubstr("CUDA sees no GPU: look at nvidia-smi")},
           {hidden, IsEmpty()}}) {
    const auto choice = ChooseDevice("auto", facts);
    ASSERT_TRUE(choice.ok()) << choice.status();
    EXPECT_TRUE(choice->device.is_cpu());
    EXPECT_THAT(choice->unused_gpu, why);
    const absl::Status refused = ChooseDevice("cuda", facts).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(refused.message()),
                AllOf(HasSubstr("--device is 'cuda', but "), HasSubstr(choice->unused_gpu)));
  }
  EXPECT_THAT(std::string(ChooseDevice("cuda", none).status().message()),
              HasSubstr("this process sees no GPU; use cpu or auto"));
  EXPECT_EQ(ChooseDevice("gpu", good).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace whetstone
