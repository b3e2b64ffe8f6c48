#include "common/problem/element_type.h"

namespace whetstone {
namespace {

struct Info {
  v1::ElementType type;
  const char* name;
  size_t bytes;
  bool floating;
  bool is_signed;
  // The first is the one to write.
  std::vector<const char*> cpp;
};

const std::vector<Info>& Infos() {
  static const auto* const kInfos = new std::vector<Info>{
      {v1::F32, "f32", 4, true, true, {"float"}},
      {v1::F64, "f64", 8, true, true, {"double"}},
      {v1::BF16, "bf16", 2, true, true, {"unsigned short"}},
      {v1::I8, "i8", 1, false, true, {"signed char", "char", "int8_t"}},
      {v1::I16, "i16", 2, false, true, {"short", "short int", "int16_t"}},
      {v1::I32, "i32", 4, false, true, {"int", "signed", "signed int", "int32_t"}},
      {v1::I64,
       "i64",
       8,
       false,
       true,
       {"long long", "long", "long int", "long long int", "int64_t", "ptrdiff_t"}},
      {v1::U8, "u8", 1, false, false, {"unsigned char", "uint8_t"}},
      {v1::U16, "u16", 2, false, false, {"unsigned short", "unsigned short int", "uint16_t"}},
      {v1::U32, "u32", 4, false, false, {"unsigned int", "unsigned", "uint32_t"}},
      {v1::U64,
       "u64",
       8,
       false,
       false,
       {"unsigned long long", "unsigned long", "unsigned long int", "unsigned long long int",
        "uint64_t", "size_t"}},
  };
  return *kInfos;
}

// A type that nobody gave is no type at all: no bytes, no name.
const Info& Find(v1::ElementType type) {
  static const auto* const kNone =
      new Info{v1::ELEMENT_TYPE_UNSPECIFIED, "", 0, false, false, {""}};
  for (const Info& info : Infos()) {
    if (info.type == type) return info;
  }
  return *kNone;
}

}  // namespace

size_t ElementBytes(v1::ElementType type) { return Find(type).bytes; }
bool IsFloating(v1::ElementType type) { return Find(type).floating; }
bool IsSigned(v1::ElementType type) { return Find(type).is_signed; }
std::string ElementTypeName(v1::ElementType type) { return Find(type).name; }
std::string CppType(v1::ElementType type) { return Find(type).cpp[0]; }

v1::ElementType ParseElementType(absl::string_view name) {
  for (const Info& info : Infos()) {
    if (name == info.name) return info.type;
  }
  return v1::ELEMENT_TYPE_UNSPECIFIED;
}

const std::vector<std::string>& ElementTypeNames() {
  static const auto* const kNames = [] {
    auto* names = new std::vector<std::string>;
    for (const Info& info : Infos()) names->push_back(info.name);
    return names;
  }();
  return *kNames;
}

v1::ElementType ElementTypeOfCpp(absl::string_view cpp_name) {
  for (const Info& info : Infos()) {
    if (info.type == v1::BF16) continue;
    for (const char* name : info.cpp) {
      if (cpp_name == name) return info.type;
    }
  }
  return v1::ELEMENT_TYPE_UNSPECIFIED;
}

}  // namespace whetstone
