// What the .proto files say of the keys of YAML files: the comments of campaign.proto, which
// docs/campaign.md is made of too, of front_matter.proto and of problem.proto.
#ifndef WHETSTONE_COORDINATOR_YAML_SCHEMA_COMMENTS_H_
#define WHETSTONE_COORDINATOR_YAML_SCHEMA_COMMENTS_H_

#include <google/protobuf/descriptor.h>

#include <string>

#include "absl/strings/string_view.h"

namespace whetstone {

// Returns these files as a FileDescriptorSet with their source_code_info, as protoc makes it; built
// in, because the descriptors of generated code have no comments.
absl::string_view SchemaDescriptors();

// Returns the comment above a field, or behind it, as one line. One without shares that of the
// field before it, unless it is a section: that has its message's. Empty: there is none.
// Thread-safe.
std::string CommentOf(const google::protobuf::FieldDescriptor* field);

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_YAML_SCHEMA_COMMENTS_H_
