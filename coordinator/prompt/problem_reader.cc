#include "coordinator/prompt/problem_reader.h"

#include <algorithm>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/problem/expression.h"
#include "common/problem/struct_type.h"
#include "common/status_macros.h"
#include "coordinator/prompt/arguments.h"
#include "coordinator/prompt/compile_rules.h"
#include "coordinator/prompt/signature.h"
#include "coordinator/prompt/sizes.h"
#include "coordinator/prompt/types.h"

namespace whetstone {
namespace {

constexpr size_t kIdLengthMax = 64;

absl::Status ReadId(const FrontMatter& front, v1::Problem* problem) {
  RETURN_IF_ERROR(front.Require("id"));
  const std::string& id = front.keys().id();
  const bool valid =
      !id.empty() && id.size() <= kIdLengthMax &&
      absl::ascii_islower(static_cast<unsigned char>(id[0])) &&
      id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
  if (!valid) {
    return front.Error("id",
                       absl::StrCat("id '", id,
                                    "' must be lower-case letters, digits and '_', begin with a "
                                    "letter and have at most ",
                                    kIdLengthMax, " characters"));
  }
  problem->set_id(id);
  return absl::OkStatus();
}

absl::StatusOr<Signature> ReadSignature(const FrontMatter& front, v1::Problem* problem) {
  RETURN_IF_ERROR(front.Require("signature"));
  problem->set_signature(front.keys().signature());
  RETURN_IF_ERROR(ReadTypes(front, problem));
  absl::StatusOr<Signature> signature = ParseSignature(*problem);
  if (!signature.ok()) {
    return front.Error("signature", absl::StrCat("signature \"", problem->signature(), "\", ",
                                                 signature.status().message()));
  }
  RETURN_IF_ERROR(CheckTypesUsed(front, *problem, *signature));
  return signature;
}

// Says whether every output is of an integer type, so that right means equal.
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

absl::Status ReadCompare(const FrontMatter& front, v1::Problem* problem) {
  v1::Compare* compare = problem->mutable_compare();
  if (!front.Given("compare")) {
    const bool exact = OutputsAreIntegers(*problem);
    compare->set_rule(exact ? v1::Compare::EXACT : v1::Compare::SCALED);
    if (!exact) compare->set_rtol(1e-5);
    return absl::OkStatus();
  }
  if (!problem->checker().empty()) {
    return front.Error("compare", "the checker section decides: leave out 'compare'");
  }
  RETURN_IF_ERROR(front.Require("compare.rule"));
  *compare = front.keys().compare();
  if (compare->rule() == v1::Compare::EXACT) {
    return front.AllowOnly("compare", *compare, {"rule"}, "with 'rule: exact'");
  }
  if (compare->rule() == v1::Compare::SCALED) {
    RETURN_IF_ERROR(front.AllowOnly("compare", *compare, {"rule", "rtol"}, "with 'rule: scaled'"));
  }
  return front.Require("compare.rtol");
}

absl::Status ReadCost(const FrontMatter& front, v1::Problem* problem) {
  const v1::Cost& cost = front.keys().cost();
  const bool flops = front.Given("cost.flops");
  const bool bytes = front.Given("cost.bytes");
  if (flops) RETURN_IF_ERROR(CheckExpression(front, "cost.flops", cost.flops()));
  if (bytes) RETURN_IF_ERROR(CheckExpression(front, "cost.bytes", cost.bytes()));
  if (flops || bytes) *problem->mutable_cost() = cost;
  return absl::OkStatus();
}

absl::Status ReadLimits(const FrontMatter& front, v1::Problem* problem) {
  const v1::Limits& limits = *problem->mutable_limits() = front.keys().limits();
  if (limits.run_s() > limits.total_s()) {
    return front.Error(
        "limits.run_s",
        absl::StrCat("'limits.run_s' (", limits.run_s(), ") is above 'limits.total_s' (",
                     limits.total_s(), "), which bounds the whole verdict"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadProblem(const FrontMatter& front, v1::Problem* problem) {
  RETURN_IF_ERROR(ReadId(front, problem));
  problem->set_split(front.keys().split());
  ASSIGN_OR_RETURN(const Signature signature, ReadSignature(front, problem));
  RETURN_IF_ERROR(ReadReturns(front, signature, problem));
  RETURN_IF_ERROR(ReadArguments(front, signature, problem));
  RETURN_IF_ERROR(ReadCompare(front, problem));
  RETURN_IF_ERROR(ReadCost(front, problem));
  RETURN_IF_ERROR(ReadCompileRules(front, problem));
  RETURN_IF_ERROR(ReadLimits(front, problem));
  return ReadSizes(front, problem);
}

}  // namespace whetstone
