#include "cpu_bench_worker/build/diagnostics.h"

#include <gtest/gtest.h>

#include <string>

namespace whetstone {
namespace {

TEST(TrimDiagnosticsTest, KeepsTheFirstErrorsWithoutPaths) {
  EXPECT_EQ(TrimDiagnostics("/work/candidate.cc: In function 'void f()':\n"
                            "/work/candidate.cc:3:5: error: 'x' was not declared\n"
                            "/work/candidate.cc:4:5: warning: unused\n"
                            "/work/candidate.cc:3:5: error: 'x' was not declared\n"
                            "cc1plus: error: too big\n"
                            "/usr/bin/ld: /tmp/cc1.o: in function `g':\n"
                            "c.cc:(.text+0x5): undefined reference to `h()'\n"
                            "/work/candidate.cc:9:5: error: never shown\n"),
            "line 3: error: 'x' was not declared\n"
            "error: too big\n"
            "undefined reference to `h()'");
  EXPECT_EQ(TrimDiagnostics("no such thing"), "");
  EXPECT_LT(TrimDiagnostics("candidate.cc:1:1: error: " + std::string(5000, 'x')).size(), 800u);
}

}  // namespace
}  // namespace whetstone
