// A TrainerGate lets the calls of the campaign through that holds a trainer (trainer_lease.h), and
// refuses all others. It is thread-safe.
//
//   TrainerGate gate(&clock);
//   absl::StatusOr<TrainerHolder> holder = gate.Load("a-1", /*steal=*/false, [&](const auto& by) {
//     return compute.Run([&] { RETURN_IF_ERROR(gate.Check(by)); …; gate.Loaded(by); … });
//   });
//   ASSIGN_OR_RETURN(const std::shared_ptr<void> running, gate.Begin(*holder));
#ifndef WHETSTONE_COMMON_TRAINER_GATE_H_
#define WHETSTONE_COMMON_TRAINER_GATE_H_

#include <functional>
#include <memory>
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
  // it with its epoch. A `load` that succeeds has said Loaded as its last act, while no other one
  // loads: whose policy came last is the holder. Errors are the load's and TrainerLease::Claim's.
  absl::StatusOr<TrainerHolder> Load(const std::string& campaign_id, bool steal,
                                     const std::function<absl::Status(const TrainerHolder&)>& load);
  void Loaded(const TrainerHolder& by);
  // A call of `caller` runs until the last copy of what is returned is gone, whoever waits for it.
  // Errors are TrainerLease::Check's.
  absl::StatusOr<std::shared_ptr<void>> Begin(const TrainerHolder& caller);
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
