#include "gpu_trainer/profile/chrome_trace.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <set>
#include <string>

namespace whetstone {
namespace {

using Clock = std::chrono::steady_clock;

TEST(ChromeTrace, ShowsPartsInOneRowAndWhatOverlapsBesideThemInOthers) {
  StepProfile profile;
  StepTrace trace;
  const Clock::time_point begin = Clock::now();
  {
    const ProfileCollection collecting(&profile, &trace);
    const Clock::time_point start = Clock::now();
    { const PartScope scope(Part::kAttention); }
    const Clock::time_point middle = Clock::now();
    { const PartScope scope(Part::kHead); }
    TraceBeside("layers.1", start, Clock::now());
    TraceBeside("layers.0", middle, Clock::now());
    const Clock::time_point last = Clock::now();
    TraceBeside("embed", last, Clock::now());
  }
  TraceBeside("nobody collects", begin, begin);
  const double passed_us = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();

  const nlohmann::ordered_json json = ChromeTrace({{}, trace});
  std::map<std::string, nlohmann::ordered_json> spans;
  std::set<std::string> ranks;
  double parts_end = 0;
  for (const auto& event : json["traceEvents"]) {
    if (event["name"] == "process_name") ranks.insert(event["args"]["name"]);
    if (event["ph"] != "X") continue;
    EXPECT_EQ(event["pid"], 1);
    EXPECT_GE(event["ts"], 0.0);
    EXPECT_LE(event["ts"].get<double>() + event["dur"].get<double>(), passed_us);
    if (event["tid"] == 0) {
      EXPECT_NEAR(event["ts"].get<double>(), parts_end, 1e-3) << "parts follow each other";
      parts_end = event["ts"].get<double>() + event["dur"].get<double>();
    }
    spans[event["name"]] = event;
  }
  EXPECT_EQ(ranks, (std::set<std::string>{"rank 0", "rank 1"}));
  EXPECT_EQ(spans.count("nobody collects"), 0u);
  EXPECT_EQ(spans.at("attention")["tid"], 0);
  EXPECT_EQ(spans.at("head")["tid"], 0);
  EXPECT_EQ(spans.at("layers.1")["tid"], 1);
  EXPECT_EQ(spans.at("layers.0")["tid"], 2) << "it began before the first ended";
  EXPECT_EQ(spans.at("embed")["tid"], 1) << "the first row is free again";
  EXPECT_LE(spans.at("layers.1")["ts"], spans.at("attention")["ts"]);
}

}  // namespace
}  // namespace whetstone
