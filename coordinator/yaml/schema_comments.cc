#include "coordinator/yaml/schema_comments.h"

#include <google/protobuf/descriptor.pb.h>

#include <map>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"
#include "coordinator/yaml/message_shape.h"

namespace whetstone {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorProto;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptorProto;

// A declaration is named by its file and by its path there, as in SourceCodeInfo.
using Declaration = std::pair<std::string, std::vector<int>>;

std::string OneLine(const std::string& comment) {
  std::vector<absl::string_view> lines;
  for (absl::string_view line : absl::StrSplit(comment, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (!line.empty()) lines.push_back(line);
  }
  return absl::StrJoin(lines, " ");
}

std::map<Declaration, std::string> ReadComments() {
  google::protobuf::FileDescriptorSet files;
  const absl::string_view bytes = SchemaDescriptors();
  CHECK(files.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
  std::map<Declaration, std::string> comments;
  for (const FileDescriptorProto& file : files.file()) {
    for (const auto& location : file.source_code_info().location()) {
      const std::string comment =
          OneLine(location.leading_comments().empty() ? location.trailing_comments()
                                                      : location.leading_comments());
      if (comment.empty()) continue;
      const std::vector<int> path(location.path().begin(), location.path().end());
      comments[Declaration(file.name(), path)] = comment;
    }
  }
  return comments;
}

std::string Commented(const std::string& file, const std::vector<int>& path) {
  static const auto* const comments = new std::map<Declaration, std::string>(ReadComments());
  const auto it = comments->find(Declaration(file, path));
  return it == comments->end() ? "" : it->second;
}

std::vector<int> PathOf(const Descriptor* message) {
  if (message->containing_type() == nullptr) {
    return {FileDescriptorProto::kMessageTypeFieldNumber, message->index()};
  }
  std::vector<int> path = PathOf(message->containing_type());
  path.insert(path.end(), {DescriptorProto::kNestedTypeFieldNumber, message->index()});
  return path;
}

}  // namespace

std::string CommentOf(const FieldDescriptor* field) {
  const Descriptor* message = field->containing_type();
  std::vector<int> path = PathOf(message);
  path.insert(path.end(), {DescriptorProto::kFieldFieldNumber, field->index()});
  const std::string own = Commented(message->file()->name(), path);
  if (!IsMessage(field)) {
    return own.empty() && field->index() > 0 ? CommentOf(message->field(field->index() - 1)) : own;
  }
  const Descriptor* section = field->message_type();
  const std::string of_section = Commented(section->file()->name(), PathOf(section));
  return absl::StrCat(own, own.empty() || of_section.empty() ? "" : " ", of_section);
}

}  // namespace whetstone
