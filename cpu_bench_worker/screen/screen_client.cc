#include "cpu_bench_worker/screen/screen_client.h"

#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "common/problem/compile_flags.h"
#include "common/problem/struct_type.h"
#include "common/sha256.h"
#include "common/status_macros.h"
#include "cpu_bench_worker/build/shim.h"
#include "cpu_bench_worker/screen/screen_protocol.h"
#include "cpu_bench_worker/screen/screener.h"

namespace whetstone {
namespace {

class Client final : public ScreenClient {
 public:
  Client(std::string program, std::vector<int> cores, int screeners)
      : program_(std::move(program)), cores_(std::move(cores)), not_started_(screeners) {}

  absl::Status Start() {
    ASSIGN_OR_RETURN(std::unique_ptr<Screener> screener, Take());
    Return(std::move(screener));
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
        "/work/",
        Sha256Hex(nlohmann::json(std::tuple(config.flags, config.headers, config.structs)).dump())
            .substr(0, 16));
    ASSIGN_OR_RETURN(std::unique_ptr<Screener> screener, Take());
    const absl::Cleanup give_back = [&] { Return(std::move(screener)); };
    absl::StatusOr<std::string> type = screener->Prepare(config);
    // Perhaps the last candidate ended the screener, or worse, so a fresh one is asked once more.
    if (!type.ok() && !absl::IsInvalidArgument(type.status())) {
      RETURN_IF_ERROR(screener->Start());
      type = screener->Prepare(config);
    }
    ASSIGN_OR_RETURN(config.type, std::move(type));
    return config;
  }

  ScreenReport Screen(const ScreenConfig& config, const std::string& source) override {
    if (source.size() > kScreenMessageBytesMax / 4)
      return {.outcome = v1::FORBIDDEN, .detail = "the program is longer than a megabyte"};
    absl::StatusOr<ScreenReport> report = ScreenOrFail(config, source);
    return report.ok() ? *std::move(report) : ScreenReport{.status = report.status()};
  }

 private:
  // A screener that went is no candidate's fault, unless one that is well again, which precompiled
  // the headers, goes by the same candidate once more.
  absl::StatusOr<ScreenReport> ScreenOrFail(const ScreenConfig& config, const std::string& source) {
    ASSIGN_OR_RETURN(std::unique_ptr<Screener> screener, Take());
    const absl::Cleanup give_back = [&] { Return(std::move(screener)); };
    absl::StatusOr<ScreenReport> report = screener->Screen(config, source);
    if (report.ok()) return report;
    const auto start_afresh = [&]() -> absl::Status {
      RETURN_IF_ERROR(screener->Start());
      return screener->Prepare(config).status();
    };
    RETURN_IF_ERROR(start_afresh());
    report = screener->Screen(config, source);
    if (report.ok()) return report;
    RETURN_IF_ERROR(start_afresh());
    return ScreenReport{.outcome = v1::COMPILE_ERROR,
                        .detail = "the program brought the parser down"};
  }

  // Returns a screener that nobody else uses: an idle one, a new one while there may be more, or
  // what another call gives back.
  absl::StatusOr<std::unique_ptr<Screener>> Take() {
    {
      std::unique_lock lock(mutex_);
      returned_.wait(lock, [this] { return !idle_.empty() || not_started_ > 0; });
      if (!idle_.empty()) {
        std::unique_ptr<Screener> screener = std::move(idle_.back());
        idle_.pop_back();
        return screener;
      }
      --not_started_;
    }
    auto screener = std::make_unique<Screener>(program_, cores_);
    const absl::Status started = screener->Start();
    if (started.ok()) return screener;
    const std::lock_guard lock(mutex_);
    ++not_started_;
    returned_.notify_one();
    return started;
  }

  void Return(std::unique_ptr<Screener> screener) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(screener));
    returned_.notify_one();
  }

  const std::string program_;
  const std::vector<int> cores_;
  std::mutex mutex_;
  std::condition_variable returned_;
  int not_started_;
  std::vector<std::unique_ptr<Screener>> idle_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ScreenClient>> ScreenClient::Create(const std::string& bin_dir,
                                                                   const std::vector<int>& cores,
                                                                   int screeners) {
  const std::string program = bin_dir + "/whet-screener";
  if (access(program.c_str(), X_OK) != 0)
    return absl::FailedPreconditionError(
        absl::StrCat(program, " is missing; install it beside whet-worker"));
  auto client = std::make_unique<Client>(program, cores, screeners);
  RETURN_IF_ERROR(client->Start());
  return client;
}

}  // namespace whetstone
