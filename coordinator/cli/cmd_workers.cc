#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/live_run.h"
#include "coordinator/journal/worker_list.h"
#include "coordinator/terminal/console.h"
#include "coordinator/terminal/text_table.h"

namespace whetstone {
namespace {

struct WorkersOptions {
  std::string root;
  // `name` is of drain and remove, `address` of add.
  std::string name;
  std::string address;
  bool force = false;
  bool json = false;
};

std::string StateName(const v1::WorkerStatus& worker) {
  return absl::AsciiStrToLower(v1::WorkerStatus::State_Name(worker.state()));
}

std::string HeardText(double seconds) {
  if (seconds < 0) return "never";
  return seconds < 600 ? absl::StrFormat("%.0f s", seconds)
                       : absl::StrFormat("%.0f min", seconds / 60);
}

nlohmann::ordered_json WorkerJson(const v1::WorkerStatus& worker) {
  nlohmann::ordered_json json = {
      {"name", worker.name()},           {"place", WorkerAddressText(worker.address())},
      {"state", StateName(worker)},      {"why", worker.why()},
      {"hostname", worker.hostname()},   {"cpu_model", worker.cpu_model()},
      {"slots", worker.slots()},         {"isolation", worker.isolation()},
      {"in_flight", worker.in_flight()}, {"verdicts", worker.verdicts()},
      {"last_heard_s", nullptr}};
  if (worker.last_heard_s() >= 0) json["last_heard_s"] = worker.last_heard_s();
  return json;
}

std::string Table(const v1::ListWorkersResponse& list) {
  std::vector<std::vector<std::string>> rows = {
      {"NAME", "STATE", "SLOTS", "IN FLIGHT", "VERDICTS", "HEARD", "HOST", "CPU", "ISOLATION", ""}};
  for (const v1::WorkerStatus& w : list.workers()) {
    rows.push_back({w.name(), StateName(w), absl::StrCat(w.slots()), absl::StrCat(w.in_flight()),
                    absl::StrCat(w.verdicts()), HeardText(w.last_heard_s()), w.hostname(),
                    w.cpu_model(), w.isolation(), w.why()});
  }
  return TextTable(std::move(rows));
}

using Stub = v1::Coordinator::Stub;

constexpr char kNothingToAsk[] = "it has no workers";

int ListWorkers(const WorkersOptions& options) {
  Console console(options.json);
  const auto run = LiveRun::Find(options.root, kNothingToAsk);
  if (!run.ok()) return console.Fail(run.status());
  const auto list = (*run)->Call(&Stub::ListWorkers, v1::ListWorkersRequest());
  if (!list.ok()) return console.Fail(list.status());
  console.Line(Table(*list));
  nlohmann::ordered_json workers = nlohmann::ordered_json::array();
  for (const v1::WorkerStatus& worker : list->workers()) workers.push_back(WorkerJson(worker));
  console.Result({{"run_dir", options.root}, {"workers", workers}});
  return kExitOk;
}

// Returns what to say of a worker that something was done to.
std::string WorkerText(const v1::WorkerStatus& worker) {
  std::string text = absl::StrCat(worker.name(), ": ", StateName(worker));
  if (!worker.why().empty()) absl::StrAppend(&text, ", ", worker.why());
  if (worker.state() == v1::WorkerStatus::DRAINING) {
    absl::StrAppend(&text, ", leaves when ", worker.in_flight(), " measurement(s) have ended");
  }
  return text;
}

int Leave(const WorkersOptions& options, bool drain) {
  Console console(options.json);
  const auto run = LiveRun::Find(options.root, kNothingToAsk);
  if (!run.ok()) return console.Fail(run.status());
  v1::LeaveRequest request;
  request.set_name(options.name);
  request.set_force(options.force);
  const auto worker = (*run)->Call(drain ? &Stub::DrainWorker : &Stub::RemoveWorker, request);
  if (!worker.ok()) return console.Fail(worker.status());
  console.Line(WorkerText(*worker));
  console.Result({{"worker", WorkerJson(*worker)}});
  return kExitOk;
}

// One host that cannot be added does not keep the others out.
int AddWorkers(const WorkersOptions& options) {
  Console console(options.json);
  const auto run = LiveRun::Find(options.root, kNothingToAsk);
  if (!run.ok()) return console.Fail(run.status());
  const auto addresses = ParseWorkerAddresses(options.address);
  if (!addresses.ok()) return console.Fail(addresses.status());
  nlohmann::ordered_json added = nlohmann::ordered_json::array();
  std::vector<absl::Status> failures;
  std::string failed;  // their addresses
  for (const v1::WorkerHost& address : *addresses) {
    v1::AddWorkerRequest request;
    *request.mutable_worker() = address;
    const auto worker = (*run)->Call(&Stub::AddWorker, request);
    if (worker.ok()) {
      console.Line(WorkerText(*worker));
      added.push_back(WorkerJson(*worker));
    } else {
      failures.push_back(worker.status());
      absl::StrAppend(&failed, failed.empty() ? "" : ", ", WorkerAddressText(address));
      if (addresses->size() > 1) console.Notice(std::string(worker.status().message()));
    }
  }
  if (!failures.empty()) {
    if (addresses->size() == 1) return console.Fail(failures[0]);
    return console.Fail(absl::Status(failures[0].code(),
                                     absl::StrFormat("%d of %d workers could not be added: %s",
                                                     failures.size(), addresses->size(), failed)));
  }
  console.Result(addresses->size() == 1 ? nlohmann::ordered_json{{"worker", added[0]}}
                                        : nlohmann::ordered_json{{"workers", added}});
  return kExitOk;
}

}  // namespace

void AddWorkers(CLI::App* app, SelectedCommand* selected) {
  const auto options = std::make_shared<WorkersOptions>();
  CLI::App* command = app->add_subcommand(
      "workers",
      "List the workers of a running campaign, send one away or take one in\n\nWhat is changed "
      "stays so after whet resume (RUN/workers.yaml).\nVERDICTS: since this process began. HEARD: "
      "how long ago it last answered.");
  command->add_option("RUN", options->root, "Run directory")->required();
  command->add_flag("--json", options->json, "End with one JSON object on stdout");
  command->require_subcommand(0, 1);
  const auto leave = [&](const char* name, const char* help, bool drain) {
    // Falling through lets --json be given after the command too.
    CLI::App* sub = command->add_subcommand(name, help)->fallthrough();
    sub->add_option("NAME", options->name, "As in the list")->required();
    sub->add_flag("--force", options->force,
                  "Even the last one: the campaign then waits for another one, for "
                  "patience.worker_s");
    sub->callback([=] { selected->run = [=] { return Leave(*options, drain); }; });
  };
  leave("drain", "No new work for it; when what it measures has ended, it leaves", true);
  leave("remove", "It leaves now: what it measures is asked of other workers", false);
  CLI::App* add = command->add_subcommand(
      "add",
      "Take in more workers\n\nOf a campaign with 'cluster': HOST or HOST:/SOCKET, reached as "
      "its hosts are; cpu[01-16] stands\nfor many. Of one on this machine: the /SOCKET of another "
      "whet-worker here.");
  add->fallthrough();
  add->add_option("WORKER", options->address,
                  "Host alias of ssh_config or user@host[:port], or the path of a socket")
      ->required();
  add->callback([=] { selected->run = [=] { return AddWorkers(*options); }; });
  // The callbacks of its commands come first.
  command->callback([=] {
    if (!selected->run) selected->run = [=] { return ListWorkers(*options); };
  });
}

}  // namespace whetstone
