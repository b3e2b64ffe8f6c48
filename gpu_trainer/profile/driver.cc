#include "gpu_trainer/profile/driver.h"

#include <torch/cuda.h>

#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>

#include "absl/strings/str_cat.h"

namespace whetstone {

GpuFacts FactsOfThisHost() {
  GpuFacts facts;
  facts.gpus = torch::cuda::device_count();
  std::ostringstream text;
  text << std::ifstream("/proc/driver/nvidia/version").rdbuf();
  facts.driver = DriverVersionIn(text.str());
#ifdef WHETSTONE_HAVE_CUDA
  facts.with_cuda = true;
#endif
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  facts.gpu_hidden = visible != nullptr && (*visible == '\0' || *visible == '-');
  return facts;
}

std::string DriverVersionIn(const std::string& text) {
  static const std::regex version("Kernel Module.*?\\s(\\d+\\.\\d+(\\.\\d+)*)\\s");
  std::smatch match;
  return std::regex_search(text, match, version) ? match[1].str() : "";
}

std::string WhyNoGpu(const GpuFacts& facts) {
  if (facts.gpus > 0 || facts.driver.empty() || facts.gpu_hidden) return "";
  if (std::atoi(facts.driver.c_str()) < kDriverMin) {
    return absl::StrCat("the NVIDIA driver is ", facts.driver, ", but LibTorch 2.11 (CUDA 13.0) ",
                        "needs ", kDriverMin, " or newer: install a driver of branch R", kDriverMin,
                        " or newer on this host");
  }
  if (!facts.with_cuda) {
    return "this whet-trainer was built without CUDA: run deploy/setup.sh --cuda --build cuda and "
           "use build/cuda/bin";
  }
  return absl::StrCat("the NVIDIA driver is ", facts.driver, ", but CUDA sees no GPU: look at ",
                      "nvidia-smi, and at the devices that a container was given");
}

}  // namespace whetstone
