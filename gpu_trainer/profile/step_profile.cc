#include "gpu_trainer/profile/step_profile.h"

#include <algorithm>
#include <chrono>

namespace whetstone {
namespace {

using Clock = std::chrono::steady_clock;

struct Collecting {
  StepProfile* profile = nullptr;
  StepTrace* trace = nullptr;
  DeviceClock* clock = nullptr;
  Part part = Part::kOther;  // Its time runs.
  Clock::time_point since;
  std::vector<Part> marked;  // These lie between the marks of a clock, if there is one.
};
thread_local Collecting collecting;

// A device is waited for after so many marks at most: they take memory.
constexpr size_t kMarksMax = 4096;

// Tells whether the scopes inside count for nothing.
bool IsWhole(Part part) {
  return part == Part::kPrefill || part == Part::kDecodeStep || part == Part::kRecompute;
}

// Books the time from collecting.since on.
void Book(Part part, Clock::duration time) {
  collecting.profile->of(part).seconds += std::chrono::duration<double>(time).count();
  const Clock::time_point begin = collecting.since;
  collecting.since += time;
  if (collecting.trace == nullptr) return;
  collecting.trace->push_back({.name = NameOf(part), .begin = begin, .end = collecting.since});
}

// Waits for the device and books what lies between its marks.
void BookMarked() {
  const std::vector<double> seconds = collecting.clock->Seconds();
  for (size_t i = 0; i < std::min(seconds.size(), collecting.marked.size()); ++i) {
    Book(collecting.marked[i],
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds[i])));
  }
  collecting.marked.clear();
}

// Books the time since the last call on the part that ran, and lets `next` run.
void Switch(Part next) {
  if (collecting.clock == nullptr) {
    Book(collecting.part, Clock::now() - collecting.since);
  } else {
    collecting.clock->Mark();
    collecting.marked.push_back(collecting.part);
    if (collecting.marked.size() == kMarksMax) BookMarked();
  }
  collecting.part = next;
}

}  // namespace

const char* NameOf(Part part) {
  switch (part) {
    case Part::kInput:
      return "input";
    case Part::kPrefill:
      return "prefill";
    case Part::kDecodeStep:
      return "decode step";
    case Part::kDecodeMatmul:
      return "decode matmul";
    case Part::kDecodeElementwise:
      return "decode elementwise";
    case Part::kDecodeAttention:
      return "decode attention";
    case Part::kSampling:
      return "sampling";
    case Part::kForwardMatmul:
      return "forward matmul";
    case Part::kAttention:
      return "attention";
    case Part::kElementwise:
      return "elementwise";
    case Part::kHead:
      return "head";
    case Part::kBackwardMatmul:
      return "backward matmul";
    case Part::kAttentionBackward:
      return "attention backward";
    case Part::kWeightGradient:
      return "weight gradient";
    case Part::kRecompute:
      return "recompute";
    case Part::kOptimizer:
      return "optimizer";
    case Part::kCommunication:
      return "communication";
    case Part::kWaiting:
      return "waiting for ranks";
    case Part::kOther:
      return "other";
  }
  return "?";
}

double StepProfile::seconds() const {
  double sum = 0;
  for (const PartUse& part : parts_) sum += part.seconds;
  return sum;
}

double StepProfile::flops() const {
  double sum = 0;
  for (const PartUse& part : parts_) sum += part.flops;
  return sum;
}

ProfileCollection::ProfileCollection(StepProfile* profile, StepTrace* trace, DeviceClock* clock) {
  if (clock != nullptr) {
    clock->Mark();
    clock->Seconds();  // What was queued before is over.
  }
  collecting = {profile, trace, clock, Part::kOther, Clock::now(), {}};
}

ProfileCollection::~ProfileCollection() {
  Switch(Part::kOther);
  if (collecting.clock != nullptr) BookMarked();
  collecting = {};
}

void TraceBeside(const std::string& name, Clock::time_point begin, Clock::time_point end) {
  if (collecting.trace == nullptr) return;
  collecting.trace->push_back({.name = name, .begin = begin, .end = end, .beside = true});
}

PartScope::PartScope(Part part, double flops, double bytes) : outer_(collecting.part) {
  if (collecting.profile == nullptr || IsWhole(outer_)) return;
  Switch(part);
  PartUse& use = collecting.profile->of(part);
  use.flops += flops;
  use.bytes += bytes;
  ++use.calls;
}

PartScope::~PartScope() {
  if (collecting.profile != nullptr && collecting.part != outer_) Switch(outer_);
}

}  // namespace whetstone
