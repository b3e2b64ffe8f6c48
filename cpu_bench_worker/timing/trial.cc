#include "cpu_bench_worker/timing/trial.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/philox.h"
#include "cpu_bench_worker/problem/compare.h"

namespace whetstone {

Trial::Trial(const BenchContext& context, std::string candidate_object, uint64_t seed)
    : context_(context), candidate_object_(std::move(candidate_object)), seed_(seed) {}

std::optional<Failure> Trial::FreshPair(const std::vector<CallBatch*>& batches, bool urgent) {
  duel_.reset();
  if (on_core_ == nullptr && context_.cores.apart && problem().problem.compile().threads() <= 1) {
    auto started = CoreThread::Start(context_.cores.kernel[0]);
    if (!started.ok()) return OurFault(started.status());
    on_core_ = *std::move(started);
  }
  DuelSpec spec;
  spec.context = context_;
  spec.on_core = on_core_.get();
  spec.candidate_object = candidate_object_;
  spec.urgent = urgent;
  spec.seed = Philox(seed_, {0xFA12, pairs_started_++, 0, 0}).Next64();
  for (const CallBatch* batch : batches) {
    if (!batch->in_place()) spec.input_bytes = std::max(spec.input_bytes, batch->input_bytes());
    spec.output_bytes = std::max(spec.output_bytes, batch->outputs().size());
    spec.calls_max = std::max(spec.calls_max, batch->calls());
  }
  // Small inputs take turns at the region's start; behind them every large one has a place of its
  // own.
  const auto page = [](size_t bytes) { return (bytes + 4095) / 4096 * 4096; };
  std::vector<size_t> offsets;
  for (const CallBatch* batch : batches) {
    if (!batch->in_place()) continue;
    offsets.push_back(page(spec.input_bytes));
    spec.input_bytes = offsets.back() + batch->input_bytes();
  }
  if (auto failure = Duel::Start(spec, &duel_)) return failure;
  auto offset = offsets.begin();
  for (CallBatch* batch : batches) {
    if (!batch->in_place()) continue;
    batch->PlaceInputs(duel_->inputs() + *offset, *offset);
    ++offset;
  }
  return std::nullopt;
}

absl::StatusOr<OperatorProgram*> Trial::Program(const std::string& name,
                                                std::unique_ptr<OperatorProgram>* program) {
  if (*program == nullptr) {
    auto started = OperatorProgram::Start(context_, name);
    if (!started.ok()) return started.status();
    *program = std::move(*started);
  }
  return program->get();
}

std::optional<Failure> Trial::Fill(uint64_t key, FillStyle style, CallBatch* batch) {
  const uint64_t mixed = Philox(seed_, {0x1297, key, 0, 0}).Next64();
  batch->Fill(mixed, style);
  if (problem().generator_object.empty()) return std::nullopt;
  auto generator = Program("generator", &generator_);
  if (!generator.ok()) return OurFault(generator.status());
  if (absl::Status status = (*generator)->Generate(mixed, batch); !status.ok())
    return OurFault(status);
  return std::nullopt;
}

std::optional<Failure> Trial::Play(const CallBatch& batch, const RoundOptions& options,
                                   Round* round) {
  if (cancelled()) return Failure{kCancelledOutcome, "cancelled"};
  *round = Round{};
  std::string outputs[2];
  Side order[2] = {Side::kReference, Side::kCandidate};
  if (options.candidate_first) std::swap(order[0], order[1]);
  for (const Side side : order) {
    Turn* turn = side == Side::kReference ? &round->reference : &round->candidate;
    std::string* got = &outputs[static_cast<size_t>(side)];
    if (auto failure = Take(side, batch, /*empty=*/false, turn, got)) return failure;
  }
  if (!options.judge) return std::nullopt;
  return Judge(batch, options.oracle, outputs[0], outputs[1], round);
}

std::optional<Failure> Trial::Take(Side side, const CallBatch& batch, bool empty, Turn* turn,
                                   std::string* outputs) {
  const uint64_t begin = RawNowNs();
  auto failure = duel_->Take(side, batch, empty, turn, outputs);
  turns_s_ += static_cast<double>(RawNowNs() - begin) / 1e9;
  return failure;
}

std::optional<Failure> Trial::Floor(const CallBatch& batch, Side side, Turn* turn) {
  return Take(side, batch, /*empty=*/true, turn, nullptr);
}

std::optional<Failure> Trial::Judge(const CallBatch& batch, bool use_oracle,
                                    const std::string& reference, const std::string& candidate,
                                    Round* round) {
  const BenchProblem& p = problem();
  const std::string size = SizeText(batch.shape().size);
  if (!batch.GuardsIntact(candidate.data())) {
    round->first_bad = absl::StrCat(size, ": wrote outside its output arrays");
    return std::nullopt;
  }
  if (!p.checker_object.empty()) {
    auto checker = Program("checker", &checker_);
    if (!checker.ok()) return OurFault(checker.status());
    auto right = (*checker)->Check(batch, candidate);
    if (!right.ok()) return OurFault(right.status());
    for (const bool ok : *right) round->right_calls += ok ? 1 : 0;
    if (round->right_calls < batch.calls())
      round->first_bad = absl::StrCat(size, ": the problem's checker refused the outputs");
    return std::nullopt;
  }
  const std::string* want = &reference;
  std::string computed;
  // The reference's own error may be as large as the tolerance when an oracle defines the truth.
  double slack = p.oracle_object.empty() ? 1 : 2;
  if (use_oracle && !p.oracle_object.empty()) {
    auto oracle = Program("oracle", &oracle_);
    if (!oracle.ok()) return OurFault(oracle.status());
    auto answer = (*oracle)->Compute(batch);
    if (!answer.ok()) return OurFault(answer.status());
    computed = std::move(*answer);
    want = &computed;
    slack = 1;
  }
  for (int call = 0; call < batch.calls(); ++call) {
    bool right = true;
    for (size_t s = 0; s < batch.slots().size(); ++s) {
      const CallSlot& slot = batch.slots()[s];
      if (slot.place != SlotPlace::kOutput) continue;
      const bool returned = slot.arg == kReturnSlot;
      const auto a = static_cast<size_t>(slot.arg);
      const ElementLayout& element =
          returned ? p.arguments.returned() : p.arguments.specs()[a].element;
      const auto count = static_cast<int64_t>(slot.bytes / element.bytes);
      const char* got_data = candidate.data() + batch.offset(call, s);
      const char* want_data = want->data() + batch.offset(call, s);
      const Comparison comparison =
          CompareElements(element, p.problem.compare(), slack, count, got_data, want_data);
      if (comparison.right) continue;
      right = false;
      if (round->first_bad.empty()) {
        const std::string name = returned ? "the returned value" : p.arguments.specs()[a].name;
        round->first_bad = absl::StrCat(
            size, ": ", DescribeElement(name, element, comparison, got_data, want_data), " (",
            comparison.bad, " of ", count, " elements wrong)");
      }
    }
    round->right_calls += right ? 1 : 0;
  }
  return std::nullopt;
}

}  // namespace whetstone
