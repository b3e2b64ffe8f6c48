#include "coordinator/prompt/arguments.h"

#include <algorithm>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/nearest.h"
#include "common/problem/expression.h"
#include "common/problem/struct_type.h"
#include "common/status_macros.h"
#include "coordinator/prompt/types.h"

namespace whetstone {
namespace {

// An Entry is one of `args`.
struct Entry {
  std::string path;  // "args.a"
  const v1::FrontMatter::Argument& keys;
  const Parameter& parameter;

  std::string Key(absl::string_view name) const { return absl::StrCat(path, ".", name); }
};

absl::Status ReadSizeArgument(const FrontMatter& front, const Entry& entry, v1::Argument* arg) {
  RETURN_IF_ERROR(front.AllowOnly(entry.path, entry.keys, {"size"}, "beside 'size'"));
  const std::string& text = entry.keys.size();
  RETURN_IF_ERROR(CheckExpression(front, entry.Key("size"), text));
  const Parameter& parameter = entry.parameter;
  if (parameter.pointer || CppIntegerMax(parameter.type) == 0) {
    return front.Error(entry.Key("size"),
                       absl::StrCat("'", parameter.name,
                                    "' carries a size, so the signature must pass an integer by "
                                    "value, not ",
                                    parameter.type, parameter.pointer ? "*" : ""));
  }
  arg->set_size(text);
  return absl::OkStatus();
}

absl::StatusOr<ElementLayout> ReadElement(const FrontMatter& front, const Entry& entry,
                                          const v1::Problem& problem) {
  return ReadType(front, entry.Key("type"), entry.keys.type(), problem,
                  absl::StrCat("'", entry.parameter.name, "' is"), entry.parameter.type);
}

absl::Status ReadScalarArgument(const FrontMatter& front, const Entry& entry,
                                const v1::Problem& problem, v1::Argument* arg) {
  RETURN_IF_ERROR(front.AllowOnly(entry.path, entry.keys, {"type", "fill"},
                                  "where the signature has no pointer"));
  ASSIGN_OR_RETURN(const ElementLayout element, ReadElement(front, entry, problem));
  SetElement(element, arg->mutable_scalar());
  ASSIGN_OR_RETURN(const std::vector<v1::Fill> fills,
                   ReadFills(front, entry.Key("fill"), entry.keys.fill(), element));
  SetFills(element, fills, arg->mutable_scalar());
  return absl::OkStatus();
}

absl::StatusOr<v1::Array::Direction> ReadDirection(const FrontMatter& front, const Entry& entry) {
  const bool out = entry.keys.out();
  const bool inout = entry.keys.inout();
  const std::string& name = entry.parameter.name;
  const std::string& type = entry.parameter.type;
  if (out && inout) {
    return front.Error(entry.Key("inout"), absl::StrCat("'", name, "' is both out and inout"));
  }
  if (entry.parameter.is_const && (out || inout)) {
    return front.Error(
        entry.Key(out ? "out" : "inout"),
        absl::StrCat("'", name, "' is an output, but the signature has const ", type, "* ", name));
  }
  if (!entry.parameter.is_const && !out && !inout) {
    return front.Error(entry.path,
                       absl::StrCat("'", name, "' is not const in the signature: say 'out: true' ",
                                    "or 'inout: true', or make it const ", type, "*"));
  }
  return out ? v1::Array::OUT : inout ? v1::Array::INOUT : v1::Array::IN;
}

absl::Status ReadArrayArgument(const FrontMatter& front, const Entry& entry,
                               const v1::Problem& problem, v1::Argument* arg) {
  v1::Array* array = arg->mutable_array();
  ASSIGN_OR_RETURN(const ElementLayout element, ReadElement(front, entry, problem));
  SetElement(element, array);
  RETURN_IF_ERROR(front.Require(entry.Key("shape")));
  if (entry.keys.shape().empty()) {
    return front.Error(entry.Key("shape"), absl::StrCat("'", entry.Key("shape"), "' is empty"));
  }
  for (const std::string& extent : entry.keys.shape()) {
    RETURN_IF_ERROR(CheckExpression(front, entry.Key("shape"), extent));
    array->add_shape(extent);
  }
  ASSIGN_OR_RETURN(const v1::Array::Direction direction, ReadDirection(front, entry));
  array->set_direction(direction);
  const bool filled = front.Given(entry.Key("fill"));
  if (direction == v1::Array::OUT) {
    if (!filled) return absl::OkStatus();
    return front.Error(entry.Key("fill"),
                       absl::StrCat("'", entry.parameter.name,
                                    "' is an output: it is poisoned, not filled (inout: true for "
                                    "an array changed in place)"));
  }
  if (!filled) {
    if (!problem.generator().empty()) return absl::OkStatus();
    return front.Error(entry.path,
                       absl::StrCat("'", entry.parameter.name,
                                    "' is an input: give it a fill, as in fill: uniform(-1, 1), or "
                                    "write a generator section"));
  }
  ASSIGN_OR_RETURN(const std::vector<v1::Fill> fills,
                   ReadFills(front, entry.Key("fill"), entry.keys.fill(), element));
  SetFills(element, fills, array);
  return absl::OkStatus();
}

absl::Status CheckArgumentNames(const FrontMatter& front, const Signature& signature) {
  std::vector<std::string> names;
  for (const Parameter& parameter : signature.parameters) names.push_back(parameter.name);
  for (const v1::FrontMatter::NamedArgument& arg : front.keys().args()) {
    if (std::find(names.begin(), names.end(), arg.key()) != names.end()) continue;
    return front.Error(
        absl::StrCat("args.", arg.key()),
        absl::StrCat("'", arg.key(), "' is no parameter of the signature; did you mean '",
                     Nearest(arg.key(), names), "'?"));
  }
  return absl::OkStatus();
}

// Returns the keys of the entry `name`; null if there is none.
const v1::FrontMatter::Argument* FindArgument(const v1::FrontMatter& keys,
                                              const std::string& name) {
  for (const v1::FrontMatter::NamedArgument& arg : keys.args()) {
    if (arg.key() == name) return &arg.value();
  }
  return nullptr;
}

}  // namespace

absl::Status ReadReturns(const FrontMatter& front, const Signature& signature,
                         v1::Problem* problem) {
  if (signature.return_type == "void") {
    if (!front.Given("returns")) return absl::OkStatus();
    return front.Error("returns", "the signature returns void: leave out 'returns'");
  }
  if (!front.Given("returns")) {
    return front.Error("signature", absl::StrCat("the signature returns ", signature.return_type,
                                                 ": add 'returns: {type: …}'"));
  }
  ASSIGN_OR_RETURN(const ElementLayout element,
                   ReadType(front, "returns.type", front.keys().returns().type(), *problem,
                            "returns", signature.return_type));
  SetElement(element, problem->mutable_returns());
  return absl::OkStatus();
}

absl::Status ReadArguments(const FrontMatter& front, const Signature& signature,
                           v1::Problem* problem) {
  RETURN_IF_ERROR(front.Require("args"));
  RETURN_IF_ERROR(CheckArgumentNames(front, signature));
  bool has_output = problem->has_returns();
  for (const Parameter& parameter : signature.parameters) {
    const v1::FrontMatter::Argument* keys = FindArgument(front.keys(), parameter.name);
    if (keys == nullptr) {
      return front.Error("args", absl::StrCat("parameter '", parameter.name,
                                              "' of the signature has no entry in args"));
    }
    const Entry entry = {absl::StrCat("args.", parameter.name), *keys, parameter};
    v1::Argument* arg = problem->add_args();
    arg->set_name(parameter.name);
    if (front.Given(entry.Key("size"))) {
      RETURN_IF_ERROR(ReadSizeArgument(front, entry, arg));
    } else if (parameter.pointer) {
      RETURN_IF_ERROR(ReadArrayArgument(front, entry, *problem, arg));
      has_output |= arg->array().direction() != v1::Array::IN;
    } else {
      RETURN_IF_ERROR(ReadScalarArgument(front, entry, *problem, arg));
    }
  }
  if (has_output) return absl::OkStatus();
  return front.Error("args",
                     "the function has no output: mark one argument 'out: true' or 'inout: true', "
                     "or return a value");
}

absl::Status CheckExpression(const FrontMatter& front, const std::string& key,
                             absl::string_view text) {
  const absl::StatusOr<Expression> parsed = Expression::Parse(text);
  if (parsed.ok()) return absl::OkStatus();
  return front.Error(key, absl::StrCat("'", key, "': ", parsed.status().message()));
}

}  // namespace whetstone
