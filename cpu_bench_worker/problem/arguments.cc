#include "cpu_bench_worker/problem/arguments.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/problem/sized_fill.h"
#include "common/status_macros.h"

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
  const int given = fill.parameters_size() + fill.bounds_size();
  const bool any = fill.kind() == v1::Fill::ONE_OF;
  if (any && given == 0) return Bad(name, "fill ONE_OF takes at least one parameter");
  if (!any && given != want)
    return Bad(name, absl::StrCat("fill ", v1::Fill::Kind_Name(fill.kind()), " takes ", want,
                                  " parameters, not ", given));
  if (fill.parameters_size() == 2 && fill.kind() != v1::Fill::NORMAL && !any &&
      fill.parameters(0) > fill.parameters(1))
    return Bad(name, "the fill's lower bound is above its upper bound");
  return absl::OkStatus();
}

// Reads the element that `typed`, an Array or a Scalar, is made of, and its fills.
template <typename Typed>
absl::Status ReadElement(const v1::Problem& problem, const Typed& typed, ArgumentSpec* spec) {
  absl::StatusOr<ElementLayout> element = LayoutIn(problem, typed);
  if (!element.ok()) return Bad(spec->name, element.status().message());
  spec->element = *std::move(element);
  if (spec->kind == ArgumentKind::kOut) return absl::OkStatus();
  if (typed.has_fill()) {
    spec->fills = {typed.fill()};
  } else {
    spec->fills.assign(typed.field_fills().begin(), typed.field_fills().end());
  }
  if (!spec->fills.empty() && spec->fills.size() != spec->element.fields.size())
    return Bad(spec->name, absl::StrCat("has ", spec->fills.size(), " fills for ",
                                        spec->element.fields.size(), " fields"));
  for (const v1::Fill& fill : spec->fills) RETURN_IF_ERROR(CheckFill(spec->name, fill));
  return absl::OkStatus();
}

absl::StatusOr<ArgumentSpec> ParseArgument(const v1::Problem& problem,
                                           const v1::Argument& argument) {
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
      RETURN_IF_ERROR(ReadElement(problem, argument.scalar(), &spec));
      if (spec.fills.empty()) return Bad(spec.name, "a scalar needs a fill");
      return spec;
    case v1::Argument::kArray: {
      const v1::Array& array = argument.array();
      spec.kind = array.direction() == v1::Array::OUT     ? ArgumentKind::kOut
                  : array.direction() == v1::Array::INOUT ? ArgumentKind::kInOut
                                                          : ArgumentKind::kIn;
      for (const std::string& extent : array.shape()) {
        ASSIGN_OR_RETURN(Expression e, Expression::Parse(extent));
        spec.extents.push_back(std::move(e));
      }
      if (spec.extents.empty()) return Bad(spec.name, "an array needs a shape");
      RETURN_IF_ERROR(ReadElement(problem, array, &spec));
      return spec;
    }
    default:
      return Bad(spec.name, "is neither a size, a scalar nor an array");
  }
}

}  // namespace

absl::StatusOr<Arguments> Arguments::Parse(const v1::Problem& problem) {
  Arguments arguments;
  for (const v1::Argument& argument : problem.args()) {
    ASSIGN_OR_RETURN(ArgumentSpec spec, ParseArgument(problem, argument));
    arguments.specs_.push_back(std::move(spec));
  }
  if (problem.has_returns()) {
    absl::StatusOr<ElementLayout> returned = LayoutIn(problem, problem.returns());
    if (!returned.ok())
      return absl::InvalidArgumentError(absl::StrCat("returns: ", returned.status().message()));
    arguments.returned_ = *std::move(returned);
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
           spec.fills.empty();
  });
}

absl::StatusOr<CallShape> Arguments::At(const v1::SizePoint& point) const {
  CallShape shape;
  shape.size.insert(point.values().begin(), point.values().end());
  for (const ArgumentSpec& spec : specs_) {
    ArgumentShape arg;
    for (const v1::Fill& fill : spec.fills) {
      absl::StatusOr<v1::Fill> sized = FillAt(fill, shape.size);
      if (!sized.ok()) return Bad(spec.name, sized.status().message());
      arg.fills.push_back(*std::move(sized));
    }
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
      shape.bytes += arg.count * static_cast<int64_t>(spec.element.bytes);
      if (shape.bytes > kCallBytesMax)
        return Bad(spec.name, absl::StrCat("one call at ", SizeText(shape.size), " needs over ",
                                           kCallBytesMax >> 20, " MiB; use smaller sizes"));
    }
    shape.args.push_back(std::move(arg));
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
