#include "cpu_bench_worker/timing/session.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/philox.h"
#include "cpu_bench_worker/host/raw_clock.h"
#include "cpu_bench_worker/problem/compare.h"

namespace whetstone {

Session::Session(const BenchContext& context, std::string candidate_object, uint64_t seed,
                 double candidate_s)
    : context_(context),
      candidate_object_(std::move(candidate_object)),
      seed_(seed),
      candidate_s_(candidate_s) {}

std::optional<Failure> Session::FreshProcessPair(const std::vector<CallBatch*>& batches,
                                                 bool realtime) {
  paired_run_.reset();
  if (on_core_ == nullptr && context_.cores.apart && !problem().threaded()) {
    auto started = CoreThread::Start(context_.cores.kernel[0]);
    if (!started.ok()) return OurFault(started.status());
    on_core_ = *std::move(started);
  }
  PairedRunSpec spec;
  spec.context = context_;
  spec.on_core = on_core_.get();
  spec.candidate_object = candidate_object_;
  spec.realtime = realtime;
  spec.seed = Philox(seed_, {0xFA12, pairs_started_++, 0, 0}).Next64();
  for (const CallBatch* batch : batches) {
    if (!batch->in_place()) spec.input_bytes = std::max(spec.input_bytes, batch->input_bytes());
    spec.output_bytes = std::max(spec.output_bytes, batch->outputs().size());
    spec.calls_max = std::max(spec.calls_max, batch->calls());
  }
  // Small inputs share the region's start; behind them every large one has a place of its
  // own.
  const auto page = [](size_t bytes) { return (bytes + 4095) / 4096 * 4096; };
  std::vector<size_t> offsets;
  for (const CallBatch* batch : batches) {
    if (!batch->in_place()) continue;
    offsets.push_back(page(spec.input_bytes));
    spec.input_bytes = offsets.back() + batch->input_bytes();
  }
  // What ends at a page's end does so where the region ends, for behind it there is no memory. (Of
  // inputs, where no large ones lie at its end.)
  if (offsets.empty()) spec.input_bytes = page(spec.input_bytes);
  spec.output_bytes = page(spec.output_bytes);
  for (CallBatch* batch : batches) {
    const bool last = batch->ends_at_page();
    batch->PlaceOutputs(last ? spec.output_bytes - batch->outputs().size() : 0);
    if (batch->in_place()) continue;
    batch->PlaceInputs(nullptr,
                       last && offsets.empty() ? spec.input_bytes - batch->input_bytes() : 0);
  }
  if (auto failure = PairedRun::Start(spec, &paired_run_)) return failure;
  auto offset = offsets.begin();
  for (CallBatch* batch : batches) {
    if (!batch->in_place()) continue;
    batch->PlaceInputs(paired_run_->inputs() + *offset, *offset);
    ++offset;
  }
  return std::nullopt;
}

absl::StatusOr<OperatorProgram*> Session::Program(const std::string& name,
                                                  std::unique_ptr<OperatorProgram>* program) {
  if (*program == nullptr) {
    auto started = OperatorProgram::Start(context_, name);
    if (!started.ok()) return started.status();
    *program = std::move(*started);
  }
  return program->get();
}

std::optional<Failure> Session::Fill(uint64_t key, FillStyle style, CallBatch* batch) {
  const uint64_t mixed = Philox(seed_, {0x1297, key, 0, 0}).Next64();
  batch->Fill(mixed, style);
  if (problem().generator_object.empty()) return std::nullopt;
  auto generator = Program("generator", &generator_);
  if (!generator.ok()) return OurFault(generator.status());
  if (absl::Status status = (*generator)->Generate(mixed, style, batch); !status.ok())
    return OurFault(status);
  return std::nullopt;
}

std::optional<Failure> Session::TakeSample(const CallBatch& batch, const SampleOptions& options,
                                           PairedSample* sample) {
  if (cancelled()) return Failure{kCancelledOutcome, "cancelled"};
  *sample = PairedSample{};
  std::string outputs[2];
  Side order[2] = {Side::kReference, Side::kCandidate};
  if (options.candidate_first) std::swap(order[0], order[1]);
  for (const Side side : order) {
    Invocation* invocation = side == Side::kReference ? &sample->reference : &sample->candidate;
    std::string* got = &outputs[static_cast<size_t>(side)];
    if (auto failure = Invoke(side, batch, /*empty=*/false, invocation, got)) return failure;
  }
  if (!options.judge) return std::nullopt;
  return Judge(batch, options.oracle, outputs[0], outputs[1], sample);
}

std::optional<Failure> Session::Invoke(Side side, const CallBatch& batch, bool empty,
                                       Invocation* invocation, std::string* outputs) {
  const uint64_t begin = RawNowNs();
  auto failure = paired_run_->Invoke(side, batch, empty, invocation, outputs);
  const double seconds = static_cast<double>(RawNowNs() - begin) / 1e9;
  invocations_s_ += seconds;
  if (side == Side::kCandidate) candidate_s_ += seconds;
  const double total_s = problem().problem.limits().total_s();
  const bool limited = candidate_object_ != problem().reference_object;
  if (!failure.has_value() && limited && candidate_s_ > total_s)
    return Failure{v1::TIMEOUT, absl::StrCat("took over ", total_s, " s in all (limits.total_s)")};
  return failure;
}

std::optional<Failure> Session::InvokeEmpty(const CallBatch& batch, Side side,
                                            Invocation* invocation) {
  return Invoke(side, batch, /*empty=*/true, invocation, nullptr);
}

std::optional<Failure> Session::Judge(const CallBatch& batch, bool use_oracle,
                                      const std::string& reference, const std::string& candidate,
                                      PairedSample* sample) {
  const BenchProblem& p = problem();
  const std::string size = SizeText(batch.shape().size);
  if (!batch.GuardsIntact(candidate.data())) {
    sample->first_bad = absl::StrCat(size, ": wrote outside its output arrays");
    return std::nullopt;
  }
  if (!p.checker_object.empty()) {
    auto checker = Program("checker", &checker_);
    if (!checker.ok()) return OurFault(checker.status());
    auto right = (*checker)->Check(batch, candidate);
    if (!right.ok()) return OurFault(right.status());
    for (const bool ok : *right) sample->right_calls += ok ? 1 : 0;
    if (sample->right_calls < batch.calls())
      sample->first_bad = absl::StrCat(size, ": the problem's checker refused the outputs");
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
    for (size_t s = 0; s < batch.words().size(); ++s) {
      const CallWord& word = batch.words()[s];
      if (word.place != WordPlace::kOutput) continue;
      const bool returned = word.arg == kReturnWord;
      const auto a = static_cast<size_t>(word.arg);
      const ElementLayout& element =
          returned ? p.arguments.returned() : p.arguments.specs()[a].element;
      const auto count = static_cast<int64_t>(word.bytes / element.bytes);
      const char* got_data = candidate.data() + batch.offset(call, s);
      const char* want_data = want->data() + batch.offset(call, s);
      const Comparison comparison =
          CompareElements(element, p.problem.compare(), slack, count, got_data, want_data);
      if (comparison.right) continue;
      right = false;
      if (sample->first_bad.empty()) {
        const std::string name = returned ? "the returned value" : p.arguments.specs()[a].name;
        sample->first_bad = absl::StrCat(
            size, ": ", DescribeElement(name, element, comparison, got_data, want_data), " (",
            comparison.bad, " of ", count, " elements wrong)");
      }
    }
    sample->right_calls += right ? 1 : 0;
  }
  return std::nullopt;
}

}  // namespace whetstone
