#include "coordinator/journal/worker_list.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "coordinator/config/default_sockets.h"
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

std::string WorkerAddressText(const v1::WorkerHost& address) {
  if (address.ssh().empty()) return address.socket().empty() ? "this machine" : address.socket();
  if (address.socket() == kDefaultWorkerSocket || address.socket().empty()) return address.ssh();
  return absl::StrCat(address.ssh(), ":", address.socket());
}

}  // namespace whetstone
