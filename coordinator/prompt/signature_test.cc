#include "coordinator/prompt/signature.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace whetstone {
namespace {

// Returns type, const, pointer and name of every part: "int f(const float* a; unsigned char n)".
std::string Describe(absl::string_view text) {
  const auto signature = ParseSignature(text);
  if (!signature.ok()) return std::string(signature.status().message());
  std::string result = absl::StrCat(signature->return_type, " ", signature->name);
  for (const Parameter& p : signature->parameters) {
    absl::StrAppend(&result, "|", p.is_const ? "const " : "", p.type, p.pointer ? "*" : "", " ",
                    p.name);
  }
  return result;
}

TEST(SignatureTest, ReadsTypesInEverySpelling) {
  EXPECT_EQ(Describe("void f(const float* a, float *b, int n)"),
            "void f|const float* a|float* b|int n");
  EXPECT_EQ(Describe("float f(float const* a)"), "float f|const float* a");
  EXPECT_EQ(Describe("void f(unsigned* a, unsigned n)"), "void f|unsigned int* a|unsigned int n");
  EXPECT_EQ(Describe("void f(long unsigned int n, long long int m, short int k, signed s)"),
            "void f|unsigned long n|long long m|short k|int s");
  EXPECT_EQ(Describe("std::size_t f(const std::uint8_t* text, size_t n)"),
            "size_t f|const uint8_t* text|size_t n");
  EXPECT_EQ(Describe("void f(signed char* a, char c)"), "void f|signed char* a|char c");
}

TEST(SignatureTest, SaysWhatIsWrong) {
  const struct {
    const char* text;
    const char* message;
  } kCases[] = {
      {"", "column 1: expected a type before the end"},
      {"void f(int n);", "column 14: leave out the trailing ';'"},
      {"void f(int n", "column 13: expected ')' before the end"},
      {"void f", "column 7: expected '(' before the end"},
      {"void f()", "column 1: the function has no parameters"},
      {"void f(int)", "column 11: expected a name, found ')'"},
      {"void f(int n) const", "column 15: unexpected 'const' after ')'"},
      {"void f(float& a)",
       "column 13: unexpected '&': parameters are numbers, structs or single pointers to them"},
      {"void f(float** a)", "column 14: a pointer to a pointer is not supported"},
      {"void f(void* a)", "column 8: 'void' is not a supported type"},
      {"void* f(int n)", "column 1: void* is not supported: name the element's type"},
      {"void f(int a, int a)", "column 15: two parameters are named 'a'"},
      {"void f(int while)", "column 12: expected a name, found 'while'"},
      {"void f(unsigned float a)", "column 8: 'unsigned float' is not a supported type"},
      {"void f(long long long a)", "column 8: 'long long long' is not a supported type"},
      {"void f(matrix a)",
       "column 8: expected a type, found 'matrix': a struct must be in 'types'"},
      {"float* f(int n)", "column 1: the function returns void, a number or a struct"},
  };
  for (const auto& c : kCases) EXPECT_EQ(Describe(c.text), c.message) << c.text;
}

TEST(SignatureTest, StructsAreTypesWhereTheyAreKnown) {
  const std::vector<std::string> structs = {"Body", "Hit"};
  const auto signature = ParseSignature("Hit f(const Body* b, Body one, int n)", structs);
  ASSERT_TRUE(signature.ok()) << signature.status();
  EXPECT_EQ(signature->return_type, "Hit");
  EXPECT_EQ(signature->parameters[0].type, "Body");
  EXPECT_TRUE(signature->parameters[0].pointer);
  EXPECT_FALSE(signature->parameters[1].pointer);
  EXPECT_EQ(ParseSignature("void f(unsigned Body* b)", structs).status().message(),
            "column 8: 'unsigned Body' is not a supported type");
  EXPECT_EQ(ParseSignature("void f(Bodies* b)", structs).status().message(),
            "column 8: expected a type, found 'Bodies': a struct must be in 'types'");
}

TEST(SignatureTest, MatchesElementTypes) {
  EXPECT_TRUE(TypeHolds("float", v1::F32));
  EXPECT_FALSE(TypeHolds("double", v1::F32));
  EXPECT_TRUE(TypeHolds("char", v1::U8));
  EXPECT_TRUE(TypeHolds("char", v1::I8));
  EXPECT_FALSE(TypeHolds("unsigned char", v1::I8));
  EXPECT_TRUE(TypeHolds("unsigned short", v1::BF16));
  EXPECT_FALSE(TypeHolds("short", v1::BF16));
  EXPECT_TRUE(TypeHolds("long", v1::I64));
  EXPECT_FALSE(TypeHolds("long", v1::I32));
}

TEST(SignatureTest, EveryElementTypeRoundTrips) {
  ASSERT_EQ(ElementTypeNames().size(), 11u);
  for (const std::string& name : ElementTypeNames()) {
    const v1::ElementType type = ParseElementType(name);
    EXPECT_EQ(ElementTypeName(type), name);
    const auto signature = ParseSignature(absl::StrCat("void f(", CppType(type), "* a)"));
    ASSERT_TRUE(signature.ok()) << name;
    EXPECT_TRUE(TypeHolds(signature->parameters[0].type, type)) << name;
  }
  EXPECT_EQ(ParseElementType("f16"), v1::ELEMENT_TYPE_UNSPECIFIED);
}

TEST(SignatureTest, KnowsIntegerRanges) {
  EXPECT_EQ(IntegerMin(v1::I8), -128);
  EXPECT_EQ(IntegerMax(v1::I8), 127);
  EXPECT_EQ(IntegerMin(v1::U32), 0);
  EXPECT_EQ(IntegerMax(v1::U32), 4294967295.0);
  EXPECT_EQ(IntegerMin(v1::I64), -9223372036854775808.0);
  EXPECT_EQ(CppIntegerMax("int"), 2147483647);
  EXPECT_EQ(CppIntegerMax("unsigned int"), 4294967295);
  EXPECT_EQ(CppIntegerMax("float"), 0);
}

}  // namespace
}  // namespace whetstone
