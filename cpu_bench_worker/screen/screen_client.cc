#include "cpu_bench_worker/screen/screen_client.h"

#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "common/problem/compile_flags.h"
#include "common/problem/struct_type.h"
#include "common/sha256.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"
#include "cpu_bench_worker/build/shim.h"
#include "cpu_bench_worker/screen/screen_protocol.h"
#include "cpu_bench_worker/screen/screen_report.h"
#include "sandbox/sandbox.h"

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

class Client final : public ScreenClient {
 public:
  Client(std::string program, std::vector<int> cores)
      : program_(std::move(program)), cores_(std::move(cores)) {}
  ~Client() override { Stop(); }

  absl::Status Start() {
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
    if (!process.ok()) return process.status();
    process_ = std::move(*process);
    return absl::OkStatus();
  }

  absl::StatusOr<ScreenConfig> Prepare(const v1::Problem& problem) override {
    ScreenConfig config;
    config.flags = ParserFlags(problem.compile());
    config.headers.assign(problem.compile().headers().begin(), problem.compile().headers().end());
    config.allow.assign(problem.compile().allow().begin(), problem.compile().allow().end());
    config.threads = problem.compile().threads();
    config.signature = problem.signature();
    config.structs = StructText(problem);
    ASSIGN_OR_RETURN(config.function, FunctionName(problem.signature()));
    config.header_dir = absl::StrCat(
        "/work/", Sha256Hex(json(std::tuple(config.flags, config.headers, config.structs)).dump())
                      .substr(0, 16));
    const std::lock_guard<std::mutex> lock(mutex_);
    RETURN_IF_ERROR(PrepareLocked(&config));
    return config;
  }

  ScreenReport Screen(const ScreenConfig& config, const std::string& source) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    ScreenReport report;
    if (source.size() > kScreenMessageBytesMax / 4) {
      report.outcome = v1::FORBIDDEN;
      report.detail = "the program is longer than a megabyte";
      return report;
    }
    if (prepared_.count(config.header_dir) == 0) {  // The screener was started since.
      ScreenConfig again = config;
      report.status = PrepareLocked(&again);
      if (!report.status.ok()) return report;
    }
    // Candidates come as whatever bytes the model wrote.
    const json request = {{"kit", ConfigJson(config)}, {"source", source}};
    const absl::StatusOr<std::string> answer =
        Ask(request.dump(-1, ' ', false, json::error_handler_t::replace), kAnswerDeadline);
    absl::StatusOr<ScreenReport> read = answer.ok() ? ParseScreenReport(*answer) : answer.status();
    if (!read.ok()) {
      // The parent of the parsing child is ours and plain; that it went is the candidate's doing as
      // far as anyone can tell. A second death on an empty program would be ours.
      report.status = Restarted(&report);
      return report;
    }
    return *std::move(read);
  }

 private:
  absl::Status Restarted(ScreenReport* report) {
    prepared_.clear();
    RETURN_IF_ERROR(Start());
    report->outcome = v1::COMPILE_ERROR;
    report->detail = "the program brought the parser down";
    return absl::OkStatus();
  }

  absl::Status PrepareLocked(ScreenConfig* config) {
    const auto prepare = [&]() -> absl::StatusOr<std::string> {
      ASSIGN_OR_RETURN(const std::string answer,
                       Ask(json{{"prepare", ConfigJson(*config)}}.dump(), kPrepareDeadline));
      return ParsePreparedType(answer);
    };
    absl::StatusOr<std::string> type = prepare();
    // Perhaps the last candidate ended the screener, or worse, so a fresh one is asked once more.
    if (!type.ok() && !absl::IsInvalidArgument(type.status())) {
      prepared_.clear();
      RETURN_IF_ERROR(Start());
      type = prepare();
    }
    ASSIGN_OR_RETURN(config->type, std::move(type));
    prepared_.insert(config->header_dir);
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> Ask(const std::string& request, std::chrono::milliseconds deadline) {
    std::string text;
    if (!SendFrame(fd_.get(), request) || !ReceiveFrame(fd_.get(), deadline, &text))
      return absl::UnavailableError("screener: the process ended or did not answer in time");
    return text;
  }

  void Stop() {
    process_.reset();
    fd_.reset();
  }

  const std::string program_;
  const std::vector<int> cores_;
  std::mutex mutex_;
  UniqueFd fd_;
  std::unique_ptr<SandboxProcess> process_;
  std::set<std::string> prepared_;  // The running screener has these header folders.
};

}  // namespace

absl::StatusOr<std::unique_ptr<ScreenClient>> ScreenClient::Create(const std::string& bin_dir,
                                                                   const std::vector<int>& cores) {
  const std::string program = bin_dir + "/whet-screener";
  if (access(program.c_str(), X_OK) != 0)
    return absl::FailedPreconditionError(
        absl::StrCat(program, " is missing; install it beside whet-worker"));
  auto client = std::make_unique<Client>(program, cores);
  RETURN_IF_ERROR(client->Start());
  return client;
}

}  // namespace whetstone
