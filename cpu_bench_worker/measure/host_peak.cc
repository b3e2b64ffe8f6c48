#include "cpu_bench_worker/measure/host_peak.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/problem/element_type.h"
#include "common/problem/expression.h"
#include "common/status_macros.h"
#include "cpu_bench_worker/build/isa.h"
#include "cpu_bench_worker/build/readable_file.h"
#include "cpu_bench_worker/build/shim.h"
#include "cpu_bench_worker/kernel/kernel_process.h"
#include "cpu_bench_worker/problem/call_batch.h"

namespace whetstone {
namespace {

constexpr int kTries = 7;
constexpr int64_t kChains = 12;
constexpr int64_t kRepFloats = 16;  // of each chain, whatever the vectors' width
constexpr int64_t kFlopsPerRep = kChains * kRepFloats * 2;
constexpr int64_t kFlopReps = 200'000;
// One call reads so much, whatever the buffer's size.
constexpr int64_t kBytesTotal = int64_t{64} << 20;
constexpr int64_t kBufferMin = int64_t{8} << 10;
constexpr int64_t kBufferMax = int64_t{64} << 20;

// Vectors are as wide as the processor's: wider ones are taken apart, in memory, and no peak is
// seen.
constexpr char kVector[] = R"cpp(
#if defined(__AVX512F__)
  enum { kBytes = 64 };
#elif defined(__AVX__)
  enum { kBytes = 32 };
#else
  enum { kBytes = 16 };
#endif
  enum { kFloats = kBytes / 4 };
)cpp";

// Twelve independent chains hide the latency of every multiply-add unit known, and leave sixteen
// registers room for what they multiply by.
constexpr char kFlopsSource[] = R"cpp(
  typedef float V __attribute__((vector_size(kBytes)));
  void peak(const float* data, float* out, long n, long reps) {
    V a[12];
    V x = {}, y = {};
    for (int i = 0; i < kFloats; ++i) {
      x[i] = data[i];
      y[i] = 0.5f;
    }
    for (int i = 0; i < 12; ++i) a[i] = x * float(i);
    for (long r = 0; r < reps * (16 / kFloats); ++r) {
#pragma GCC unroll 12
      for (int i = 0; i < 12; ++i) a[i] = a[i] * y + x;
    }
    V sum = {};
    for (int i = 0; i < 12; ++i) sum += a[i];
    for (int i = 0; i < 16; ++i) out[i] = sum[i % kFloats];
  }
)cpp";

constexpr char kBytesSource[] = R"cpp(
  typedef int V __attribute__((vector_size(kBytes), aligned(kBytes), may_alias));
  void peak(const float* data, float* out, long n, long reps) {
    const V* p = reinterpret_cast<const V*>(data);
    const long vectors = n / kFloats;
    V s[8] = {};
    for (long r = 0; r < reps; ++r) {
      for (long i = 0; i + 8 <= vectors; i += 8) {
#pragma GCC unroll 8
        for (int j = 0; j < 8; ++j) s[j] ^= p[i + j];
      }
      __asm__ volatile("" ::: "memory");
    }
    for (int j = 1; j < 8; ++j) s[0] ^= s[j];
    for (int i = 0; i < 16; ++i) out[i] = float(s[0][i % kFloats]);
  }
)cpp";

v1::Problem PeakProblem() {
  v1::Problem problem;
  problem.set_id("host_peak");
  problem.set_signature("void peak(const float* data, float* out, long n, long reps)");
  v1::Argument* data = problem.add_args();
  data->set_name("data");
  data->mutable_array()->set_type(v1::F32);
  data->mutable_array()->add_shape("n");
  data->mutable_array()->mutable_fill()->set_kind(v1::Fill::ZERO);
  v1::Argument* out = problem.add_args();
  out->set_name("out");
  out->mutable_array()->set_type(v1::F32);
  out->mutable_array()->add_shape("16");
  out->mutable_array()->set_direction(v1::Array::OUT);
  for (const char* name : {"n", "reps"}) {
    v1::Argument* arg = problem.add_args();
    arg->set_name(name);
    arg->set_size(name);
  }
  problem.mutable_compile()->set_std("c++20");
  for (const char* flag : {"-O3", "-march=native", "-mprefer-vector-width=512"})
    problem.mutable_compile()->add_flags(flag);
  return problem;
}

