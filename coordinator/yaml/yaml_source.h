// A YamlSource is a text of YAML that keys come from: a file, a part of one, or what stands behind
// KEY= on the command line. It says where in it something stands.
//
//   const YamlSource source("c.yaml", text, /*first_line=*/1, /*calls=*/false);
//   return ErrorAt(source.At(mark.line, mark.column), "…");   // "c.yaml:4: …", with that line
#ifndef WHETSTONE_COORDINATOR_YAML_YAML_SOURCE_H_
#define WHETSTONE_COORDINATOR_YAML_YAML_SOURCE_H_

#include <string>
#include <utility>

#include "common/source_place.h"

namespace whetstone {

class YamlSource {
 public:
  // `text` is what yaml-cpp reads, its calls' commas hidden where `calls` says so (call_commas.h).
  // It begins on line `first_line` of the file `name`; 0: it has no lines, `name` says it all.
  YamlSource(std::string name, std::string text, int first_line, bool calls)
      : name_(std::move(name)), text_(std::move(text)), first_line_(first_line), calls_(calls) {}

  const std::string& text() const { return text_; }

  // Returns the place of a mark of yaml-cpp's, which counts lines and bytes from 0; of no mark (a
  // negative line) that of the whole text, of which no line is shown.
  SourcePlace At(int line, int column) const;

 private:
  std::string name_;
  std::string text_;
  int first_line_;
  bool calls_;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_YAML_YAML_SOURCE_H_
