#include "coordinator/authoring/made_again.h"

#include <functional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "coordinator/authoring/given_parameter.h"

namespace whetstone {
namespace {

// A type's kind and what it is made of.
struct Kind {
  enum class Of {
    kNumber,
    kFlag,
    kChoice,
    kComplex,
    kPair,
    kText,
    kVector,
    kArray,
    kStruct,
    kElse
  };
  Of of = Of::kElse;
  std::vector<std::string> parts;  // of a template
  int choices = 0;
};

Kind KindOf(const std::string& given, const SourceTypes& types) {
  absl::string_view type = absl::StripAsciiWhitespace(given);
  absl::ConsumePrefix(&type, "const ");
  if (type == "bool") return {Kind::Of::kFlag, {}, 2};
  if (types.IsPlain(std::string(type))) return {Kind::Of::kNumber, {}, 0};
  if (const int choices = types.EnumeratorsOf(std::string(type)); choices > 0)
    return {Kind::Of::kChoice, {}, choices};
  if (!types.FieldsOf(std::string(type)).empty()) return {Kind::Of::kStruct, {}, 0};
  absl::ConsumePrefix(&type, "std::");
  if (type == "string") return {Kind::Of::kText, {"char"}, 0};
  const struct {
    const char* name;
    Kind::Of of;
    size_t parts;
  } kTemplates[] = {{"vector<", Kind::Of::kVector, 1},
                    {"array<", Kind::Of::kArray, 2},
                    {"pair<", Kind::Of::kPair, 2},
                    {"complex<", Kind::Of::kComplex, 1}};
  for (const auto& [name, of, parts] : kTemplates) {
    absl::string_view inside = type;
    if (!absl::ConsumePrefix(&inside, name) || !absl::ConsumeSuffix(&inside, ">")) continue;
    Kind kind{of, SplitParameters(std::string(inside)), 0};
    if (kind.parts.size() == parts) return kind;
  }
  return {};
}

// Structs that hold vectors of themselves have no end.
constexpr size_t kDeepest = 6;

// A loop around what is made: its counter, and how often it turns.
struct Turn {
  std::string counter;
  std::string count;
};

std::string IndexOf(const std::vector<Turn>& turns) {
  std::string index = turns[0].counter;
  for (size_t i = 1; i < turns.size(); ++i) {
    if (i > 1) index = absl::StrCat("(", index, ")");
    index = absl::StrCat(index, " * ", turns[i].count, " + ", turns[i].counter);
  }
  return index;
}

class Maker {
 public:
  Maker(std::string variable, const SourceTypes& types, CodeText* text)
      : variable_(std::move(variable)), types_(types), text_(text) {}

  MadeAgain made;

  // Makes what `access` names; `size` is how long its vectors are, or empty: each has its own.
  bool Make(const std::string& type, const std::string& access, const std::string& name,
            const std::vector<Turn>& turns, const std::string& size) {
    if (turns.size() > kDeepest) return false;
    const Kind kind = KindOf(type, types_);
    switch (kind.of) {
      case Kind::Of::kNumber:
        Say(absl::StrCat(access, " = ", Number(type, name, turns), ";"));
        return true;
      case Kind::Of::kFlag:
        Say(absl::StrCat(access, " = (", Number("unsigned char", name, turns), " & 1) != 0;"));
        return true;
      case Kind::Of::kChoice:
        Say(absl::StrCat(access, " = static_cast<", absl::StripAsciiWhitespace(type), ">(",
                         Number("unsigned char", name, turns), " % ", kind.choices, ");"));
        return true;
      case Kind::Of::kComplex: {
        const std::string real = Number(kind.parts[0], name + "_re", turns);
        Say(absl::StrCat(access, " = {", real, ", ", Number(kind.parts[0], name + "_im", turns),
                         "};"));
        return true;
      }
      case Kind::Of::kPair:
        return Make(kind.parts[0], access + ".first", name + "_first", turns, size) &&
               Make(kind.parts[1], access + ".second", name + "_second", turns, size);
      case Kind::Of::kText:
      case Kind::Of::kVector:
        return Vector(kind.parts[0], access, name, turns,
                      size.empty() ? Size(name + (turns.empty() ? "_size" : "_length")) : size);
      case Kind::Of::kArray:
        return Array(kind.parts[0], {kind.parts[1]}, access, name, turns, size);
      case Kind::Of::kStruct:
        return Struct(type, access, name, turns);
      case Kind::Of::kElse:
        break;
    }
    return false;
  }

 private:
  void Say(const std::string& statement) {
    absl::StrAppend(&made.code, "\n  ", std::string(2 * depth_, ' '), statement);
  }

  std::string Size(const std::string& name) {
    made.parameters.push_back("size_t " + text_->Fresh(name));
    return made.parameters.back().substr(7);
  }

  // Adds the parameter, and returns the number of this turn.
  std::string Number(const std::string& type, const std::string& name,
                     const std::vector<Turn>& turns) {
    const std::string own = text_->Fresh(name == variable_ ? name + "_given" : name);
    const std::string of(absl::StripAsciiWhitespace(type));
    made.parameters.push_back(turns.empty() ? absl::StrCat(of, " ", own)
                                            : absl::StrCat("const ", of, "* ", own));
    if (turns.empty()) return own;
    std::vector<std::string> counts;
    for (const Turn& turn : turns) counts.push_back(turn.count);
    const std::string extent = absl::StrJoin(counts, "*");
    // What a constant says is for who reads the loops.
    if (!absl::StrContains(extent, "(")) made.extents[own] = extent;
    return absl::StrCat(own, "[", IndexOf(turns), "]");
  }

