#include "common/problem/struct_type.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace whetstone {
namespace {

v1::Problem WithStruct(const char* name,
                       std::initializer_list<std::pair<const char*, v1::ElementType>> fields) {
  v1::Problem problem;
  v1::StructType* type = problem.add_structs();
  type->set_name(name);
  for (const auto& [field, element] : fields) {
    type->add_fields()->set_name(field);
    type->mutable_fields()->rbegin()->set_type(element);
  }
  return problem;
}

v1::Problem Bodies() {
  return WithStruct("Body", {{"x", v1::F32}, {"y", v1::F32}, {"id", v1::I32}});
}

// The compiler is the judge.
TEST(StructTypeTest, TheLayoutIsTheCompilers) {
  struct Mixed {
    unsigned char a;
    double b;
    short c;
    float d;
    signed char e;
  };
  const ElementLayout layout = LayoutOf(
      WithStruct("Mixed",
                 {{"a", v1::U8}, {"b", v1::F64}, {"c", v1::I16}, {"d", v1::F32}, {"e", v1::I8}})
          .structs(0));
  EXPECT_EQ(layout.bytes, sizeof(Mixed));
  EXPECT_EQ(layout.alignment, alignof(Mixed));
  const size_t offsets[] = {offsetof(Mixed, a), offsetof(Mixed, b), offsetof(Mixed, c),
                            offsetof(Mixed, d), offsetof(Mixed, e)};
  ASSERT_EQ(layout.fields.size(), 5u);
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(layout.fields[i].offset, offsets[i]) << i;

  const ElementLayout plain = LayoutOf(v1::F64);
  EXPECT_FALSE(plain.is_struct());
  EXPECT_EQ(plain.fields.size(), 1u);
  EXPECT_EQ(plain.bytes, 8u);
}

v1::Problem SymOps() {
  v1::Problem problem =
      WithStruct("SymOp", {{"tag", v1::U8}, {"m", v1::F64}, {"n", v1::I16}, {"name", v1::I8}});
  v1::StructType* type = problem.mutable_structs(0);
  type->mutable_fields(1)->mutable_extents()->Add(2);
  type->mutable_fields(1)->mutable_extents()->Add(3);
  type->mutable_fields(2)->add_extents(3);
  type->mutable_fields(3)->add_extents(5);
  type->mutable_fields(3)->set_is_char(true);
  return problem;
}

TEST(StructTypeTest, AnArraysNumbersAreLaidOutAsTheCompilerDoes) {
  struct SymOp {
    unsigned char tag;
    double m[2][3];
    short n[3];
    char name[5];
  };
  const ElementLayout layout = LayoutOf(SymOps().structs(0));
  EXPECT_EQ(layout.bytes, sizeof(SymOp));
  EXPECT_EQ(layout.alignment, alignof(SymOp));
  ASSERT_EQ(layout.fields.size(), 15u);
  EXPECT_EQ(layout.fields[0].name, "tag");
  EXPECT_EQ(layout.fields[1].name, "m[0][0]");
  EXPECT_EQ(layout.fields[6].name, "m[1][2]");
  EXPECT_EQ(layout.fields[6].offset, offsetof(SymOp, m[1][2]));
  EXPECT_EQ(layout.fields[9].name, "n[2]");
  EXPECT_EQ(layout.fields[9].offset, offsetof(SymOp, n[2]));
  EXPECT_EQ(layout.fields[14].offset, offsetof(SymOp, name[4]));
  EXPECT_EQ(FieldNameOf(layout.fields[6]), "m");
  EXPECT_EQ(FieldNameOf(layout.fields[0]), "tag");
  EXPECT_EQ(FieldTypeName(SymOps().structs(0).fields(1)), "f64[2][3]");
  EXPECT_EQ(FieldTypeName(SymOps().structs(0).fields(3)), "char[5]");
}

TEST(StructTypeTest, WhatIsTooLargeIsRefused) {
  v1::Problem problem = WithStruct("Page", {{"bytes", v1::U8}});
  v1::StructType::Field* field = problem.mutable_structs(0)->mutable_fields(0);
  const auto layout = [&] { return LayoutIn(problem, v1::ELEMENT_TYPE_UNSPECIFIED, "Page"); };
  field->add_extents(4096);
  EXPECT_TRUE(layout().ok());
  field->add_extents(0xFFFFFFFF);
  EXPECT_EQ(layout().status().message(), "struct Page has more than 4096 bytes");
  field->set_extents(1, 0);
  EXPECT_FALSE(layout().ok());
}

TEST(StructTypeTest, WhatIsNoElementIsRefused) {
  const v1::Problem problem = Bodies();
  EXPECT_TRUE(LayoutIn(problem, v1::ELEMENT_TYPE_UNSPECIFIED, "Body").ok());
  EXPECT_EQ(LayoutIn(problem, v1::ELEMENT_TYPE_UNSPECIFIED, "Bodie").status().message(),
            "is a Bodie, but the problem has no such struct");
  EXPECT_FALSE(LayoutIn(problem, v1::ELEMENT_TYPE_UNSPECIFIED, "").ok());
  EXPECT_FALSE(LayoutIn(WithStruct("Empty", {}), v1::F32, "Empty").ok());
}

TEST(StructTypeTest, TheTextDefinesIt) {
  EXPECT_EQ(StructText(Bodies()), "struct Body {\n    float x, y;\n    int id;\n};\n");
  EXPECT_EQ(StructText(v1::Problem()), "");
  const auto found = FindStructs(StructText(Bodies()));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(SameStruct(*found[0].type, Bodies().structs(0)));
}

TEST(StructTypeTest, TheTextDefinesItsArrays) {
  const std::string text = StructText(SymOps());
  EXPECT_EQ(text,
            "struct SymOp {\n    unsigned char tag;\n    double m[2][3];\n    short n[3];\n"
            "    char name[5];\n};\n");
  const auto found = FindStructs(text);
  ASSERT_EQ(found.size(), 1u);
  ASSERT_TRUE(found[0].type.has_value());
  EXPECT_TRUE(SameStruct(*found[0].type, SymOps().structs(0)));
  EXPECT_EQ(StructText(SymOps()), StructText([&] {
              v1::Problem read;
              *read.add_structs() = *found[0].type;
              return read;
            }()));
  for (const char* other : {"m[3][2]", "m[6]", "m"}) {
    const auto changed = FindStructs(absl::StrReplaceAll(text, {{"m[2][3]", other}}));
    EXPECT_FALSE(SameStruct(*changed.at(0).type, SymOps().structs(0))) << other;
  }
}

TEST(StructTypeTest, FindsArraysOfConstantExtents) {
  const auto field = [](const std::string& before, const std::string& members) {
    const auto found = FindStructs(absl::StrCat(before, "struct S { ", members, " };\n"));
    const bool is_one = found.size() == 1 && found[0].type && found[0].type->fields_size() > 0;
    return is_one ? FieldTypeName(*found[0].type->fields().rbegin()) : "none";
  };
  EXPECT_EQ(field("", "float a[4], b[ 5 ] [6];"), "f32[5][6]");
  EXPECT_EQ(field("", "float a[4], c;"), "f32");
  EXPECT_EQ(field("constexpr int N = 4;\n", "char a[2*N+1];"), "char[9]");
  EXPECT_EQ(field("static constexpr std::size_t kA = 3, b;\nconst int kB = 3;  // B\n",
                  "unsigned char a[kB];"),
            "u8[3]");
  EXPECT_EQ(field("const int kA = 3;\nconst int kB = kA * kA;\n", "double r[kB];"), "f64[9]");
  for (const char* members :
       {"int a[0];", "int a[-1];", "int a[];", "int a[x];", "int a[010];", "int a[4", "int a[4]b;",
        "int a[4] = {};", "int* a[4];", "int a[0x10];", "int a[3] : 4;", "int a[99999999999];"}) {
    EXPECT_EQ(field("void f(const int x = 4);\n", members), "none") << members;
  }
}

TEST(StructTypeTest, FindsStructsAtGlobalScope) {
  const auto found = FindStructs(
      "// struct Comment { int a; };\n"
      "struct A;\nstruct A { std::int32_t a; unsigned long b , c ; };\n"
      "namespace n { struct Inner { int a; }; }\nstruct Array { int a[]; };\n"
      "struct Method { int a; int f() { return a; } };\nstruct Nested { struct { int a; } b; };\n"
      "struct B { int a; } variable;\nstruct Empty { };\nconst char* s = \"struct S { int a; "
      "};\";\n"
      "struct Last {\n  float x;\n}\n;");
  std::vector<std::string> names;
  for (const StructDefinition& s : found) names.push_back(s.name);
  EXPECT_EQ(names, (std::vector<std::string>{"A", "Array", "Method", "Nested", "Empty", "Last"}));
  ASSERT_TRUE(found[0].type.has_value());
  EXPECT_EQ(found[0].line, 3);
  EXPECT_EQ(found[0].type->fields(0).type(), v1::I32);
  EXPECT_EQ(found[0].type->fields(2).name(), "c");
  EXPECT_EQ(found[0].type->fields(2).type(), v1::U64);
  for (size_t i = 1; i < 5; ++i) EXPECT_FALSE(found[i].type.has_value()) << found[i].name;
  EXPECT_TRUE(found[5].type.has_value());
}

TEST(StructTypeTest, ARepeatedDefinitionIsTakenOut) {
  const v1::Problem problem = Bodies();
  EXPECT_EQ(
      WithoutStructs("int a;\nstruct Body {\n  float x;\n  float y; int id;\n}; int b;\n", problem),
      "int a;\n             \n          \n                  \n   int b;\n");
  // Another struct stays, and so the compiler says what is wrong.
  for (const char* other :
       {"struct Body { float y, x; int id; };", "struct Body { float x, y; };",
        "struct Body { double x, y; int id; };", "struct Body { float x, y; int id = 1; };",
        "struct alignas(16) Body { float x, y; int id; };", "struct Bodies { float x; };",
        "namespace n { struct Body { float x, y; int id; }; }"}) {
    EXPECT_EQ(WithoutStructs(other, problem), other);
  }
}

TEST(StructTypeTest, UnfinishedTextIsLeftAlone) {
  for (const char* text : {"struct", "struct Body", "struct Body {", "struct Body { float x",
                           "struct Body { float x, y; int id; }", "{ struct Body", "\"struct", "/*",
                           "struct Body { float , y; int id; };"}) {
    EXPECT_EQ(WithoutStructs(text, Bodies()), text);
  }
}

}  // namespace
}  // namespace whetstone
