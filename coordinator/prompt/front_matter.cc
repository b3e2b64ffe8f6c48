#include "coordinator/prompt/front_matter.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/nearest.h"
#include "common/problem/expression.h"
#include "common/status_macros.h"
#include "coordinator/prompt/signature.h"
#include "coordinator/prompt/types.h"

namespace whetstone {
namespace {

constexpr size_t kIdLengthMax = 64;
constexpr int kThreadsMax = 64;
constexpr double kSecondsMax = 3600;
constexpr int64_t kMemoryMbMax = 65536;

const std::vector<std::string>& TopKeys() {
  static const auto* const kKeys =
      new std::vector<std::string>{"id",      "types", "signature", "args",   "returns", "sizes",
                                   "compare", "cost",  "compile",   "limits", "split"};
  return *kKeys;
}

bool Contains(const std::vector<std::string>& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

absl::Status ReadId(const YamlMap& top, v1::Problem* problem) {
  ASSIGN_OR_RETURN(const std::string id, top.String("id"));
  const bool valid =
      !id.empty() && id.size() <= kIdLengthMax &&
      absl::ascii_islower(static_cast<unsigned char>(id[0])) &&
      id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
  if (!valid) {
    return top.Error("id", absl::StrCat("id '", id,
                                        "' must be lower-case letters, digits and '_', begin with "
                                        "a letter and have at most ",
                                        kIdLengthMax, " characters"));
  }
  problem->set_id(id);
  return absl::OkStatus();
}

absl::Status ReadSplit(const YamlMap& top, v1::Problem* problem) {
  if (!top.Has("split")) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string split, top.String("split"));
  if (split != "train" && split != "eval") {
    return NotOneOf(top, "split", split, {"train", "eval"});
  }
  problem->set_split(split == "eval" ? v1::Problem::EVAL : v1::Problem::TRAIN);
  return absl::OkStatus();
}

absl::Status CheckExpression(const YamlMap& map, absl::string_view key, absl::string_view text) {
  const absl::StatusOr<Expression> parsed = Expression::Parse(text);
  if (parsed.ok()) return absl::OkStatus();
  return map.Error(key, absl::StrCat("'", map.Path(key), "': ", parsed.status().message()));
}

absl::Status ReadSizeArgument(const YamlMap& map, const Parameter& parameter, v1::Argument* arg) {
  RETURN_IF_ERROR(map.AllowOnly({"size"}));
  ASSIGN_OR_RETURN(const std::string text, map.String("size"));
  RETURN_IF_ERROR(CheckExpression(map, "size", text));
  if (parameter.pointer || CppIntegerMax(parameter.type) == 0) {
    return map.Error("size", absl::StrCat("'", parameter.name,
                                          "' carries a size, so the signature must pass an integer "
                                          "by value, not ",
                                          parameter.type, parameter.pointer ? "*" : ""));
  }
  arg->set_size(text);
  return absl::OkStatus();
}

absl::StatusOr<ElementLayout> ReadType(const YamlMap& map, const v1::Problem& problem,
                                       const Parameter& parameter) {
  return ReadType(map, problem, absl::StrCat("'", parameter.name, "' is"), parameter.type);
}

absl::Status ReadScalarArgument(const YamlMap& map, const v1::Problem& problem,
                                const Parameter& parameter, v1::Argument* arg) {
  RETURN_IF_ERROR(map.AllowOnly({"size", "type", "fill"}));
  ASSIGN_OR_RETURN(const ElementLayout element, ReadType(map, problem, parameter));
  SetElement(element, arg->mutable_scalar());
  ASSIGN_OR_RETURN(const std::vector<v1::Fill> fills, ReadFills(map, element));
  SetFills(element, fills, arg->mutable_scalar());
  return absl::OkStatus();
}

absl::StatusOr<v1::Array::Direction> ReadDirection(const YamlMap& map, const Parameter& parameter) {
  bool out = false;
  bool inout = false;
  if (map.Has("out")) {
    ASSIGN_OR_RETURN(out, map.Bool("out"));
  }
  if (map.Has("inout")) {
    ASSIGN_OR_RETURN(inout, map.Bool("inout"));
  }
  const std::string& name = parameter.name;
  if (out && inout) return map.Error("inout", absl::StrCat("'", name, "' is both out and inout"));
  if (parameter.is_const && (out || inout)) {
    return map.Error(out ? "out" : "inout",
                     absl::StrCat("'", name, "' is an output, but the signature has const ",
                                  parameter.type, "* ", name));
  }
  if (!parameter.is_const && !out && !inout) {
    return map.Error(
        "type", absl::StrCat("'", name, "' is not const in the signature: say 'out: ",
                             "true' or 'inout: true', or make it const ", parameter.type, "*"));
  }
  return out ? v1::Array::OUT : inout ? v1::Array::INOUT : v1::Array::IN;
}

absl::Status ReadArrayArgument(const YamlMap& map, const v1::Problem& problem,
                               const Parameter& parameter, v1::Argument* arg) {
  RETURN_IF_ERROR(map.AllowOnly({"type", "shape", "fill", "out", "inout"}));
  v1::Array* array = arg->mutable_array();
  ASSIGN_OR_RETURN(const ElementLayout element, ReadType(map, problem, parameter));
  SetElement(element, array);
  ASSIGN_OR_RETURN(const std::vector<std::string> shape, map.Strings("shape"));
  if (shape.empty()) return map.Error("shape", absl::StrCat("'", map.Path("shape"), "' is empty"));
  for (const std::string& extent : shape) {
    RETURN_IF_ERROR(CheckExpression(map, "shape", extent));
    array->add_shape(extent);
  }
  ASSIGN_OR_RETURN(const v1::Array::Direction direction, ReadDirection(map, parameter));
  array->set_direction(direction);
  if (direction == v1::Array::OUT) {
    if (!map.Has("fill")) return absl::OkStatus();
    return map.Error("fill", absl::StrCat("'", parameter.name,
                                          "' is an output: it is poisoned, not filled (inout: true "
                                          "for an array changed in place)"));
  }
  if (!map.Has("fill")) {
    if (!problem.generator().empty()) return absl::OkStatus();
    return map.Error("type", absl::StrCat("'", parameter.name,
                                          "' is an input: give it a fill, as in fill: uniform(-1, "
                                          "1), or write a generator section"));
  }
  ASSIGN_OR_RETURN(const std::vector<v1::Fill> fills, ReadFills(map, element));
  SetFills(element, fills, array);
  return absl::OkStatus();
}

absl::Status ReadArguments(const YamlMap& top, const Signature& signature, v1::Problem* problem) {
  ASSIGN_OR_RETURN(const YamlMap args, top.Map("args"));
  std::vector<std::string> names;
  for (const Parameter& parameter : signature.parameters) names.push_back(parameter.name);
  for (const std::string& key : args.keys()) {
    if (Contains(names, key)) continue;
    return args.Error(key, absl::StrCat("'", key,
                                        "' is no parameter of the signature; did you "
                                        "mean '",
                                        Nearest(key, names), "'?"));
  }
  bool has_output = problem->has_returns();
  for (const Parameter& parameter : signature.parameters) {
    if (!args.Has(parameter.name)) {
      return args.Error("", absl::StrCat("parameter '", parameter.name,
                                         "' of the signature has no entry in args"));
    }
    ASSIGN_OR_RETURN(const YamlMap map, args.Map(parameter.name));
    v1::Argument* arg = problem->add_args();
    arg->set_name(parameter.name);
    if (map.Has("size")) {
      RETURN_IF_ERROR(ReadSizeArgument(map, parameter, arg));
    } else if (parameter.pointer) {
      RETURN_IF_ERROR(ReadArrayArgument(map, *problem, parameter, arg));
      has_output |= arg->array().direction() != v1::Array::IN;
    } else {
      RETURN_IF_ERROR(ReadScalarArgument(map, *problem, parameter, arg));
    }
  }
  if (!has_output) {
    return top.Error("args",
                     "the function has no output: mark one argument 'out: true' or "
                     "'inout: true', or return a value");
  }
  return absl::OkStatus();
}

absl::Status ReadReturns(const YamlMap& top, const Signature& signature, v1::Problem* problem) {
  if (signature.return_type == "void") {
    if (!top.Has("returns")) return absl::OkStatus();
    return top.Error("returns", "the signature returns void: leave out 'returns'");
  }
  if (!top.Has("returns")) {
    return top.Error("signature", absl::StrCat("the signature returns ", signature.return_type,
                                               ": add 'returns: {type: …}'"));
  }
  ASSIGN_OR_RETURN(const YamlMap map, top.Map("returns"));
  RETURN_IF_ERROR(map.AllowOnly({"type"}));
  ASSIGN_OR_RETURN(const ElementLayout element,
                   ReadType(map, *problem, "returns", signature.return_type));
  SetElement(element, problem->mutable_returns());
  return absl::OkStatus();
}

// Whether every output is of an integer type, so that right means equal.
bool OutputsAreIntegers(const v1::Problem& problem) {
  const auto is_floating = [&](const auto& typed) {
    const ElementLayout element = LayoutIn(problem, typed).value_or(ElementLayout());
    return std::any_of(element.fields.begin(), element.fields.end(),
                       [](const FieldLayout& field) { return IsFloating(field.type); });
  };
  if (problem.has_returns() && is_floating(problem.returns())) return false;
  return std::none_of(problem.args().begin(), problem.args().end(), [&](const v1::Argument& arg) {
    return arg.has_array() && arg.array().direction() != v1::Array::IN && is_floating(arg.array());
  });
}

absl::StatusOr<double> ReadTolerance(const YamlMap& map, absl::string_view key) {
  ASSIGN_OR_RETURN(const double value, map.Number(key));
  if (value < 0 || value >= 1) {
    return map.Error(
        key, absl::StrCat("'", map.Path(key), "' must be at least 0 and below 1, not ", value));
  }
  return value;
}

absl::Status ReadCompare(const YamlMap& top, v1::Problem* problem) {
  v1::Compare* compare = problem->mutable_compare();
  if (!top.Has("compare")) {
    const bool exact = OutputsAreIntegers(*problem);
    compare->set_rule(exact ? v1::Compare::EXACT : v1::Compare::SCALED);
    if (!exact) compare->set_rtol(1e-5);
    return absl::OkStatus();
  }
  if (!problem->checker().empty()) {
    return top.Error("compare", "the checker section decides: leave out 'compare'");
  }
  ASSIGN_OR_RETURN(const YamlMap map, top.Map("compare"));
  RETURN_IF_ERROR(map.AllowOnly({"rule", "rtol", "atol"}));
  ASSIGN_OR_RETURN(const std::string rule, map.String("rule"));
  if (rule == "exact") {
    compare->set_rule(v1::Compare::EXACT);
    return map.AllowOnly({"rule"});
  }
  if (rule == "scaled") {
    compare->set_rule(v1::Compare::SCALED);
    RETURN_IF_ERROR(map.AllowOnly({"rule", "rtol"}));
  } else if (rule == "elementwise") {
    compare->set_rule(v1::Compare::ELEMENTWISE);
    if (map.Has("atol")) {
      ASSIGN_OR_RETURN(const double atol, ReadTolerance(map, "atol"));
      compare->set_atol(atol);
    }
  } else {
    return NotOneOf(map, "rule", rule, {"exact", "scaled", "elementwise"});
  }
  ASSIGN_OR_RETURN(const double rtol, ReadTolerance(map, "rtol"));
  compare->set_rtol(rtol);
  return absl::OkStatus();
}

absl::Status ReadCost(const YamlMap& top, v1::Problem* problem) {
  if (!top.Has("cost")) return absl::OkStatus();
  ASSIGN_OR_RETURN(const YamlMap map, top.Map("cost"));
  RETURN_IF_ERROR(map.AllowOnly({"flops", "bytes"}));
  for (const std::string& key : map.keys()) {
    ASSIGN_OR_RETURN(const std::string text, map.String(key));
    RETURN_IF_ERROR(CheckExpression(map, key, text));
    if (key == "flops") {
      problem->mutable_cost()->set_flops(text);
    } else {
      problem->mutable_cost()->set_bytes(text);
    }
  }
  return absl::OkStatus();
}

// Flags that tune the code; none that reads files, loads plugins or changes what is written.
bool IsTuningFlag(absl::string_view flag) {
  static constexpr const char* kRefused[] = {
      "-fplugin", "-fsanitize", "-flto", "-fPIC", "-fpic", "-fPIE", "-fpie", "-fdump", "-fprofile"};
  for (const char* prefix : kRefused) {
    if (absl::StartsWith(flag, prefix)) return false;
  }
  if (flag.find_first_of(" \t/") != absl::string_view::npos || flag.size() < 3) return false;
  return absl::StartsWith(flag, "-O") || absl::StartsWith(flag, "-m") ||
         absl::StartsWith(flag, "-f") || absl::StartsWith(flag, "-D") ||
         absl::StartsWith(flag, "-W");
}

bool IsHeaderName(absl::string_view header) {
  if (header.empty() || header.size() > 64 || header[0] == '/') return false;
  if (absl::StrContains(header, "..")) return false;
  return std::all_of(header.begin(), header.end(), [](unsigned char c) {
    return absl::ascii_isalnum(c) || absl::StrContains("_+-./", std::string(1, c));
  });
}

absl::Status ReadCompiler(const YamlMap& map, v1::CompileRules* rules) {
  if (!map.Has("compiler")) return absl::OkStatus();
  const std::vector<std::string> known = {"g++", "clang++"};
  ASSIGN_OR_RETURN(const std::string name, map.String("compiler"));
  if (!Contains(known, name)) return NotOneOf(map, "compiler", name, known);
  rules->set_compiler(name);
  return absl::OkStatus();
}

absl::Status ReadStandard(const YamlMap& map, v1::CompileRules* rules) {
  if (!map.Has("std")) return absl::OkStatus();
  const std::vector<std::string> known = {"c++17", "c++20", "c++23"};
  ASSIGN_OR_RETURN(const std::string name, map.String("std"));
  if (!Contains(known, name)) return NotOneOf(map, "std", name, known);
  rules->set_std(name);
  return absl::OkStatus();
}

absl::Status ReadFlags(const YamlMap& map, v1::CompileRules* rules) {
  if (!map.Has("flags")) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<std::string> flags, map.Strings("flags"));
  rules->clear_flags();
  for (const std::string& flag : flags) {
    if (!IsTuningFlag(flag)) {
      return map.Error("flags", absl::StrCat("flag '", flag, "' is not allowed: only -O…, -m…, ",
                                             "-f…, -D… and -W… that tune the code are"));
    }
    rules->add_flags(flag);
  }
  return absl::OkStatus();
}

absl::Status ReadHeaders(const YamlMap& map, v1::CompileRules* rules) {
  if (!map.Has("headers")) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<std::string> headers, map.Strings("headers"));
  for (const std::string& header : headers) {
    if (!IsHeaderName(header)) {
      return map.Error("headers", absl::StrCat("'", header, "' is not a header's name: write ",
                                               "immintrin.h, not <immintrin.h>"));
    }
    rules->add_headers(header);
  }
  return absl::OkStatus();
}

