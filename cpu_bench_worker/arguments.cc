#include "cpu_bench_worker/arguments.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "cpu_bench_worker/element.h"

namespace whetstone {
namespace {

absl::Status Bad(const std::string& name, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("args.", name, ": ", what));
}

absl::Status CheckFill(const std::string& name, const v1::Fill& fill) {
  const int want = fill.kind() == v1::Fill::UNIFORM || fill.kind() == v1::Fill::NORMAL ||
                           fill.kind() == v1::Fill::SORTED
                       ? 2
                       : 0;
  if (fill.kind() == v1::Fill::KIND_UNSPECIFIED) return Bad(name, "the fill has no kind");
  if (fill.parameters_size() != want)
    return Bad(name, absl::StrCat("fill ", v1::Fill::Kind_Name(fill.kind()), " takes ", want,
                                  " parameters, not ", fill.parameters_size()));
  if (want == 2 && fill.kind() != v1::Fill::NORMAL && fill.parameters(0) > fill.parameters(1))
    return Bad(name, "the fill's lower bound is above its upper bound");
  return absl::OkStatus();
}

absl::StatusOr<ArgumentSpec> ParseArgument(const v1::Argument& argument) {
  ArgumentSpec spec;
  spec.name = argument.name();
  switch (argument.kind_case()) {
    case v1::Argument::kSize: {
      ASSIGN_OR_RETURN(Expression value, Expression::Parse(argument.size()));
      spec.extents.push_back(std::move(value));
      return spec;
    }
    case v1::Argument::kScalar:
      spec.kind = ArgumentKind::kScalar;
      spec.type = argument.scalar().type();
      if (!argument.scalar().has_fill()) return Bad(spec.name, "a scalar needs a fill");
      spec.fill = argument.scalar().fill();
      break;
    case v1::Argument::kArray: {
      const v1::Array& array = argument.array();
      spec.type = array.type();
      spec.kind = array.direction() == v1::Array::OUT     ? ArgumentKind::kOut
                  : array.direction() == v1::Array::INOUT ? ArgumentKind::kInOut
                                                          : ArgumentKind::kIn;
      for (const std::string& extent : array.shape()) {
        ASSIGN_OR_RETURN(Expression e, Expression::Parse(extent));
        spec.extents.push_back(std::move(e));
      }
      if (spec.extents.empty()) return Bad(spec.name, "an array needs a shape");
      if (array.has_fill() && spec.kind != ArgumentKind::kOut) spec.fill = array.fill();
      break;
    }
    default:
      return Bad(spec.name, "is neither a size, a scalar nor an array");
  }
  if (ElementBytes(spec.type) == 0) return Bad(spec.name, "has no element type");
  if (spec.fill.has_value()) RETURN_IF_ERROR(CheckFill(spec.name, *spec.fill));
  return spec;
}

}  // namespace

absl::StatusOr<Arguments> Arguments::Parse(const v1::Problem& problem) {
  Arguments arguments;
  for (const v1::Argument& argument : problem.args()) {
    ASSIGN_OR_RETURN(ArgumentSpec spec, ParseArgument(argument));
    arguments.specs_.push_back(std::move(spec));
  }
  if (problem.has_returns()) {
    arguments.return_type_ = problem.returns().type();
    if (ElementBytes(arguments.return_type_) == 0)
      return absl::InvalidArgumentError("returns: has no element type");
  }
  const bool any_output =
      arguments.has_return() || std::any_of(arguments.specs_.begin(), arguments.specs_.end(),
                                            [](const auto& spec) { return spec.is_output(); });
  if (!any_output)
    return absl::InvalidArgumentError("args: nothing is an output, so nothing can be checked");
  if (arguments.needs_generator() && problem.generator().empty())
    return absl::InvalidArgumentError(
        "args: an input has no fill and the problem has no generator; add one of the two");
  return arguments;
}

bool Arguments::needs_generator() const {
  return std::any_of(specs_.begin(), specs_.end(), [](const ArgumentSpec& spec) {
    return (spec.kind == ArgumentKind::kIn || spec.kind == ArgumentKind::kInOut) &&
           !spec.fill.has_value();
  });
}

absl::StatusOr<CallShape> Arguments::At(const v1::SizePoint& point) const {
  CallShape shape;
  shape.size.insert(point.values().begin(), point.values().end());
  for (const ArgumentSpec& spec : specs_) {
    ArgumentShape arg;
    if (spec.kind == ArgumentKind::kSize) {
      ASSIGN_OR_RETURN(arg.value, spec.extents[0].Evaluate(shape.size));
    } else if (spec.is_array()) {
      arg.count = 1;
      for (const Expression& extent : spec.extents) {
        ASSIGN_OR_RETURN(const int64_t e, extent.Evaluate(shape.size));
        if (e < 0)
          return Bad(spec.name, absl::StrCat("extent '", extent.text(), "' is ", e, " at ",
                                             SizeText(shape.size)));
        if (e != 0 && arg.count > kCallBytesMax / e)
          arg.count = kCallBytesMax;
        else
          arg.count *= e;
      }
      shape.bytes += arg.count * static_cast<int64_t>(ElementBytes(spec.type));
      if (shape.bytes > kCallBytesMax)
        return Bad(spec.name, absl::StrCat("one call at ", SizeText(shape.size), " needs over ",
                                           kCallBytesMax >> 20, " MiB; use smaller sizes"));
    }
    shape.args.push_back(arg);
  }
  return shape;
}

std::string SizeText(const std::map<std::string, int64_t>& size) {
  std::string text;
  for (const auto& [name, value] : size)
    absl::StrAppend(&text, text.empty() ? "" : ", ", name, "=", value);
  return text;
}

}  // namespace whetstone