  // Makes what `make` does of each of `count` turns, by its counter.
  bool Loop(
      const std::string& count, const std::string& name, std::vector<Turn> turns,
      const std::function<bool(const std::string& at, const std::vector<Turn>& turns)>& make) {
    const std::string at = text_->Fresh(name + "_at");
    turns.push_back({at, count});
    Say(absl::StrCat("for (size_t ", at, " = 0; ", at, " < ", count, "; ++", at, ") {"));
    ++depth_;
    const bool known = make(at, turns);
    --depth_;
    Say("}");
    return known;
  }

  bool Vector(const std::string& element, const std::string& access, const std::string& name,
              const std::vector<Turn>& turns, const std::string& size) {
    Say(absl::StrCat(access, ".resize(", size, ");"));
    return Loop(size, name, turns, [&](const std::string& at, const std::vector<Turn>& inner) {
      return Make(element, absl::StrCat(access, "[", at, "]"), name, inner, "");
    });
  }

  // An array of arrays where there are several extents.
  bool Array(const std::string& element, std::vector<std::string> extents,
             const std::string& access, const std::string& name, const std::vector<Turn>& turns,
             const std::string& size) {
    if (extents.empty()) return Make(element, access, name, turns, size);
    const std::string count = absl::StrCat("(", absl::StripAsciiWhitespace(extents[0]), ")");
    extents.erase(extents.begin());
    return Loop(count, name, turns, [&](const std::string& at, const std::vector<Turn>& inner) {
      return Array(element, extents, absl::StrCat(access, "[", at, "]"), name, inner, size);
    });
  }

  // Vectors of one struct are equally long.
  bool Struct(const std::string& type, const std::string& access, const std::string& name,
              const std::vector<Turn>& turns) {
    absl::string_view own = absl::StripAsciiWhitespace(type);
    absl::ConsumePrefix(&own, "const ");
    std::string length;
    for (const SourceField& field : types_.FieldsOf(std::string(own))) {
      const Kind::Of of = KindOf(field.type, types_).of;
      if (length.empty() && of == Kind::Of::kVector) length = Size(name + "_length");
      if (!Array(field.type, field.extents, absl::StrCat(access, ".", field.name),
                 absl::StrCat(name, "_", field.name), turns, of == Kind::Of::kVector ? length : ""))
        return false;
    }
    return true;
  }

  const std::string variable_;
  const SourceTypes& types_;
  CodeText* const text_;
  size_t depth_ = 0;
};

class Writer {
 public:
  Writer(const SourceTypes& types, CodeText* text) : types_(types), text_(text) {}

  WrittenOut out;

  bool Write(const std::string& type, const std::string& value, const std::string& name,
             bool outermost) {
    const Kind kind = KindOf(type, types_);
    const std::string of(absl::StripAsciiWhitespace(type));
    switch (kind.of) {
      case Kind::Of::kNumber:
        return Put(of, name, value);
      case Kind::Of::kFlag:
        return Put("unsigned char", name, absl::StrCat(value, " ? 1 : 0"));
      case Kind::Of::kChoice:
        return Put("unsigned char", name, absl::StrCat("static_cast<unsigned char>(", value, ")"));
      case Kind::Of::kComplex:
        return Put(kind.parts[0], name + "_re", value + ".real()") &&
               Put(kind.parts[0], name + "_im", value + ".imag()");
      case Kind::Of::kPair:
        return Write(kind.parts[0], value + ".first", name + "_first", false) &&
               Write(kind.parts[1], value + ".second", name + "_second", false);
      case Kind::Of::kText:
      case Kind::Of::kVector:
        if (outermost) {
          out.length = value + ".size()";
        } else {
          Put("size_t", name + "_lengths", value + ".size()");
        }
        return Elements(kind.parts[0], value, name);
      case Kind::Of::kArray:
        return Elements(kind.parts[0], value, name);
      case Kind::Of::kStruct:
        for (const SourceField& field : types_.FieldsOf(of)) {
          if (!field.extents.empty() || !Write(field.type, absl::StrCat(value, ".", field.name),
                                               absl::StrCat(name, "_", field.name), false))
            return false;
        }
        return true;
      case Kind::Of::kElse:
        break;
    }
    return false;
  }

 private:
  bool Put(const std::string& type, const std::string& name, const std::string& value) {
    const std::string own = text_->Fresh(name);
    out.parameters.push_back(absl::StrCat(absl::StripAsciiWhitespace(type), "* ", own));
    absl::StrAppend(&out.code, " *", own, "++ = ", value, ";");
    return true;
  }

  bool Elements(const std::string& element, const std::string& value, const std::string& name) {
    if (++depth_ > kDeepest) return false;
    const std::string each = text_->Fresh(name + "_each");
    absl::StrAppend(&out.code, " for (const auto& ", each, " : ", value, ") {");
    const bool known = Write(element, each, name, false);
    absl::StrAppend(&out.code, " }");
    --depth_;
    return known;
  }

  const SourceTypes& types_;
  CodeText* const text_;
  size_t depth_ = 0;
};

}  // namespace

std::optional<MadeAgain> MakeAgain(const std::string& type, const std::string& name,
                                   const SourceTypes& types, CodeText* text) {
  Maker maker(name, types, text);
  if (!maker.Make(type, name, name, {}, "")) return std::nullopt;
  maker.made.code = absl::StrCat("\n  ", type, " ", name, "{};", maker.made.code);
  return std::move(maker.made);
}

std::optional<WrittenOut> WriteOut(const std::string& type, const std::string& value,
                                   const std::string& name, const SourceTypes& types,
                                   CodeText* text) {
  Writer writer(types, text);
  if (!writer.Write(type, value, name, /*outermost=*/true)) return std::nullopt;
  return std::move(writer.out);
}

}  // namespace whetstone