absl::Status ReadAllow(const YamlMap& map, v1::CompileRules* rules) {
  if (!map.Has("allow")) return absl::OkStatus();
  const std::vector<std::string> known = {"target", "pragma", "static", "asm", "threads"};
  ASSIGN_OR_RETURN(const std::vector<std::string> allow, map.Strings("allow"));
  rules->clear_allow();
  for (const std::string& word : allow) {
    if (!Contains(known, word)) return NotOneOf(map, "allow", word, known);
    rules->add_allow(word);
  }
  return absl::OkStatus();
}

absl::Status ReadThreads(const YamlMap& map, v1::CompileRules* rules) {
  if (!map.Has("threads")) return absl::OkStatus();
  ASSIGN_OR_RETURN(const int64_t threads, map.Integer("threads"));
  if (threads < 1 || threads > kThreadsMax) {
    return map.Error("threads",
                     absl::StrCat("threads must be 1 to ", kThreadsMax, ", not ", threads));
  }
  const bool allowed =
      std::find(rules->allow().begin(), rules->allow().end(), "threads") != rules->allow().end();
  if (threads > 1 && !allowed) {
    return map.Error("threads",
                     absl::StrCat(threads, " threads, but 'threads' is not in compile.allow"));
  }
  rules->set_threads(static_cast<int32_t>(threads));
  return absl::OkStatus();
}

