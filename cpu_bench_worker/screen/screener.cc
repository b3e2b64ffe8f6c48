#include "cpu_bench_worker/screen/screener.h"

#include <sys/socket.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "common/status_macros.h"
#include "cpu_bench_worker/screen/screen_protocol.h"
#include "cpu_bench_worker/screen/screen_report.h"
#include "cpu_bench_worker/verdict/failure.h"

namespace whetstone {
namespace {

using nlohmann::json;

constexpr char kProgramInside[] = "/whetstone/whet-screener";
constexpr std::chrono::seconds kPrepareDeadline{120};
constexpr std::chrono::seconds kAnswerDeadline{2 * kScreenSeconds + 5};
// A screener may live so long; each request has a limit of its own.
constexpr std::chrono::hours kLife{24 * 365};

json ConfigJson(const ScreenConfig& config) {
  return {{"flags", config.flags},         {"header_dir", config.header_dir},
          {"headers", config.headers},     {"allow", config.allow},
          {"function", config.function},   {"type", config.type},
          {"signature", config.signature}, {"threads", config.threads},
          {"structs", config.structs}};
}

}  // namespace

absl::Status Screener::Start() {
  Stop();
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return absl::ResourceExhaustedError("screener: socketpair failed");
  fd_ = UniqueFd(ends[0]);
  const UniqueFd screener_end(ends[1]);
  SandboxSpec spec;
  spec.profile = Profile::kCompile;
  spec.argv = {kProgramInside};
  spec.env = {"LC_ALL=C.UTF-8", "TMPDIR=/tmp"};
  spec.binds = {{program_, kProgramInside}};
  spec.fds = {{screener_end.get(), kScreenerFd}};
  spec.cores = cores_;
  spec.limits.wall = kLife;
  spec.limits.cpu = kLife;
  spec.limits.memory_bytes_max = int64_t{4} << 30;
  spec.limits.file_bytes_max = int64_t{1} << 30;
  absl::StatusOr<std::unique_ptr<SandboxProcess>> process = Sandbox::Start(spec);
  RETURN_IF_ERROR(OurStatus(process.status()));
  process_ = *std::move(process);
  return absl::OkStatus();
}

absl::StatusOr<std::string> Screener::Prepare(const ScreenConfig& config) {
  ASSIGN_OR_RETURN(const std::string answer,
                   Ask(json{{"prepare", ConfigJson(config)}}.dump(), kPrepareDeadline));
  ASSIGN_OR_RETURN(std::string type, ParsePreparedType(answer));
  header_dirs_.insert(config.header_dir);
  return type;
}

absl::StatusOr<ScreenReport> Screener::Screen(const ScreenConfig& config,
                                              const std::string& source) {
  if (header_dirs_.count(config.header_dir) == 0) RETURN_IF_ERROR(Prepare(config).status());
  // Candidates come as whatever bytes the model wrote.
  const json request = {{"kit", ConfigJson(config)}, {"source", source}};
  ASSIGN_OR_RETURN(
      const std::string answer,
      Ask(request.dump(-1, ' ', false, json::error_handler_t::replace), kAnswerDeadline));
  return ParseScreenReport(answer);
}

absl::StatusOr<std::string> Screener::Ask(const std::string& request,
                                          std::chrono::milliseconds deadline) {
  std::string text;
  if (!SendFrame(fd_.get(), request) || !ReceiveFrame(fd_.get(), deadline, &text))
    return absl::UnavailableError("screener: the process ended or did not answer in time");
  return text;
}

void Screener::Stop() {
  process_.reset();
  fd_.reset();
  header_dirs_.clear();
}

}  // namespace whetstone
