// A TrainerGate lets the calls of the campaign through that holds a trainer (trainer_lease.h), and
// refuses all others. It is thread-safe.
//
//   TrainerGate gate(&clock);
//   absl::StatusOr<TrainerHolder> holder = gate.Load("a-1", /*steal=*/false, [&](const auto& by) {
//     return compute.Run([&] { RETURN_IF_ERROR(gate.Check(by)); … });
//   });
//   absl::Status done = gate.Call(*holder, [&] { … });
#ifndef WHETSTONE_COMMON_TRAINER_GATE_H_
#define WHETSTONE_COMMON_TRAINER_GATE_H_

#include <functional>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/trainer_lease.h"

namespace whetstone {

class TrainerGate {
 public:
  // `clock` is borrowed for the gate's life.
  explicit TrainerGate(const Clock* clock) : clock_(clock) {}

  // Runs `load` for the campaign, which holds the trainer from the beginning of that, and returns
  // it with its epoch. Errors are the load's and TrainerLease::Claim's.
  absl::StatusOr<TrainerHolder> Load(const std::string& campaign_id, bool steal,
                                     const std::function<absl::Status(const TrainerHolder&)>& load);
  // Runs `call` if `caller` holds the trainer. Errors are the call's and TrainerLease::Check's.
  absl::Status Call(const TrainerHolder& caller, const std::function<absl::Status()>& call);
  // As TrainerLease has it: for what waited for its turn, or takes long.
  absl::Status Check(const TrainerHolder& caller) const;
  void Hear(const TrainerHolder& caller, bool release);

  struct Holding {
    std::string campaign_id;  // empty: nobody holds the trainer
    double heard_s = 0;       // ago
  };
  Holding holding() const;

 private:
  double Now() const { return std::chrono::duration<double>(clock_->Now()).count(); }

  const Clock* const clock_;
  mutable std::mutex mutex_;
  TrainerLease lease_;  // mutex_ protects it
};

}  // namespace whetstone

#endif  // WHETSTONE_COMMON_TRAINER_GATE_H_
