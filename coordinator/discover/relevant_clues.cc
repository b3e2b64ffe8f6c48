#include "coordinator/discover/relevant_clues.h"

#include <cstdint>
#include <limits>
#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/strings/substitute.h"
#include "common/problem/element_type.h"
#include "coordinator/discover/length_program.h"
#include "coordinator/prompt/signature.h"

namespace whetstone {
namespace {

bool IsInt(const Parameter& parameter) {
  return CppIntegerMax(parameter.type) >= std::numeric_limits<int32_t>::max();
}

// Says whether a struct's field may be the first or the last of a range.
bool MayCount(const v1::StructType::Field& field) {
  return !IsFloating(field.type()) && field.extents().empty();
}

}  // namespace

CodeClues RelevantClues(const CodeClues& all, const ImportedFunction& function) {
  std::vector<std::set<std::string>> together(1);  // names that a range may be made of
  for (const Parameter& parameter : function.signature.parameters) {
    if (parameter.pointer && !parameter.is_const) continue;
    if (parameter.pointer && IsInt(parameter)) together[0].insert(parameter.name);
    for (const v1::StructType& type : function.structs.structs()) {
      if (type.name() != parameter.type) continue;
      std::set<std::string>& fields = together.emplace_back();
      for (const v1::StructType::Field& field : type.fields()) {
        if (MayCount(field)) fields.insert(field.name());
      }
    }
  }
  CodeClues clues;
  for (const std::string& array : all.begins) {
    if (together[0].count(array)) clues.begins.insert(array);
  }
  std::set<std::string> taken = clues.begins;
  for (const auto& range : all.ranges) {
    const bool one = absl::c_any_of(together, [&](const std::set<std::string>& names) {
      return names.count(range.first) && names.count(range.second);
    });
    if (!one || taken.count(range.first) || taken.count(range.second)) continue;
    clues.ranges.insert(range);
    taken.insert({range.first, range.second});
  }
  return clues;
}

std::map<std::string, std::string> FillsByClues(const CodeClues& clues,
                                                const ImportedFunction& function,
                                                const std::map<std::string, std::string>& lengths) {
  std::map<std::string, std::string> fills;
  const auto between = [&](const std::string& name, const std::string& what) {
    for (const auto& [first, last] : clues.ranges) {
      if (name == first) fills[what] = absl::StrCat("uniform(0, ", kRangeBegins - 1, ")");
      if (name == last)
        fills[what] = absl::Substitute("uniform($0, $1)", kRangeBegins, kRangeEnds - 1);
    }
  };
  for (const Parameter& parameter : function.signature.parameters) {
    const std::string& name = parameter.name;
    const auto length = lengths.find(name);
    if (parameter.pointer) between(name, name);
    if (clues.begins.count(name) && length != lengths.end()) {
      // One more than there are rows tells where each begins and the last one ends.
      absl::string_view rows = length->second;
      const bool shorter = absl::ConsumeSuffix(&rows, "+1");
      fills[name] = absl::Substitute("sorted(0, $0*($1$2))", kRow, rows, shorter ? "" : "-1");
    }
    for (const v1::StructType& type : function.structs.structs()) {
      if (type.name() != parameter.type) continue;
      for (const v1::StructType::Field& field : type.fields()) {
        if (MayCount(field)) between(field.name(), absl::StrCat(name, ".", field.name()));
      }
    }
  }
  return fills;
}

}  // namespace whetstone
