#include "coordinator/report/verdict_json.h"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace whetstone {
nlohmann::ordered_json NumberOrNull(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json VerdictJson(const v1::Verdict& v) {
  const auto timed = [&](double value) {
    return v.timed() ? NumberOrNull(value) : nlohmann::ordered_json(nullptr);
  };
  nlohmann::ordered_json json = {
      {"outcome", v1::Outcome_Name(v.outcome())},
      {"reward", nullptr},  // the caller, who knows the campaign, fills it in
      {"speedup", timed(v.speedup())},
      {"speedup_low", timed(v.speedup_low())},
      {"speedup_high", timed(v.speedup_high())},
      {"pass_fraction", NumberOrNull(v.pass_fraction())},
      {"sizes", nlohmann::ordered_json::array()},
      {"detail", v.detail()},
      {"isolation", v.isolation()},
      {"noise_band", NumberOrNull(v.noise_band())},
      {"timed", v.timed()},
      {"doubted", v.doubted()},
      {"cached", v.cached()},
      {"canonical_hash", v.canonical_hash()},
      {"object_hash", v.object_hash()},
      {"techniques", nlohmann::ordered_json::array()},
      {"worker", v.worker()},
      {"time_s",
       {{"screen", v.screen_s()},
        {"compile", v.compile_s()},
        {"check", v.check_s()},
        {"time", v.time_s()}}},
  };
  for (const v1::SizeResult& size : v.sizes()) {
    json["sizes"].push_back(
        {{"size", std::map<std::string, int64_t>(size.size().begin(), size.size().end())},
         {"speedup", NumberOrNull(size.speedup())},
         {"reference_ns", NumberOrNull(size.reference_ns())},
         {"candidate_ns", NumberOrNull(size.candidate_ns())},
         {"floor_ns", NumberOrNull(size.floor_ns())},
         {"pairs", size.pairs()},
         {"rounds_redone", size.rounds_redone()},
         {"rounds_clock_changed", size.rounds_clock_changed()},
         {"rounds_core_shared", size.rounds_core_shared()},
         {"pairs_core_shared", size.pairs_core_shared()}});
  }
  for (const std::string& technique : v.techniques()) json["techniques"].push_back(technique);
  return json;
}

}  // namespace whetstone
