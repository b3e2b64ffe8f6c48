// The structs and enums of a C++ source, as far as an import hands over their fields.
#ifndef WHETSTONE_COORDINATOR_AUTHORING_SOURCE_TYPES_H_
#define WHETSTONE_COORDINATOR_AUTHORING_SOURCE_TYPES_H_

#include <map>
#include <string>
#include <vector>

namespace whetstone {

struct SourceField {
  std::string type;
  std::string name;
  std::vector<std::string> extents;  // of "double m[3][3]"
};

class SourceTypes {
 public:
  explicit SourceTypes(const std::string& code);

  // Returns the fields of a struct that the source defines; none: there is no such struct, or one
  // that cannot be made by its fields (a base, private fields, references).
  const std::vector<SourceField>& FieldsOf(const std::string& name) const;
  // Returns how many enumerators, from 0 on, an enum has; 0: there is none, or one with other
  // values.
  int EnumeratorsOf(const std::string& name) const;
  // Says whether a problem's arrays may hold that: a number, or a struct of numbers.
  bool IsPlain(const std::string& type) const;

 private:
  void ReadStruct(const std::string& name, const std::string& inside);
  void ReadEnum(const std::string& name, const std::string& inside);

  std::map<std::string, std::vector<SourceField>> structs_;
  std::map<std::string, int> enums_;
  std::vector<std::string> plain_structs_;
};

}  // namespace whetstone

#endif  // WHETSTONE_COORDINATOR_AUTHORING_SOURCE_TYPES_H_
