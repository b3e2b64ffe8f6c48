#include "cpu_bench_worker/build/header_names.h"

#include <gtest/gtest.h>

namespace whetstone {
namespace {

// Returns whether programs that say `word` use a header of this text.
bool Brings(const char* allowed, const char* word) { return HeaderNames("", allowed).UsedBy(word); }

// Returns whether a program is seen to use the one name of a header.
bool SaysIt(const char* program) { return HeaderNames("", "int it;\n").UsedBy(program); }

TEST(HeaderNamesTest, MacrosBringTheirNamesOnly) {
  constexpr char kMacros[] =
      "# 1 \"/usr/include/linemarker.h\" 1 3\n"
      "#define PLAIN body_a\n"
      "# define SPACED(parameter) body_b 'lone\n"
      "#undef GONE\n"
      "#pragma GCC pragma_word\n";
  for (const char* name : {"PLAIN", "SPACED", "GONE"}) EXPECT_TRUE(Brings(kMacros, name)) << name;
  for (const char* name : {"linemarker", "parameter", "body_a", "body_b", "pragma_word", "define"})
    EXPECT_FALSE(Brings(kMacros, name)) << name;
}

TEST(HeaderNamesTest, GlobalDeclarationsBringNames) {
  constexpr char kText[] =
      "typedef int Alias __attribute__((__vector_size__(8)));\n"
      "extern int printer(const char* __restrict format, ...) noexcept;\n"
      "inline int Function(int parameter) { int local = 1; return local + callee(parameter); }\n"
      "void (*handler(int signal_number, void (*)(struct elaborated*)))(unsigned count);\n"
      "int (* const pointer)(Alias size) = &target;\n"
      "class Class : public Base { int member; void Method() { { int inner; } } } object;\n"
      "template <class T> struct Generic<T*> { T field; };\n"
      "int array[] = {element, 1'000'000}, behind;\n"
      "using std::brought_in;\n"
      "const char quote = '\"', backslash = '\\\\'; const char* text = \"in_text \\\" }\";\n"
      "static_assert(1'000 == 0x3e8 && '{' != '}', \"asserted\");\n"
      "/* block_comment { */ // line_comment {\n"
      "int last;\n";
  for (const char* name :
       {"Alias", "printer", "Function", "handler", "elaborated", "pointer", "Class", "Base",
        "object", "Generic", "array", "behind", "brought_in", "quote", "backslash", "text", "last"})
    EXPECT_TRUE(Brings(kText, name)) << name;
  for (const char* name :
       {"parameter", "signal_number", "count",         "size",          "local",
        "callee",    "member",        "Method",        "inner",         "field",
        "element",   "in_text",       "asserted",      "block_comment", "line_comment",
        "x3e8",      "int",           "__attribute__", "__restrict",    "noexcept"})
    EXPECT_FALSE(Brings(kText, name)) << name;
}

TEST(HeaderNamesTest, WhatScopesLetThrough) {
  constexpr char kText[] =
      "namespace named { int inside; namespace deeper { int deep; } inline int f() { return 1; } "
      "}\n"
      "namespace a::b { int in_b; }\n"
      "inline namespace versioned { int through_inline; }\n"
      "namespace { int through_unnamed; }\n"
      "extern \"C\" { int through_c; extern \"C++\" { namespace other { int in_other; } } int too; "
      "}\n"
      "extern \"C\" int one_of_c() { int local; }\n"
      "enum Plain { kPlain = 1 }; enum class Scoped : unsigned { kScoped };\n"
      "typedef enum { kUnnamed } Unnamed;\n"
      "static union { int through_union; };\n"
      "int last;\n";
  for (const char* name : {"named", "a", "versioned", "through_inline", "through_unnamed",
                           "through_c", "other", "too", "one_of_c", "Plain", "kPlain", "Scoped",
                           "kScoped", "kUnnamed", "Unnamed", "through_union", "last"})
    EXPECT_TRUE(Brings(kText, name)) << name;
  for (const char* name : {"inside", "deeper", "deep", "in_b", "in_other", "local"})
    EXPECT_FALSE(Brings(kText, name)) << name;
}

TEST(HeaderNamesTest, OnlyWhatTheBareHeaderLacks) {
  constexpr char kBare[] =
      "#define SAME 1\n#define CHANGED 1\nnamespace grown { int a; }\nnamespace kept { int b; }\n"
      "typedef unsigned long size_type;\n";
  const HeaderNames names(kBare,
                          (std::string(kBare) + "#undef CHANGED\nnamespace grown { int c; }\n"
                                                "void* more(size_type n);\n")
                              .c_str());
  EXPECT_TRUE(names.UsedBy("CHANGED"));
  EXPECT_TRUE(names.UsedBy("int x = grown::c;"));
  EXPECT_TRUE(names.UsedBy("more(1);"));
  EXPECT_TRUE(names.UsedBy("SAME")) << "it may stand for a name that is brought";
  EXPECT_FALSE(names.UsedBy("size_type x = kept::b;"));
}

TEST(HeaderNamesTest, WhatNoNameTellsConcernsEveryProgram) {
  const char* program = "int f() { return 0; }";
  EXPECT_FALSE(HeaderNames("", "").UsedBy(program));
  for (const char* allowed :
       {"using namespace other;", "using enum other::E;", "bool operator==(A, A);",
        "const char* raw = R\"({)\";", "int cut_off() {", "const char* open = \"", "/* open"})
    EXPECT_TRUE(HeaderNames("", allowed).UsedBy(program)) << allowed;
  EXPECT_FALSE(Brings("void f() { using namespace other; }", "f2"));
  // Operators with a name concern those that say it.
  EXPECT_TRUE(Brings("void* operator new(unsigned long, void*);", "new (place) int"));
  EXPECT_FALSE(Brings("void* operator new(unsigned long, void*);", program));
}

TEST(HeaderNamesTest, ProgramsThatUseAName) {
  for (const char* program :
       {"it",        "f(it)",        "#ifdef it", "#define X it", "1 it",      "1'000'000+it",
        "0x1p-3+it", ".5;it",        "'\"';it",   "\"\\\"\";it",  "'\\\\';it", "'\\'';it",
        "/**/it",    "/*/*/it",      "//\nit",    "i\\\nt",       "i\\ \t\nt", "/\\\n/ \"\nit",
        "L'x';it",   "it\"suffix\"", "x?1:it",    "__builtin_it"})
    EXPECT_TRUE(SaysIt(program)) << program;
  for (const char* program : {"",
                              "its",
                              "_it",
                              "IT",
                              "x1it",
                              "1.it",
                              "0x1'it",
                              "\"it\"",
                              "'it'",
                              "\"\\\"it\"",
                              "// it",
                              "// \\\nit",
                              "/* it\n it */",
                              "/\\\n* it */",
                              "__builtin_its",
                              "a / b; int *p; a /*x*/ / b",
                              "x = '\"'; // it's",
                              "\"//\"",
                              "1'000'000",
                              "\t// \xc3\xa9 $\n"})
    EXPECT_FALSE(SaysIt(program)) << program;
}

TEST(HeaderNamesTest, ProgramsThatMayHideAName) {
  for (const char* program : {"std::size_t n;",
                              "#include <vector>",
                              "import vector;",
                              "typeid(int)",
                              "#if __has_include(<a//b>)",
                              "concept C = requires(T a) { a <=> a; };",
                              "a ## b",
                              "%:%:",
                              "R\"(x)\"",
                              "u8R\"-(x)-\"",
                              "#if 0\nit's\n#endif\nx",
                              "/* open",
                              "\"open",
                              "\"open\n\"",
                              "\\u0061",
                              "x\r\ny",
                              "// x\ry",
                              "a\fb",
                              "__CONCAT(i, t)",
                              "_GLIBCXX_STD_A",
                              "__INT64_C(i)",
                              "1\xc3\xa9'a' , ' , x , '",
                              "1$'a'",
                              "1p+'a', x, '",
                              "\xc3\xa9"})
    EXPECT_TRUE(SaysIt(program)) << program;
  EXPECT_TRUE(HeaderNames("", "").UsedBy(absl::string_view("a\0b", 3)));
}

TEST(HeaderNamesTest, BuiltinsAndKeywordsAreNoNames) {
  constexpr char kText[] =
      "typedef __builtin_va_list list; inline int f(float* __restrict x, decltype(0) final);\n"
      "void* copy(void*) __attribute((alias)) __asm__(\"x\"); __extension__ long long wide;\n";
  for (const char* word : {"__builtin_va_list", "__builtin_other", "__restrict", "float", "final",
                           "__attribute", "__asm__", "__extension__", "long", "decltype"})
    EXPECT_FALSE(Brings(kText, word)) << word;
  EXPECT_TRUE(Brings("#define __builtin_memcpy other\n", "__builtin_memcpy"));
}

}  // namespace
}  // namespace whetstone
