#include "common/problem/struct_type.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <utility>

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

TEST(StructTypeTest, FindsStructsAtGlobalScope) {
  const auto found = FindStructs(
      "// struct Comment { int a; };\n"
      "struct A;\nstruct A { std::int32_t a; unsigned long b , c ; };\n"
      "namespace n { struct Inner { int a; }; }\nstruct Array { int a[3]; };\n"
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
