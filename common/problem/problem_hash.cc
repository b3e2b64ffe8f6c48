#include "common/problem/problem_hash.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "common/sha256.h"

namespace whetstone {

std::string ProblemHash(const v1::Problem& problem) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    problem.SerializeToCodedStream(&coded);
  }  // the coded stream writes its tail when it ends
  return Sha256Hex(bytes);
}

}  // namespace whetstone
