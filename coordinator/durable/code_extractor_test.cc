#include "coordinator/durable/code_extractor.h"

#include <gtest/gtest.h>

namespace whetstone {
namespace {

struct Case {
  const char* what;
  std::string completion;
  std::string prefix;
  std::optional<std::string> want;
};

TEST(CodeExtractorTest, Table) {
  const Case cases[] = {
      {"empty", "", "", std::nullopt},
      {"prose only", "I would use a loop.", "", std::nullopt},
      {"code without a fence", "int f() { return 1; }", "", std::nullopt},
      {"plain", "```cpp\nint f();\n```", "", "int f();\n"},
      {"prose around", "Here:\n```cpp\nint f();\n```\nDone.\n", "", "int f();\n"},
      {"no language", "```\nint f();\n```", "", "int f();\n"},
      {"c++ in capitals", "```C++\nint f();\n```", "", "int f();\n"},
      {"another language", "```python\nprint(1)\n```", "", std::nullopt},
      {"another language, then cpp", "```text\nx\n```\n```cpp\ny\n```", "", "y\n"},
      {"the last closed block", "```cpp\na\n```\n```cpp\nb\n```", "", "b\n"},
      {"a closed block before an open one", "```cpp\na\n```\n```cpp\nb", "", "a\n"},
      {"open at the end", "```cpp\nint f() {\n  return", "", "int f() {\n  return\n"},
      {"only the fence", "```cpp", "", std::nullopt},
      {"only the fence and blanks", "```cpp\n \n\t\n```", "", std::nullopt},
      {"a blank block after a full one", "```cpp\na\n```\n```cpp\n```", "", "a\n"},
      {"windows line ends", "```cpp\r\na\r\nb\r\n```\r\n", "", "a\nb\n"},
      {"indented by three", "   ```cpp\na\n   ```", "", "a\n"},
      {"indented by four is no fence", "    ```cpp\na\n    ```", "", std::nullopt},
      {"longer fence holds shorter", "````cpp\n```\na\n````", "", "```\na\n"},
      {"closing fence with text does not close", "```cpp\na\n```b\nc\n```", "", "a\n```b\nc\n"},
      {"inline code is no fence", "```a``` is code\n", "", std::nullopt},
      {"prefix opens the block", "\nint f();\n```", "```cpp", "int f();\n"},
      {"prefix and an open end", "\nint f();", "Answer:\n```cpp", "int f();\n"},
      {"prefix begins the program", " {\n}\n```", "```cpp\nint f(int n)", "int f(int n) {\n}\n"},
      {"prefix begins it, with an open end", "\n{", "```cpp\nint f(int n)", "int f(int n)\n{\n"},
      {"attributes after the language", "```cpp {.line}\na\n```", "", "a\n"},
      {"nul byte survives", std::string("```cpp\na\0b\n```", 14), "", std::string("a\0b\n", 4)},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(ExtractCode(c.completion, c.prefix), c.want) << c.what;
  }
}

}  // namespace
}  // namespace whetstone
