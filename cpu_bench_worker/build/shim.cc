#include "cpu_bench_worker/build/shim.h"

#include <cctype>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "cpu_bench_worker/shared_memory/mailbox.h"

namespace whetstone {
namespace {

constexpr char kPreamble[] = R"cpp(
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>
  namespace whet_shim {
  template <class F>
  struct Parts;
  template <class R, class... A>
  struct Parts<R(A...)> {
    using Returned = R;
    using Tuple = std::tuple<A...>;
    static constexpr std::size_t kCount = sizeof...(A);
  };
  template <class T>
  struct Mutable {
    using type = T;
  };
  template <class T>
  struct Mutable<const T*> {
    using type = T*;
  };
  template <class T>
  struct Const {
    using type = T;
  };
  template <class T>
  struct Const<T*> {
    using type = const T*;
  };
  template <class T>
  T Take(std::uint64_t word) {
    if constexpr (std::is_class_v<T>) {
      return *reinterpret_cast<const T*>(word);
    } else {
      static_assert(sizeof(T) <= sizeof word, "an argument is larger than 8 bytes");
      T value;
      __builtin_memcpy(&value, &word, sizeof value);
      return value;
    }
  }
  template <class R, class... A, std::size_t... I>
  void Call(R (*function)(A...), const std::uint64_t* row, std::index_sequence<I...>) {
    if constexpr (std::is_void_v<R>) {
      function(Take<std::remove_cv_t<A>>(row[I])...);
    } else {
      R returned = function(Take<std::remove_cv_t<A>>(row[I])...);
      __builtin_memcpy(reinterpret_cast<void*>(row[sizeof...(A)]), &returned, sizeof returned);
    }
  }
  template <class R, class... A>
  void Call(R (*function)(A...), const std::uint64_t* row) {
    Call(function, row, std::make_index_sequence<sizeof...(A)>());
  }
  }  // namespace whet_shim
)cpp";

std::string Assertion(const std::string& condition, const std::string& message) {
  return absl::StrCat("static_assert(", condition, ", \"", message, "\");\n");
}

// Asserts that `type`, C++ text, is what `element` says.
std::string IsElement(const std::string& type, const ElementLayout& element) {
  const std::string same =
      element.is_struct() ? absl::StrCat("std::is_same_v<", type, ", ::", element.struct_name, ">")
                          : absl::StrCat("std::is_arithmetic_v<", type, ">");
  return absl::StrCat(same, " && sizeof(", type, ") == ", element.bytes);
}

// Flags such as -fpack-struct would move the fields.
std::string LayoutAssertions(const ElementLayout& element) {
  std::string text;
  for (const FieldLayout& field : element.fields)
    absl::StrAppend(
        &text, Assertion(absl::StrCat("__builtin_offsetof(::", element.struct_name, ", ",
                                      field.name, ") == ", field.offset),
                         absl::StrCat("compile.flags change the layout of ", element.struct_name)));
  return text;
}

// Compares what the problem says with what the signature has.
std::string Assertions(const Arguments& arguments) {
  std::string text = Assertion(absl::StrCat("Signature::kCount == ", arguments.specs().size()),
                               "signature and args differ in the number of arguments");
  for (size_t i = 0; i < arguments.specs().size(); ++i) {
    const ArgumentSpec& spec = arguments.specs()[i];
    if (spec.element.is_struct()) absl::StrAppend(&text, LayoutAssertions(spec.element));
    const std::string type = absl::StrCat("P<", i, ">");
    std::string condition;
    std::string message;
    if (spec.kind == ArgumentKind::kSize) {
      condition = absl::StrCat("std::is_integral_v<", type, ">");
      message = "carries a size, so it must be an integer";
    } else if (spec.kind == ArgumentKind::kScalar) {
      condition = IsElement(type, spec.element);
      message = "is of another type or size than its type says";
    } else {
      const std::string pointee = absl::StrCat("std::remove_pointer_t<", type, ">");
      condition = absl::StrCat(
          "std::is_pointer_v<", type, "> && ",
          IsElement(absl::StrCat("std::remove_const_t<", pointee, ">"), spec.element),
          " && std::is_const_v<", pointee, "> == ", spec.is_output() ? "false" : "true");
      message = spec.is_output() ? "must be a non-const pointer to its element type"
                                 : "must be a const pointer to its element type";
    }
    absl::StrAppend(&text,
                    Assertion(condition, absl::StrCat("argument '", spec.name, "' ", message)));
  }
  absl::StrAppend(&text, Assertion(absl::StrCat("std::is_void_v<Signature::Returned> == ",
                                                arguments.has_return() ? "false" : "true"),
                                   "signature and returns differ"));
  if (!arguments.has_return()) return text;
  const ElementLayout& returned = arguments.returned();
  absl::StrAppend(&text, Assertion(IsElement("Signature::Returned", returned),
                                   "the returned value is of another type or size than its type "
                                   "says"));
  if (returned.is_struct()) absl::StrAppend(&text, LayoutAssertions(returned));
  return text;
}

}  // namespace