absl::StatusOr<double> Evaluate(const std::string& text, const std::map<std::string, int64_t>& at) {
  if (text.empty()) return 0.0;
  ASSIGN_OR_RETURN(const Expression expression, Expression::Parse(text));
  ASSIGN_OR_RETURN(const int64_t value, expression.Evaluate(at));
  return static_cast<double>(value);
}

}  // namespace

double OperationsPerF32(const std::vector<v1::ElementType>& types,
                        const std::vector<std::string>& isa) {
  const auto has = [&](const char* name) {
    return std::find(isa.begin(), isa.end(), name) != isa.end();
  };
  constexpr double kTilesOfBf16 = 16, kTilesOf8Bits = 32, kHalfProducts = 3;
  double most = 1;
  for (const v1::ElementType type : types) {
    most = std::max(most, 4.0 / static_cast<double>(ElementBytes(type)));
    if (has("amx_int8") && ElementBytes(type) == 1) most = std::max(most, kTilesOf8Bits);
    if (has("amx_bf16") && type == v1::BF16) most = std::max(most, kTilesOfBf16);
    if (has("amx_bf16") && type == v1::F32) most = std::max(most, kTilesOfBf16 / kHalfProducts);
  }
  return most;
}

absl::StatusOr<std::unique_ptr<HostPeak>> HostPeak::Create(Compiler* compiler,
                                                           const std::string& kernel_binary,
                                                           const std::string& work_dir) {
  std::unique_ptr<HostPeak> peak(new HostPeak);
  ASSIGN_OR_RETURN(peak->folder_, OwnedFolder::Make(work_dir + "/peak"));
  peak->kernel_binary_ = kernel_binary;
  peak->isa_ = IsaExtensions();
  const v1::Problem problem = PeakProblem();
  ASSIGN_OR_RETURN(const CompileConfig config, compiler->Prepare(problem.compile(), 60));
  ASSIGN_OR_RETURN(const Arguments arguments, Arguments::Parse(problem));
  ASSIGN_OR_RETURN(const std::string shim_source,
                   ShimSource(problem.signature(), arguments, CallRole::kKernel));
  ASSIGN_OR_RETURN(const std::string shim, compiler->CompileShim(config, shim_source));
  for (auto& [bench, source, name] : {std::tuple(&peak->flops_, kFlopsSource, "flops"),
                                      std::tuple(&peak->bytes_, kBytesSource, "bytes")}) {
    bench->problem = problem;
    bench->arguments = arguments;
    CompileResult compiled = compiler->Compile(config, shim, absl::StrCat(kVector, source), "peak");
    RETURN_IF_ERROR(compiled.status);
    if (!compiled.compiled)
      return absl::InternalError(absl::StrCat("host peak kernel: ", compiled.diagnostics));
    bench->reference_object = absl::StrCat(peak->folder_->path(), "/", name, ".so");
    RETURN_IF_ERROR(peak->folder_->Write(absl::StrCat(name, ".so"), compiled.object));
  }
  return peak;
}

