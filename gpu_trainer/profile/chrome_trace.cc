#include "gpu_trainer/profile/chrome_trace.h"

#include <algorithm>
#include <chrono>
#include <string>

namespace whetstone {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

double Microseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

Json NameEvent(const char* what, size_t rank, size_t row, const std::string& name) {
  return {{"ph", "M"}, {"name", what}, {"pid", rank}, {"tid", row}, {"args", {{"name", name}}}};
}

}  // namespace

Json ChromeTrace(const std::vector<StepTrace>& ranks) {
  Clock::time_point first = Clock::time_point::max();
  for (const StepTrace& trace : ranks) {
    for (const TraceSpan& span : trace) first = std::min(first, span.begin);
  }
  Json events = Json::array();
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    events.push_back(NameEvent("process_name", rank, 0, "rank " + std::to_string(rank)));
    events.push_back(NameEvent("thread_name", rank, 0, "computing"));
    std::vector<Clock::time_point> busy_until;  // Of the rows beside the parts.
    for (const TraceSpan& span : ranks[rank]) {
      size_t row = 0;
      if (span.beside) {
        const auto free = std::find_if(busy_until.begin(), busy_until.end(),
                                       [&](Clock::time_point t) { return t <= span.begin; });
        row = 1 + static_cast<size_t>(free - busy_until.begin());
        if (free == busy_until.end()) {
          busy_until.emplace_back();
          events.push_back(NameEvent("thread_name", rank, row, "sums over ranks"));
        }
        busy_until[row - 1] = span.end;
      }
      events.push_back({{"ph", "X"},
                        {"name", span.name},
                        {"pid", rank},
                        {"tid", row},
                        {"ts", Microseconds(span.begin - first)},
                        {"dur", Microseconds(span.end - span.begin)}});
    }
  }
  return {{"traceEvents", events}, {"displayTimeUnit", "ms"}};
}

}  // namespace whetstone