absl::Status ReadCompile(const YamlMap& top, v1::Problem* problem) {
  v1::CompileRules* rules = problem->mutable_compile();
  rules->set_std("c++20");
  rules->set_threads(1);
  for (const char* flag : {"-O3", "-march=native"}) rules->add_flags(flag);
  for (const char* word : {"target", "pragma", "static"}) rules->add_allow(word);
  if (!top.Has("compile")) return absl::OkStatus();
  ASSIGN_OR_RETURN(const YamlMap map, top.Map("compile"));
  RETURN_IF_ERROR(map.AllowOnly({"compiler", "std", "flags", "headers", "allow", "threads"}));
  RETURN_IF_ERROR(ReadCompiler(map, rules));
  RETURN_IF_ERROR(ReadStandard(map, rules));
  RETURN_IF_ERROR(ReadFlags(map, rules));
  RETURN_IF_ERROR(ReadHeaders(map, rules));
  RETURN_IF_ERROR(ReadAllow(map, rules));
  return ReadThreads(map, rules);
}

absl::Status ReadLimits(const YamlMap& top, v1::Problem* problem) {
  v1::Limits* limits = problem->mutable_limits();
  limits->set_compile_s(10);
  limits->set_run_s(5);
  limits->set_memory_mb(512);
  limits->set_total_s(30);
  if (!top.Has("limits")) return absl::OkStatus();
  ASSIGN_OR_RETURN(const YamlMap map, top.Map("limits"));
  RETURN_IF_ERROR(map.AllowOnly({"compile_s", "run_s", "memory_mb", "total_s"}));
  for (const std::string& key : map.keys()) {
    if (key == "memory_mb") {
      ASSIGN_OR_RETURN(const int64_t mb, map.Integer(key));
      if (mb < 1 || mb > kMemoryMbMax) {
        return map.Error(
            key, absl::StrCat("'limits.memory_mb' must be 1 to ", kMemoryMbMax, ", not ", mb));
      }
      limits->set_memory_mb(mb);
      continue;
    }
    ASSIGN_OR_RETURN(const double seconds, map.Number(key));
    if (seconds <= 0 || seconds > kSecondsMax) {
      return map.Error(key, absl::StrCat("'limits.", key, "' must be above 0 and at most ",
                                         kSecondsMax, " s, not ", seconds));
    }
    if (key == "compile_s") limits->set_compile_s(seconds);
    if (key == "run_s") limits->set_run_s(seconds);
    if (key == "total_s") limits->set_total_s(seconds);
  }
  if (limits->run_s() > limits->total_s()) {
    return map.Error(
        "run_s", absl::StrCat("'limits.run_s' (", limits->run_s(), ") is above 'limits.total_s' (",
                              limits->total_s(), "), which bounds the whole verdict"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadFrontMatter(const YamlMap& top, v1::Problem* problem) {
  RETURN_IF_ERROR(top.AllowOnly(TopKeys()));
  RETURN_IF_ERROR(ReadId(top, problem));
  RETURN_IF_ERROR(ReadSplit(top, problem));
  ASSIGN_OR_RETURN(const std::string text, top.String("signature"));
  problem->set_signature(text);
  RETURN_IF_ERROR(ReadTypes(top, problem));
  absl::StatusOr<Signature> signature = ParseSignature(*problem);
  if (!signature.ok()) {
    return top.Error("signature",
                     absl::StrCat("signature \"", text, "\", ", signature.status().message()));
  }
  RETURN_IF_ERROR(CheckTypesUsed(top, *problem, *signature));
  RETURN_IF_ERROR(ReadReturns(top, *signature, problem));
  RETURN_IF_ERROR(ReadArguments(top, *signature, problem));
  RETURN_IF_ERROR(ReadCompare(top, problem));
  RETURN_IF_ERROR(ReadCost(top, problem));
  RETURN_IF_ERROR(ReadCompile(top, problem));
  return ReadLimits(top, problem);
}

}  // namespace whetstone
