// Tells where the time of a step goes, by part, with the work that each part did.
//
//   StepProfile profile;
//   { const ProfileCollection collecting(&profile);  learner.Grpo(…); }
//   profile.of(Part::kAttention).seconds …
//
//   const PartScope scope(Part::kAttention, flops, bytes);    // in the code that is measured
//
// A trace, if wanted, keeps each piece of time beside the sums (chrome_trace.h shows it).
//
// Scopes nest: an inner one's time is not also the outer one's, so the parts add up to the whole.
// Prefill and recompute are whole: what is inside counts there, and its own work not at all. A
// scope costs two clock readings while a collection is in progress on this thread, nothing
// otherwise. Only the thread that opened the collection is measured: its helpers work while it
// waits.
//
// On a GPU a call returns when its work is queued. A collection with a DeviceClock (event_clock.h)
// counts when the queue passes from part to part, not when this thread does.
#ifndef WHETSTONE_GPU_TRAINER_PROFILE_STEP_PROFILE_H_
#define WHETSTONE_GPU_TRAINER_PROFILE_STEP_PROFILE_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace whetstone {

enum class Part {
  kInput,              // prompts and examples: rendered and tokenized
  kPrefill,            // the prompts' encoding before decoding begins
  kDecodeStep,         // a step on a GPU, one token a sequence: a graph's parts can't be told apart
  kDecodeMatmul,       // the linear layers and the head, one token a sequence
  kDecodeElementwise,  // norms, rotations, SwiGLU and residuals in between
  kDecodeAttention,    // over the cached keys and values
  kSampling,           // the choice of the next token
  kForwardMatmul,      // the linear layers of the training pass
  kAttention,          // its attention
  kElementwise,        // norms, rotations, SwiGLU, residuals, both ways
  kHead,               // logits, log-probabilities and their gradients
  kBackwardMatmul,     // gradients of activations
  kAttentionBackward,  // gradients of attention
  kWeightGradient,     // gradients of weights
  kRecompute,      // the forward pass again, of layers that kept only their input: no useful work
  kOptimizer,      // gradient norm and AdamW
  kCommunication,  // waiting for sums over the ranks
  kWaiting,        // for ranks that are still at work
  kOther,          // everything else between start and end
};
inline constexpr int kParts = static_cast<int>(Part::kOther) + 1;

// Returns the name that a report shows, such as "decode attention".
const char* NameOf(Part part);

struct PartUse {
  double seconds = 0;
  double flops = 0;  // useful ones: no padding, no recomputation; guessed tokens count
  double bytes = 0;  // least traffic with memory; 0: not counted
  int64_t calls = 0;
};

class StepProfile {
 public:
  PartUse& of(Part part) { return parts_[static_cast<size_t>(part)]; }
  const PartUse& of(Part part) const { return parts_[static_cast<size_t>(part)]; }
  double seconds() const;
  double flops() const;

 private:
  std::array<PartUse, kParts> parts_;
};

// A TraceSpan is one piece of time. Those of the parts follow each other; what goes on `beside`
// them, without this thread, may overlap all others.
struct TraceSpan {
  std::string name;
  std::chrono::steady_clock::time_point begin, end;
  bool beside = false;
};
using StepTrace = std::vector<TraceSpan>;

// It tells when the queue of a device passed certain marks.
class DeviceClock {
 public:
  virtual ~DeviceClock() = default;
  virtual void Mark() noexcept = 0;
  // Waits for the last mark and returns the seconds between each mark and the next; the last one
  // alone is kept. Empty: the times can not be had, because the device has failed.
  virtual std::vector<double> Seconds() noexcept = 0;
};

// Adds what happens on this thread until the end of its life to *profile and, if given, *trace; by
// `clock`, if given (all borrowed). A thread has one at a time.
class ProfileCollection {
 public:
  explicit ProfileCollection(StepProfile* profile, StepTrace* trace = nullptr,
                             DeviceClock* clock = nullptr);
  ~ProfileCollection();
  ProfileCollection(const ProfileCollection&) = delete;
  ProfileCollection& operator=(const ProfileCollection&) = delete;
};

// Adds what went on beside this thread to its collection's trace, if there is one.
void TraceBeside(const std::string& name, std::chrono::steady_clock::time_point begin,
                 std::chrono::steady_clock::time_point end);

class PartScope {
 public:
  explicit PartScope(Part part, double flops = 0, double bytes = 0);
  ~PartScope();
  PartScope(const PartScope&) = delete;
  PartScope& operator=(const PartScope&) = delete;

 private:
  Part outer_;
};

}  // namespace whetstone

#endif  // WHETSTONE_GPU_TRAINER_PROFILE_STEP_PROFILE_H_
