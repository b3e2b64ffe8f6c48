// A campaign file is an error, or a campaign that survives being frozen: its YAML reads back to an
// equal one.
#include <google/protobuf/util/message_differencer.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

#include "absl/strings/string_view.h"
#include "common/status_macros.h"
#include "coordinator/config/campaign_parser.h"
#include "coordinator/yaml/yaml_message.h"
#include "coordinator/yaml/yaml_writer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace whetstone;
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<v1::Campaign> campaign = ParseCampaign(text, "fuzz.yaml", "/tmp", {});
  if (!campaign.ok()) {
    CHECK(!campaign.status().message().empty());
    return 0;
  }
  v1::Campaign again;
  YamlMessage merged(&again);
  const absl::Status status = merged.Merge(MessageToYaml(*campaign), "frozen.yaml");
  CHECK(status.ok());
  google::protobuf::util::MessageDifferencer differencer;
  std::string difference;
  differencer.ReportDifferencesToString(&difference);
  const bool equal = differencer.Compare(*campaign, again);
  if (!equal) std::fprintf(stderr, "frozen: %s\n", difference.c_str());
  CHECK(equal);
  return 0;
}
