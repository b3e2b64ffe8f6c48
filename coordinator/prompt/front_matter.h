// FrontMatter is the front matter of a prompt file as its author wrote it: the values of its keys,
// whose schema is v1::FrontMatter, and the line of each. problem_reader.h gives it meaning.
//
//   ASSIGN_OR_RETURN(FrontMatter front, FrontMatter::Parse(yaml, "p.md", /*first_line=*/2));
//   front.keys().id();                                    // "scale"
//   if (…) return front.Error("args.a.shape", "…");       // "p.md:6: …"
//
// In flow style a comma inside parentheses is part of the value: {fill: uniform(-1, 1)}. A key is
// named by its path, as in "limits.run_s" and "sizes.check[1].n". It is not thread-safe.
#ifndef WHETSTONE_COORDINATOR_PROMPT_FRONT_MATTER_H_
#define WHETSTONE_COORDINATOR_PROMPT_FRONT_MATTER_H_

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "coordinator/yaml/yaml_message.h"
#include "whetstone/v1/front_matter.pb.h"

namespace whetstone {

class FrontMatter {
 public:
  // `first_line` is the line of the file `name` on which `yaml` begins. INVALID_ARGUMENT
  // "NAME:LINE: WHAT", with that line (common/source_place.h): not YAML, an unknown key, a value of
  // the wrong type, an unknown word, a number out of bounds.
  static absl::StatusOr<FrontMatter> Parse(absl::string_view yaml, absl::string_view name,
                                           int first_line);

  // Returns the JSON Schema of front matter (yaml_schema.h).
  static nlohmann::ordered_json Schema();

  // Returns the values, the defaults of `compile` and `limits` among them.
  const v1::FrontMatter& keys() const { return *keys_; }
  // Returns whether the author wrote this key.
  bool Given(const std::string& key) const { return source_->Given(key); }
  // Returns the file and line of a key ("p.md:6"); of one that is not given, those of the nearest
  // section around it.
  std::string Where(const std::string& key) const { return source_->Where(key); }

  // Returns INVALID_ARGUMENT "FILE:LINE: WHAT", with the line of `key`.
  absl::Status Error(const std::string& key, absl::string_view what) const;
  // Fails if `key` is not given. Every failure, here and below, is as Error returns it.
  absl::Status Require(const std::string& key) const;
  // Fails if `value`, which `key` has, is none of `words`.
  absl::Status RequireOneOf(const std::string& key, const std::string& value,
                            const std::vector<std::string>& words) const;
  // Fails if `name`, a key of the author's own in `section`, is none of `known`.
  absl::Status RequireKey(const std::string& section, const std::string& name,
                          const std::vector<std::string>& known) const;
  // Fails if `section`, whose value is `message`, has other keys than `known`: they have no meaning
  // `why` ("beside 'size'").
  absl::Status AllowOnly(const std::string& section, const google::protobuf::Message& message,
                         const std::vector<std::string>& known, absl::string_view why) const;

 private:
  FrontMatter() : keys_(std::make_unique<v1::FrontMatter>()) {}

  std::unique_ptr<v1::FrontMatter> keys_;
  std::unique_ptr<YamlMessage> source_;  // borrows keys_
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_PROMPT_FRONT_MATTER_H_