absl::StatusOr<double> HostPeak::BestNs(const BenchProblem& problem, const SlotCores& cores,
                                        int64_t n, int64_t reps) {
  v1::SizePoint point;
  (*point.mutable_values())["n"] = n;
  (*point.mutable_values())["reps"] = reps;
  ASSIGN_OR_RETURN(const CallShape shape, problem.arguments.At(point));
  CallBatch batch(&problem.arguments, shape, 1, Placement{});
  ASSIGN_OR_RETURN(SharedRegion inputs,
                   SharedRegion::Make("inputs", batch.input_bytes(),
                                      SharedRegion::Access::kReadOnly, cores.node));
  if (batch.in_place()) batch.PlaceInputs(inputs.data(), 0);
  batch.Fill(1, FillStyle::kPlain);
  if (!batch.in_place()) std::memcpy(inputs.data(), batch.inputs(), batch.input_bytes());
  KernelSpec spec;
  spec.kernel_binary = kernel_binary_;
  spec.object = problem.reference_object;
  spec.words_per_call = batch.words().size();
  spec.inputs = &inputs;
  spec.output_bytes = batch.outputs().size();
  spec.cores = {cores.kernel[0]};
  spec.memory_bytes = int64_t{64} << 20;
  spec.spin = cores.apart;
  ASSIGN_OR_RETURN(const std::unique_ptr<KernelProcess> process, KernelProcess::Start(spec));
  if (process->AwaitReady(kLoadDeadline) != WaitResult::kResponded)
    return absl::InternalError("the host peak kernel could not be loaded");
  process->SetRealtimePriority();
  process->Load(batch, /*input_offset=*/0, /*output_offset=*/0);
  double best = 0;
  for (int i = 0; i < kTries; ++i) {
    double elapsed = 0;
    process->PostRequest(1);
    process->Wake();
    if (process->AwaitResponse(std::chrono::seconds(10), &elapsed) != WaitResult::kResponded)
      return absl::InternalError("the host peak kernel did not answer");
    best = best == 0 ? elapsed : std::min(best, elapsed);
  }
  return best;
}

void HostPeak::MeasureAgain() {
  flops_per_ns_.settled = false;
  for (auto& [size, peak] : bytes_per_ns_) peak.settled = false;
}

absl::StatusOr<double> HostPeak::FlopsPerNs(const SlotCores& cores) {
  if (!flops_per_ns_.settled) {
    ASSIGN_OR_RETURN(const double ns, BestNs(flops_, cores, kRepFloats, kFlopReps));
    const double seen = static_cast<double>(kFlopsPerRep * kFlopReps) / ns;
    flops_per_ns_ = {std::max(flops_per_ns_.per_ns, seen), true};
  }
  return flops_per_ns_.per_ns;
}

absl::StatusOr<double> HostPeak::BytesPerNs(const SlotCores& cores, int64_t working_set_bytes) {
  int64_t size = kBufferMin;
  while (size < kBufferMax && size * 2 <= working_set_bytes) size *= 2;
  Peak& peak = bytes_per_ns_[size];
  if (!peak.settled) {
    ASSIGN_OR_RETURN(const double ns, BestNs(bytes_, cores, size / 4, kBytesTotal / size));
    peak = {std::max(peak.per_ns, static_cast<double>(kBytesTotal) / ns), true};
  }
  return peak.per_ns;
}

absl::StatusOr<double> HostPeak::PhysicalFloorNs(const BenchProblem& problem,
                                                 const CallShape& shape, const SlotCores& cores) {
  ASSIGN_OR_RETURN(const double flops, Evaluate(problem.problem.cost().flops(), shape.size));
  ASSIGN_OR_RETURN(const double bytes, Evaluate(problem.problem.cost().bytes(), shape.size));
  const double threads = std::max(1, problem.problem.compile().threads());
  double floor = 0;
  if (flops > 0) {
    std::vector<v1::ElementType> types;
    for (const ArgumentSpec& spec : problem.arguments.specs())
      if (spec.is_array())
        for (const FieldLayout& field : spec.element.fields) types.push_back(field.type);
    ASSIGN_OR_RETURN(const double peak, FlopsPerNs(cores));
    floor = std::max(floor, flops / (peak * OperationsPerF32(types, isa_) * threads));
  }
  if (bytes > 0) {
    ASSIGN_OR_RETURN(const double peak, BytesPerNs(cores, shape.bytes));
    floor = std::max(floor, bytes / (peak * threads));
  }
  return floor;
}

}  // namespace whetstone
