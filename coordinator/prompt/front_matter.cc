#include "coordinator/prompt/front_matter.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/source_place.h"
#include "common/status_macros.h"
#include "coordinator/yaml/yaml_limits.h"
#include "coordinator/yaml/yaml_schema.h"

namespace whetstone {
namespace {

// A prompt file may be hostile, so its size is bounded.
constexpr YamlDialect kDialect = {
    .calls = true, .null_clears = false, .quotes_matter = false, .elements_max = 256};

constexpr char kDefaults[] = R"(
compile: {std: c++20, flags: [-O3, -march=native], allow: [target, pragma, static], threads: 1}
limits: {compile_s: 10, run_s: 5, memory_mb: 512, total_s: 30}
)";

}  // namespace

absl::StatusOr<FrontMatter> FrontMatter::Parse(absl::string_view yaml, absl::string_view name,
                                               int first_line) {
  FrontMatter front;
  front.source_ = std::make_unique<YamlMessage>(front.keys_.get(), kDialect);
  RETURN_IF_ERROR(front.source_->MergeDefaults(kDefaults, "front_matter.cc"));
  RETURN_IF_ERROR(front.source_->Merge(yaml, std::string(name), first_line));
  RETURN_IF_ERROR(CheckLimits(*front.source_));
  return front;
}

nlohmann::ordered_json FrontMatter::Schema() {
  v1::FrontMatter keys;
  YamlMessage defaults(&keys, kDialect);
  CHECK(defaults.Merge(kDefaults, "front_matter.cc").ok());
  return YamlSchema(defaults, "Front matter of a Whetstone problem (prompts/README.md)");
}

absl::Status FrontMatter::Error(const std::string& key, absl::string_view what) const {
  return ErrorAt(source_->Place(key), what);
}

absl::Status FrontMatter::Require(const std::string& key) const {
  if (Given(key)) return absl::OkStatus();
  return Error(key, absl::StrCat("key '", key, "' is missing"));
}

absl::Status FrontMatter::RequireOneOf(const std::string& key, const std::string& value,
                                       const std::vector<std::string>& words) const {
  if (std::find(words.begin(), words.end(), value) != words.end()) return absl::OkStatus();
  return Error(key, NotOneOf(key, value, words));
}

absl::Status FrontMatter::RequireKey(const std::string& section, const std::string& name,
                                     const std::vector<std::string>& known) const {
  if (std::find(known.begin(), known.end(), name) != known.end()) return absl::OkStatus();
  return Error(absl::StrCat(section, ".", name), UnknownKey(section, name, known));
}

absl::Status FrontMatter::AllowOnly(const std::string& section,
                                    const google::protobuf::Message& message,
                                    const std::vector<std::string>& known,
                                    absl::string_view why) const {
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const std::string& name = message.GetDescriptor()->field(i)->name();
    const std::string key = absl::StrCat(section, ".", name);
    if (!Given(key) || std::find(known.begin(), known.end(), name) != known.end()) continue;
    return Error(key, absl::StrCat("'", key, "' has no meaning ", why,
                                   "; keys here: ", absl::StrJoin(known, ", ")));
  }
  return absl::OkStatus();
}

}  // namespace whetstone
