// Rules of the order in which conditions are asked.
#include "cpu_bench_worker/rewrite/rewrite_testing.h"

namespace whetstone {
namespace {

using testing::HasSubstr;

const char kCheapFirst[] = "cheap guards first";
const char kListed[] =
    "bool in(const int* v, int m, int x) { for (int k = 0; k < m; k++) { if (v[k] == x) return "
    "true; } return false; } ";

// A loop through rows, some of which are counted; `turn` says which.
std::string Counted(const std::string& turn) {
  return kListed +
         std::string(
             "int f(const int* code, const int* date, const int* v, int m, int "
             "n, int lo) { int c = 0; for (int i = 0; i < n; i++) { ") +
         turn + " c++; } return c; }";
}

TEST_F(RewriteTest, GuardsThatCostLittleComeFirst) {
  // With what is there for the others behind it.
  EXPECT_THAT(By(kCheapFirst, Counted("const int x = code[i] & 7; if (!in(v, m, x)) continue; if "
                                      "(date[i] < lo || date[i] > 9) continue;")),
              HasSubstr("{ if (date[i] < lo || date[i] > 9) continue; const int x = code[i] & 7; "
                        "if (!in(v, m, x)) continue; c++; }"));
  // With what it needs before it.
  EXPECT_THAT(By(kCheapFirst, Counted("if (!in(v, m, code[i])) continue; const int d = date[i] - "
                                      "lo; if (d < 0) continue;")),
              HasSubstr("{ const int d = date[i] - lo; if (d < 0) continue; if (!in(v, m, "
                        "code[i])) continue; c++; }"));
  // Not before what it needs, if that takes long; before what others need.
  EXPECT_THAT(By(kCheapFirst, Counted("const int x = in(v, m, code[i]); if (!in(v, m, x + 1)) "
                                      "continue; if (x > lo) continue;")),
              HasSubstr("{ const int x = in(v, m, code[i]); if (x > lo) continue; if (!in(v, m, "
                        "x + 1)) continue; c++; }"));
  EXPECT_THAT(By(kCheapFirst,
                 Counted("const int x = in(v, m, code[i]); if (date[i] < lo) continue; c += x;")),
              HasSubstr("{ if (date[i] < lo) continue; const int x = in(v, m, code[i]); c += x;"));
  // Several keep their order; an element beside one that is read in any case is there.
  EXPECT_THAT(By(kCheapFirst,
                 Counted("const int r = code[i]; if (!in(v, m, date[r])) continue; if (r > lo) "
                         "continue; if (code[r] > 3) { continue; }")),
              HasSubstr("{ const int r = code[i]; if (r > lo) continue; if (code[r] > 3) { "
                        "continue; } if (!in(v, m, date[r])) continue; c++; }"));
  // Others than a loop's.
  EXPECT_THAT(By(kCheapFirst, kListed + std::string("bool f(const int* v, int m, int a) { if "
                                                    "(!in(v, m, a)) return false; if (a < 3) "
                                                    "return false; return true; }")),
              HasSubstr("{ if (a < 3) return false; if (!in(v, m, a)) return false; return true; "
                        "}"));
}

TEST_F(RewriteTest, GuardsThatDependOnOthersStayBehindThem) {
  for (const char* turn :
       {"if (date[i] < lo) continue; if (!in(v, m, code[i])) continue;",
        "if (!in(v, m, code[i])) continue; if (in(v, m, date[i])) continue;",
        "if (date[i] < lo) continue; if (code[i] < lo) continue;",
        "const int x = in(v, m, code[i]); if (x > 3) continue;",
        // They leave in other ways, or do something else.
        "if (!in(v, m, code[i])) continue; if (date[i] < lo) break;",
        "if (!in(v, m, code[i])) { c--; continue; } if (date[i] < lo) continue;",
        "if (!in(v, m, code[i])) continue; c++; if (date[i] < lo) continue;",
        "if (!in(v, m, code[i])) continue; if (c++ > lo) continue;",
        "int k = i; if (!in(v, m, k++)) continue; if (date[i] < lo) continue;",
        "if (!in(v, m, code[i])) continue; static int d = 3; if (d < lo) continue;",
        "if (!in(v, m, code[i])) continue; else c++; if (date[i] < lo) continue;",
        // One may say that the other's element is there.
        "if (!in(v, m, lo)) continue; if (date[lo] < 3) continue;",
        "if (in(v, m, i + lo)) continue; if (date[i + lo] < 3) continue;",
        "if (lo < n && in(v, m, date[lo])) continue; if (code[lo] < 3) continue;",
        "if (in(v, m, lo)) continue; if (*(date + lo) < 3) continue;"})
    EXPECT_EQ(By(kCheapFirst, Counted(turn)), "") << turn;
  // Another variable of the name is meant.
  EXPECT_EQ(By(kCheapFirst,
               kListed + std::string("int f(const int* v, int m, int d) { while (m-- > 0) { if "
                                     "(in(v, m, d)) continue; const int d = m & 3; if (d < 3) "
                                     "continue; return d; } return 0; }")),
            "");
}

TEST_F(RewriteTest, OperandsThatCostLittleComeFirst) {
  EXPECT_THAT(By(kCheapFirst, Counted("if (in(v, m, code[i]) && date[i] > lo && m > i) c--;")),
              HasSubstr("if (date[i] > lo && m > i && in(v, m, code[i])) c--;"));
  EXPECT_THAT(By(kCheapFirst, Counted("if ((in(v, m, i) || in(v, m, c)) || lo == i) c--;")),
              HasSubstr("if ((lo == i || in(v, m, i)) || in(v, m, c)) c--;"));
  EXPECT_THAT(By(kCheapFirst, Counted("if (in(v, m, i) && (in(v, m, c) || lo > 3)) c--;")),
              HasSubstr("if (in(v, m, i) && (lo > 3 || in(v, m, c))) c--;"));
  EXPECT_THAT(By(kCheapFirst, Counted("bool b = v != nullptr && in(code, m, i) && v[0] > 3; c += "
                                      "b;")),
              HasSubstr("bool b = v != nullptr && v[0] > 3 && in(code, m, i);"));
  // In a guard that is put ahead itself.
  EXPECT_THAT(By(kCheapFirst, Counted("if (in(v, m, i)) continue; if (in(v, m, c) || lo > 3) "
                                      "continue; if (lo < i) continue;")),
              HasSubstr("{ if (lo < i) continue; if (in(v, m, i)) continue; if (lo > 3 || in(v, m, "
                        "c)) continue; c++; }"));
  for (const char* turn :
       {"if (lo > 3 && in(v, m, i)) c--;", "if (in(v, m, i) && in(v, m, c)) c--;",
        "if (in(v, m, lo) && date[lo] > 3) c--;", "if (in(v, m, i) && c++ > 3) c--;",
        "if (in(v, m, i) & (lo > 3)) c--;", "if (lo > 3 && date[i] > 3 || c > 3) c--;"})
    EXPECT_EQ(By(kCheapFirst, Counted(turn)), "") << turn;
}

}  // namespace
}  // namespace whetstone
