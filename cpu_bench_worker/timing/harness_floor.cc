#include "cpu_bench_worker/timing/harness_floor.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "cpu_bench_worker/stats/statistics.h"

namespace whetstone {
namespace {

constexpr int kFloorRequests = 7;
// More time lost than this, beyond what waking costs, spoils an invocation; less is the scatter of
// waking.
constexpr double kLostNsMin = 10'000;

template <typename Value>
double MedianOf(const std::vector<Invocation>& invocations, const Value& value) {
  std::vector<double> values;
  for (const Invocation& invocation : invocations) values.push_back(value(invocation));
  return Median(std::move(values));
}

}  // namespace

std::optional<Failure> HarnessFloor::Measure(Session* session, const CallBatch& batch) {
  std::vector<Invocation> empty;
  // The reference's floor serves for both: both run the same whet-kernel, equal code then has equal
  // floors, and a candidate that took over its loop could respond late to requests without calls,
  // to have more subtracted from its time.
  for (int i = 0; i < kFloorRequests; ++i) {
    Invocation invocation;
    if (auto failure = session->InvokeEmpty(batch, Side::kReference, &invocation)) return failure;
    empty.push_back(invocation);
  }
  ns_ = MedianOf(empty, [this](const Invocation& invocation) { return ClockNs(invocation); });
  cpu_ns_ = MedianOf(empty, [](const Invocation& invocation) { return invocation.cpu_ns; });
  lost_ns_ = MedianOf(empty, [](const Invocation& invocation) { return invocation.LostNs(); });
  return std::nullopt;
}

double HarnessFloor::ClockNs(const Invocation& invocation) const {
  if (threaded_ || invocation.napped) return invocation.ns;
  return std::max(1.0, invocation.ns - invocation.waited_ns);
}

bool HarnessFloor::Disturbed(const PairedSample& sample) const {
  return Disturbed(sample.reference) || Disturbed(sample.candidate);
}

bool HarnessFloor::Disturbed(const Invocation& invocation) const {
  const double lost_ns = threaded_ || invocation.napped ? 0 : invocation.LostNs() - lost_ns_;
  return invocation.disturbed || lost_ns > std::max(kLostNsMin, invocation.ns / 20);
}

BatchNs HarnessFloor::WorkNs(const PairedSample& sample) const {
  // What is left of a batch is never less than half of it: a floor that large was a hiccup.
  const double floor_ns =
      std::min(ns_, std::min(ClockNs(sample.reference), ClockNs(sample.candidate)) / 2);
  return {.reference = WorkNs(sample.reference, floor_ns),
          .candidate = WorkNs(sample.candidate, floor_ns)};
}

// The clock stops at the response, which a child may give some microseconds before it is done and
// still be asleep when it is looked for; the kernel's account of its time on the core goes on until
// it sleeps. Of several threads the one that ran longest bounds what passed, and so does what all
// of them ran, divided by the cores: one that outlives the response is in both, one that has ended
// in the second.
double HarnessFloor::WorkNs(const Invocation& invocation, double floor_ns) const {
  const double all_ns = (invocation.cpu_ns - cpu_ns_) / static_cast<double>(cores_);
  return std::max({ClockNs(invocation) - floor_ns, invocation.thread_ns - cpu_ns_, all_ns});
}

}  // namespace whetstone
