#include "cpu_bench_worker/kernel/operator_program.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/philox.h"
#include "common/status_macros.h"
#include "cpu_bench_worker/verdict/failure.h"

namespace whetstone {
namespace {

constexpr std::chrono::minutes kLife{10};

size_t WordOf(const std::vector<CallWord>& words, int arg, bool before) {
  for (size_t s = 0; s < words.size(); ++s)
    if (words[s].arg == arg && words[s].before == before) return s;
  return words.size();
}

}  // namespace

absl::StatusOr<std::unique_ptr<OperatorProgram>> OperatorProgram::Start(const BenchContext& context,
                                                                        const std::string& name) {
  std::unique_ptr<OperatorProgram> self(new OperatorProgram(context, name));
  const BenchProblem& problem = *context.problem;
  self->object_ = name == "oracle"      ? problem.oracle_object
                  : name == "generator" ? problem.generator_object
                                        : problem.checker_object;
  if (self->object_.empty())
    return absl::InternalError(absl::StrCat("problem ", problem.problem.id(), " has no ", name));
  return self;
}

absl::Status OperatorProgram::Run(const CallBatch& batch) {
  if (process_ == nullptr || batch.input_bytes() > input_bytes_ ||
      batch.outputs().size() > output_bytes_ || batch.calls() > calls_max_) {
    process_.reset();
    input_bytes_ = std::max(input_bytes_, batch.input_bytes());
    output_bytes_ = std::max(output_bytes_, batch.outputs().size());
    calls_max_ = std::max(calls_max_, batch.calls());
    ASSIGN_OR_RETURN(inputs_,
                     SharedRegion::Make("operator-inputs", input_bytes_,
                                        SharedRegion::Access::kReadOnly, context_.cores.node));
    KernelSpec spec;
    spec.kernel_binary = context_.kernel_binary;
    spec.object = object_;
    spec.words_per_call = batch.words().size();
    spec.calls_max = calls_max_;
    spec.inputs = &inputs_;
    spec.output_bytes = output_bytes_;
    spec.cores = context_.cores.kernel;
    spec.node = context_.cores.node;
    spec.memory_bytes = std::max<int64_t>(context_.problem->problem.limits().memory_mb(), 512)
                        << 20;
    spec.life = kLife;
    spec.spin = false;
    ASSIGN_OR_RETURN(process_, KernelProcess::Start(spec));
    const WaitResult ready = process_->AwaitReady(kLoadDeadline);
    if (ready != WaitResult::kResponded) {
      Failure failure{v1::TIMEOUT, "could not be loaded in time"};
      if (ready == WaitResult::kEnded) {
        ASSIGN_OR_RETURN(const SandboxResult result, process_->End());
        failure = FailureOfEnd(result, "being loaded");
      }
      process_.reset();
      return ProblemStatus(failure.hosts,
                           absl::StrCat("the problem's ", name_, " ", failure.detail));
    }
    process_->SetRealtimePriority();  // The program is trusted, short, and waited for.
  }
  if (batch.input_bytes() > 0) std::memcpy(inputs_.data(), batch.inputs(), batch.input_bytes());
  process_->Load(batch, /*input_offset=*/0, /*output_offset=*/0);
  const std::chrono::duration<double> deadline(5 + 10 * context_.problem->problem.limits().run_s() *
                                                       batch.calls());
  double elapsed_ns = 0;
  process_->PostRequest(batch.calls());
  process_->Wake();
  const WaitResult waited = process_->AwaitResponse(
      std::chrono::duration_cast<std::chrono::nanoseconds>(deadline), &elapsed_ns);
  if (waited == WaitResult::kResponded) return absl::OkStatus();
  const std::string doing = absl::StrCat("computing ", SizeText(batch.shape().size));
  Failure failure{v1::TIMEOUT, absl::StrCat("took over ", deadline.count(), " s while ", doing)};
  if (waited == WaitResult::kEnded) {
    ASSIGN_OR_RETURN(const SandboxResult result, process_->End());
    failure = FailureOfEnd(result, doing);
  }
  process_.reset();
  return ProblemStatus(failure.hosts, absl::StrCat("the problem's ", name_, " ", failure.detail));
}

absl::StatusOr<std::string> OperatorProgram::Compute(const CallBatch& batch) {
  RETURN_IF_ERROR(Run(batch));
  return std::string(process_->outputs(), batch.outputs().size());
}

absl::Status OperatorProgram::Generate(uint64_t key, FillStyle style, CallBatch* batch) {
  CallBatch mine(&context_.problem->arguments, batch->shape(), batch->calls(), Placement{},
                 CallRole::kGenerator);
  Philox seeds(key, {0x6E4, 0, 0, 0});
  const uint64_t style_bit = style == FillStyle::kEdges ? uint64_t{1} << 63 : 0;
  const auto image = [&](int call, size_t s) {
    const bool output = batch->words()[s].place == WordPlace::kOutput;
    return (output ? batch->outputs().data() : batch->inputs()) + batch->offset(call, s);
  };
  for (int call = 0; call < mine.calls(); ++call) {
    for (size_t s = 0; s < mine.words().size(); ++s) {
      const CallWord& word = mine.words()[s];
      if (word.arg == kSeedWord) {
        mine.scalar(call, s) = style_bit | seeds.Next64() >> 1;
      } else if (word.place == WordPlace::kScalar) {
        mine.scalar(call, s) = batch->scalar(call, s);  // The words agree up to the last.
      } else {
        std::memcpy(mine.outputs().data() + mine.offset(call, s), image(call, s), word.bytes);
      }
    }
  }
  RETURN_IF_ERROR(Run(mine));
  for (int call = 0; call < mine.calls(); ++call) {
    for (size_t s = 0; s < mine.words().size(); ++s) {
      const CallWord& word = mine.words()[s];
      if (word.place != WordPlace::kOutput) continue;
      const ArgumentKind kind =
          context_.problem->arguments.specs()[static_cast<size_t>(word.arg)].kind;
      if (kind == ArgumentKind::kOut) continue;  // The array stays poisoned.
      std::memcpy(image(call, s), process_->outputs() + mine.offset(call, s), word.bytes);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<bool>> OperatorProgram::Check(const CallBatch& batch,
                                                         const std::string& got) {
  CallBatch mine(&context_.problem->arguments, batch.shape(), batch.calls(), Placement{},
                 CallRole::kChecker);
  size_t verdict_word = 0;
  for (int call = 0; call < mine.calls(); ++call) {
    for (size_t s = 0; s < mine.words().size(); ++s) {
      const CallWord& word = mine.words()[s];
      if (word.arg == kVerdictWord) {
        verdict_word = s;
        mine.outputs()[mine.offset(call, s)] = 0;
        continue;
      }
      const size_t theirs = WordOf(batch.words(), word.arg, false);
      const CallWord& their_word = batch.words()[theirs];
      const char* source = their_word.place == WordPlace::kInput
                               ? batch.inputs()
                               : (word.before ? batch.outputs().data() : got.data());
      source += batch.offset(call, theirs);
      if (word.arg == kReturnWord && word.place == WordPlace::kScalar) {
        std::memcpy(&mine.scalar(call, s), source, their_word.bytes);
      } else if (word.place == WordPlace::kScalar) {
        mine.scalar(call, s) = batch.scalar(call, theirs);
      } else {
        std::memcpy(mine.inputs() + mine.offset(call, s), source, word.bytes);
      }
    }
  }
  RETURN_IF_ERROR(Run(mine));
  std::vector<bool> right;
  for (int call = 0; call < mine.calls(); ++call)
    right.push_back(process_->outputs()[mine.offset(call, verdict_word)] == 1);
  return right;
}

}  // namespace whetstone
