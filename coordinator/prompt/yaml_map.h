// Strict reading of YAML: every value is asked for by key and type, and what nobody may write is an
// error that names file, line, key and the nearest valid key.
//
//   ASSIGN_OR_RETURN(YamlMap top, YamlMap::Parse(text, "prompts/x.md", /*first_line=*/2));
//   RETURN_IF_ERROR(top.AllowOnly({"id", "sizes"}));
//   ASSIGN_OR_RETURN(std::string id, top.String("id"));
//
// In flow style a comma inside parentheses is part of the value, as in {fill: uniform(-1, 1)}:
// plain YAML would split it there. Not thread-safe.
#ifndef WHETSTONE_COORDINATOR_PROMPT_YAML_MAP_H_
#define WHETSTONE_COORDINATOR_PROMPT_YAML_MAP_H_

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace whetstone {

class YamlMap {
 public:
  // `first_line` is the file's line on which `text` begins. An empty text is an empty map.
  static absl::StatusOr<YamlMap> Parse(absl::string_view text, absl::string_view name,
                                       int first_line);

  // Keys in the file's order.
  const std::vector<std::string>& keys() const { return keys_; }
  bool Has(absl::string_view key) const;
  bool IsMap(absl::string_view key) const;
  bool IsList(absl::string_view key) const;
  absl::Status AllowOnly(const std::vector<std::string>& known) const;

  // Each fails if the key is missing or its value is of another type.
  absl::StatusOr<std::string> String(absl::string_view key) const;
  absl::StatusOr<double> Number(absl::string_view key) const;
  absl::StatusOr<int64_t> Integer(absl::string_view key) const;
  absl::StatusOr<bool> Bool(absl::string_view key) const;
  absl::StatusOr<std::vector<std::string>> Strings(absl::string_view key) const;
  absl::StatusOr<YamlMap> Map(absl::string_view key) const;
  // A list whose elements are maps, or plain integers, which become the map {element_key: integer}.
  absl::StatusOr<std::vector<YamlMap>> Maps(absl::string_view key,
                                            absl::string_view element_key) const;

  // Where this map, or the value of `key` in it, stands in the file.
  int line() const { return line_; }
  int line(absl::string_view key) const;
  // "args.a" for the key "a" of the map at "args"; the empty path is the top.
  std::string Path(absl::string_view key) const;
  // INVALID_ARGUMENT at the line of `key`.
  absl::Status Error(absl::string_view key, absl::string_view what) const;

 private:
  struct Source {
    std::string name;
    int first_line;
  };
  YamlMap(std::shared_ptr<const Source> source, std::string path)
      : source_(std::move(source)), path_(std::move(path)) {}
  static absl::StatusOr<YamlMap> FromNode(std::shared_ptr<const Source> source, std::string path,
                                          const YAML::Node& node);
  // Null if the key is missing.
  const YAML::Node* Find(absl::string_view key) const;
  absl::StatusOr<std::string> Scalar(absl::string_view key, absl::string_view expected) const;
  int LineOf(const YAML::Node& node) const;
  absl::Status ErrorAt(int line, absl::string_view what) const;

  std::shared_ptr<const Source> source_;
  std::string path_;
  int line_ = 0;
  std::vector<std::string> keys_;
  std::vector<YAML::Node> values_;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_PROMPT_YAML_MAP_H_
