// YAML is read into a protobuf message, strictly: the message's descriptor is the schema.
//
//   YamlMessage merged(&campaign);
//   RETURN_IF_ERROR(merged.MergeDefaults(defaults, "defaults.yaml"));
//   RETURN_IF_ERROR(merged.Merge(text, "campaign.yaml"));       // overrides key by key
//   RETURN_IF_ERROR(merged.Set("train.steps=4"));               // as on the command line
//   merged.Where("train.steps");                                // "--set train.steps=4"
//
// Scalars replace, maps merge, lists replace as a whole, and `null` takes a key back out. An
// unknown key, a key given twice or a value of the wrong type is INVALID_ARGUMENT: "FILE:LINE: what
// is wrong", with the nearest key or word where one is misspelt, and the line
// (common/source_place.h). It is not thread-safe.
//
// The schema says what YAML has and protobuf has not:
// - A value of an enum is written in lower case; the one named …_UNSPECIFIED cannot be written.
// - A repeated message with the fields `key` (text) and `value` and no others is a map with keys of
//   the author's own, in the file's order; it replaces as a whole.
// - A message with a field `plain` is a plain value, which goes there, or the map that its other
//   field is.
// - The option `must_be` (proto/whetstone/v1/yaml.proto) words the message about a wrong value.
//   Which values there may be, the other options say: yaml_limits.h, once all sources are read.
#ifndef WHETSTONE_COORDINATOR_YAML_YAML_MESSAGE_H_
#define WHETSTONE_COORDINATOR_YAML_YAML_MESSAGE_H_

#include <google/protobuf/message.h>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/source_place.h"
#include "coordinator/yaml/yaml_source.h"

namespace whetstone {

// A dialect says in what a text's YAML differs from a campaign file's.
struct YamlDialect {
  bool calls = false;         // values as in call_commas.h, and its limit on depth
  bool null_clears = true;    // else `null`, or nothing behind a key, is an error
  bool quotes_matter = true;  // "7" is text, never a number
  size_t elements_max = 0;    // of one map or list; 0: any number
};

// Says "unknown key 'SECTION.NAME'; did you mean 'SECTION.A'? Keys here: A, B".
std::string UnknownKey(const std::string& section, absl::string_view name,
                       const std::vector<std::string>& known);
// Says "'KEY' must be one of A, B, not 'TEXT'; did you mean 'A'?"
std::string NotOneOf(absl::string_view key, absl::string_view text,
                     const std::vector<std::string>& words);

class YamlMessage {
 public:
  // `message` is borrowed for the object's life.
  explicit YamlMessage(google::protobuf::Message* message, const YamlDialect& dialect = {})
      : message_(message), dialect_(dialect) {}

  // Reads what holds where nobody gives a key, like any other source except that its keys count as
  // given by nobody. It comes before every other source.
  absl::Status MergeDefaults(absl::string_view yaml, const std::string& name);
  // Reads a source: `name` stands for the file in messages, and the text begins on its line
  // `first_line`. The text must be one map, or empty.
  absl::Status Merge(absl::string_view yaml, const std::string& name, int first_line = 1);
  // Reads "a.b.c=VALUE", the value in YAML: `train.lora={rank: 0}` and `problems=[a.md, b.md]` work
  // too.
  absl::Status Set(const std::string& assignment);

  const google::protobuf::Message& message() const { return *message_; }
  const YamlDialect& dialect() const { return dialect_; }

  // Says where the key's value came from: "campaign.yaml:7", with that line, or "--set a.b=1". For
  // a key nobody gave, that of the nearest enclosing section; if there is none, the `name` of the
  // last Merge, with its `first_line` where the text is only a part of the file. Keys look like
  // "a.b", and "a[2].b" below an element of a list.
  SourcePlace Place(const std::string& key) const;
  // Returns the name of that place.
  std::string Where(const std::string& key) const { return Place(key).name; }
  // Says whether a source other than the defaults gave this key.
  bool Given(const std::string& key) const { return given_.count(key) > 0; }

 private:
  // A key stands in `sources_[source]`, at this mark of yaml-cpp's.
  struct Position {
    size_t source;
    int line;
    int column;
  };

  absl::Status Read(absl::string_view yaml, const std::string& name, int first_line, bool given);

  google::protobuf::Message* const message_;
  const YamlDialect dialect_;
  std::string whole_;  // the name of the last source as a whole
  std::vector<YamlSource> sources_;
  std::map<std::string, Position> given_;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_YAML_YAML_MESSAGE_H_
