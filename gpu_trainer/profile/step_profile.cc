#include "gpu_trainer/profile/step_profile.h"

#include <chrono>

namespace whetstone {
namespace {

using Clock = std::chrono::steady_clock;

struct Collecting {
  StepProfile* profile = nullptr;
  StepTrace* trace = nullptr;
  Part part = Part::kOther;  // Its time runs.
  Clock::time_point since;
};
thread_local Collecting collecting;

// Tells whether the scopes inside count for nothing.
bool IsWhole(Part part) { return part == Part::kPrefill || part == Part::kRecompute; }

// Books the time since the last call on the part that ran, and lets `next` run.
void Switch(Part next) {
  const Clock::time_point now = Clock::now();
  collecting.profile->of(collecting.part).seconds +=
      std::chrono::duration<double>(now - collecting.since).count();
  if (collecting.trace != nullptr) {
    collecting.trace->push_back(
        {.name = NameOf(collecting.part), .begin = collecting.since, .end = now});
  }
  collecting.part = next;
  collecting.since = now;
}

}  // namespace

const char* NameOf(Part part) {
  switch (part) {
    case Part::kInput:
      return "input";
    case Part::kPrefill:
      return "prefill";
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

ProfileCollection::ProfileCollection(StepProfile* profile, StepTrace* trace) {
  collecting = {profile, trace, Part::kOther, Clock::now()};
}

ProfileCollection::~ProfileCollection() {
  Switch(Part::kOther);
  collecting.profile = nullptr;
  collecting.trace = nullptr;
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
