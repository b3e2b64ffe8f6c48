#include "coordinator/journal/worker_roster.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "coordinator/config/default_sockets.h"
#include "coordinator/yaml/yaml_message.h"
#include "coordinator/yaml/yaml_writer.h"

namespace whetstone {
absl::StatusOr<v1::Roster> ReadRoster(const RunPaths& paths, const v1::Roster& otherwise) {
  const absl::StatusOr<std::string> text = ReadFile(paths.workers());
  if (absl::IsNotFound(text.status())) return otherwise;
  RETURN_IF_ERROR(text.status());
  v1::Roster roster;
  RETURN_IF_ERROR(YamlMessage(&roster).Merge(*text, paths.workers()));
  return roster;
}

absl::Status WriteRoster(const RunPaths& paths, const v1::Roster& roster) {
  return WriteFileAtomically(
      paths.workers(),
      absl::StrCat(
          "# The workers of this run, in place of the campaign's. Written by whet workers,\n"
          "# read by whet resume. Without ssh: on this machine; without socket, too: the\n"
          "# worker that whet starts itself.\n",
          MessageToYaml(roster)));
}

v1::WorkerHost ParseWorkerAddress(absl::string_view text) {
  v1::WorkerHost place;
  const size_t colon = absl::StartsWith(text, "/") ? 0 : text.find(":/");
  if (colon == absl::string_view::npos) {
    place.set_ssh(std::string(text));
    place.set_socket(kDefaultWorkerSocket);
  } else {
    place.set_ssh(std::string(text.substr(0, colon)));
    place.set_socket(std::string(text.substr(colon == 0 ? 0 : colon + 1)));
  }
  return place;
}

std::string WorkerAddressText(const v1::WorkerHost& place) {
  if (place.ssh().empty()) return place.socket().empty() ? "this machine" : place.socket();
  if (place.socket() == kDefaultWorkerSocket || place.socket().empty()) return place.ssh();
  return absl::StrCat(place.ssh(), ":", place.socket());
}

}  // namespace whetstone
