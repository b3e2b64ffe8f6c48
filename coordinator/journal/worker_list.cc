#include "coordinator/journal/worker_list.h"

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "coordinator/config/campaign_parser.h"
#include "coordinator/config/default_sockets.h"
#include "coordinator/config/host_range.h"
#include "coordinator/yaml/yaml_message.h"
#include "coordinator/yaml/yaml_writer.h"

namespace whetstone {
absl::StatusOr<v1::WorkerList> ReadWorkerList(const RunPaths& paths,
                                              const v1::WorkerList& otherwise) {
  const absl::StatusOr<std::string> text = ReadFile(paths.workers());
  if (absl::IsNotFound(text.status())) return otherwise;
  RETURN_IF_ERROR(text.status());
  v1::WorkerList worker_list;
  RETURN_IF_ERROR(YamlMessage(&worker_list).Merge(*text, paths.workers()));
  return worker_list;
}

absl::Status WriteWorkerList(const RunPaths& paths, const v1::WorkerList& worker_list) {
  return WriteFileAtomically(
      paths.workers(),
      absl::StrCat(
          "# The workers of this run, in place of the campaign's. Written by whet workers,\n"
          "# read by whet resume. Without ssh: on this machine; without socket, too: the\n"
          "# worker that whet starts itself.\n",
          MessageToYaml(worker_list)));
}

absl::StatusOr<v1::ClusterConfig> ReadClusterFile(const std::string& path,
                                                  const v1::ClusterConfig& cluster) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  if (!absl::StrContains(absl::StrCat("\n", text), "\nworkers:")) {  // no key of a campaign
    ASSIGN_OR_RETURN(const v1::Campaign campaign, LoadCampaign(path, {}));
    if (campaign.has_cluster()) return campaign.cluster();
    return absl::InvalidArgumentError(
        absl::StrCat(path, " names no workers: it has neither 'cluster' nor 'workers'"));
  }
  v1::WorkerList worker_list;
  RETURN_IF_ERROR(YamlMessage(&worker_list).Merge(text, path));
  v1::ClusterConfig read = cluster;
  read.clear_workers();
  int hosts = 0;
  for (const v1::WorkerHost& worker : worker_list.workers()) {
    ASSIGN_OR_RETURN(const std::vector<std::string> names, ExpandHostRange(worker.ssh()));
    for (const std::string& name : names) {
      v1::WorkerHost* const added = read.add_workers();
      *added = worker;
      added->set_ssh(name);
      hosts += name.empty() ? 0 : 1;
    }
  }
  if (read.workers().empty() || (hosts > 0 && hosts < read.workers_size())) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " must name hosts (ssh) or sockets of this machine, not ",
                     hosts > 0 ? "both" : "none"));
  }
  return read;
}

v1::WorkerHost ParseWorkerAddress(absl::string_view text) {
  v1::WorkerHost address;
  const size_t colon = absl::StartsWith(text, "/") ? 0 : text.find(":/");
  if (colon == absl::string_view::npos) {
    address.set_ssh(std::string(text));
    address.set_socket(kDefaultWorkerSocket);
  } else {
    address.set_ssh(std::string(text.substr(0, colon)));
    address.set_socket(std::string(text.substr(colon == 0 ? 0 : colon + 1)));
  }
  return address;
}

absl::StatusOr<std::vector<v1::WorkerHost>> ParseWorkerAddresses(absl::string_view text) {
  const v1::WorkerHost address = ParseWorkerAddress(text);
  ASSIGN_OR_RETURN(const std::vector<std::string> hosts, ExpandHostRange(address.ssh()));
  std::vector<v1::WorkerHost> addresses(hosts.size(), address);
  for (size_t i = 0; i < hosts.size(); ++i) addresses[i].set_ssh(hosts[i]);
  return addresses;
}

std::string WorkerAddressText(const v1::WorkerHost& address) {
  if (address.ssh().empty()) return address.socket().empty() ? "this machine" : address.socket();
  if (address.socket() == kDefaultWorkerSocket || address.socket().empty()) return address.ssh();
  return absl::StrCat(address.ssh(), ":", address.socket());
}

}  // namespace whetstone