absl::StatusOr<std::string> FunctionName(absl::string_view signature) {
  size_t end = signature.find('(');
  if (end == absl::string_view::npos)
    return absl::InvalidArgumentError(
        absl::StrCat("signature: '", signature, "' has no parameter list"));
  while (end > 0 && std::isspace(static_cast<unsigned char>(signature[end - 1])) != 0) --end;
  size_t begin = end;
  while (begin > 0 && (std::isalnum(static_cast<unsigned char>(signature[begin - 1])) != 0 ||
                       signature[begin - 1] == '_'))
    --begin;
  if (begin == end || std::isdigit(static_cast<unsigned char>(signature[begin])) != 0)
    return absl::InvalidArgumentError(
        absl::StrCat("signature: '", signature, "' names no function"));
  return std::string(signature.substr(begin, end - begin));
}

absl::StatusOr<std::string> ShimSource(absl::string_view signature, const Arguments& arguments,
                                       CallRole role) {
  ASSIGN_OR_RETURN(std::string function, FunctionName(signature));
  std::string text = kPreamble;
  absl::StrAppend(
      &text, signature, ";\n", "namespace whet_shim {\n", "using Signature = Parts<decltype(",
      function, ")>;\n",
      "template <std::size_t I>\nusing P = std::tuple_element_t<I, Signature::Tuple>;\n",
      Assertions(arguments));
  std::vector<std::string> types;
  for (size_t i = 0; i < arguments.specs().size(); ++i) {
    const ArgumentSpec& spec = arguments.specs()[i];
    const char* change = role == CallRole::kGenerator ? "Mutable" : "Const";
    types.push_back(absl::StrCat(change, "<P<", i, ">>::type"));
    if (role == CallRole::kChecker && spec.kind == ArgumentKind::kInOut)
      types.push_back(types.back());
  }
  if (role == CallRole::kGenerator) {
    types.push_back("unsigned long long");
    absl::StrAppend(&text, "using Generate = void(", absl::StrJoin(types, ", "), ");\n");
    function = "generate";
  } else if (role == CallRole::kChecker) {
    if (arguments.has_return()) types.push_back("Signature::Returned");
    absl::StrAppend(&text, "using Check = bool(", absl::StrJoin(types, ", "), ");\n");
    function = "check";
  }
  absl::StrAppend(&text, "}  // namespace whet_shim\n");
  if (role == CallRole::kGenerator) absl::StrAppend(&text, "whet_shim::Generate generate;\n");
  if (role == CallRole::kChecker) absl::StrAppend(&text, "whet_shim::Check check;\n");
  absl::StrAppend(&text, "extern \"C\" __attribute__((visibility(\"default\"))) void ",
                  kEntrySymbol, "(const std::uint64_t* row) {\n  whet_shim::Call(&::", function,
                  ", row);\n}\n");
  return text;
}

}  // namespace whetstone
