// Rules of statements that are done once for each turn of inner loops.
#include "cpu_bench_worker/rewrite/rewrite_testing.h"

namespace whetstone {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr char kPart[] = "a part done once for each";

// Pairs of orbits around `turn`; two functions that take long, of which one remembers something.
std::string Orbits(const std::string& turn, const std::string& behind = "") {
  return "struct Orbit { double a, e, m; }; static int calls = 0; static void place_at(const "
         "Orbit& o, double t, double r[3]) { double e = o.m; for (int k = 0; k < 8; k++) { e -= (e "
         "- o.e * sin(e) - t) / (1 - o.e * cos(e)); } r[0] = o.a * cos(e); r[1] = e; r[2] = t; } "
         "static void counted(const Orbit& o, double t, double r[3]) { calls++; place_at(o, t, r); "
         "} void f(Orbit* o, double* out, int n, int steps, double step) { for (int i = 0; i < n; "
         "i++) { for (int j = i + 1; j < n; j++) { double best = 1e9; double last[3] = {0, 0, 0}; "
         "for (int s = 0; s < steps; s++) { " +
         turn + " } out[i * n + j] = best; } " + behind + " } }";
}
constexpr char kBoth[] =
    "const double t = s * step; double p[3], q[3]; place_at(o[i], t, p); place_at(o[j], t, q); "
    "best = std::min(best, p[0] * q[0] + p[1] * q[1]);";

TEST_F(RewriteTest, WhatPairsNeedOfOneOfThemIsDoneOnceForEach) {
  EXPECT_THAT(
      By(kPart, Orbits(kBoth)),
      AllOf(HasSubstr("double* const table = new double[(long)((long)(0 < n && n > 0 ? n : 0) * "
                      "(steps > 0 ? steps : 0)) * 3]; if (0 < n) for (int j = 1; j < n; j++) { for "
                      "(int s = 0; s < steps; s++) { const double t = s * step; double q[3]; "
                      "place_at(o[j], t, q); for (int entry = 0; entry < 3; entry++) { "
                      "table[(long)((long)(j) * (steps) + s) * 3 + entry] = q[entry]; } } } for "
                      "(int i = 0;"),
            HasSubstr("const double t = s * step; double p[3]; const double* const q = table + "
                      "(long)((long)(j) * (steps) + s) * 3; place_at(o[i], t, p); best ="),
            HasSubstr("} delete[] table; }")));
  const Rewrites both = Of(Orbits(kBoth), kPart);
  ASSERT_EQ(both.size(), 2);
  EXPECT_THAT(both[1].source,
              AllOf(HasSubstr("table = new double[(long)(steps > 0 ? steps : 0) * 3];"),
                    HasSubstr("const double* const p = table + (long)(s)*3;")))
      << "the other one, before the loop over the second ones";
}

TEST_F(RewriteTest, WhatHasAnotherUseIsNotDoneOnceForEach) {
  const std::string t = "const double t = s * step; double q[3]; ";
  const std::string used = " best = std::min(best, q[0] * i);";
  EXPECT_TRUE(Fits(kPart, Orbits(t + "place_at(o[j], t, q);" + used)));
  for (const std::string& turn : {
           t + "counted(o[j], t, q);" + used,                           // remembers
           t + "place_at(o[j], t + best, q);" + used,                   // needs other turns
           t + "place_at(o[j], t, last); q[0] = last[0];" + used,       // leaves something to them
           t + "place_at(o[j], t, out + j);" + used,                    // writes elsewhere
           t + "place_at(o[j], t, q); o[j].m += q[0];" + used,          // changes what it needs
           t + "place_at(o[j], t + i, q);" + used,                      // needs both
           t + "q[0] = 1; best += q[0]; place_at(o[j], t, q);" + used,  // is seen before
           t + "place_at(o[j], t, q); if (q[0] > 9) return;" + used,    // leaves the table behind
           t + "place_at(o[j], t, q); for (double x : q) best += x * i;",  // knows its length
           t + "place_at(o[j], t, q); [&] { best = q[0] * i; }();",        // in a lambda
           t + "place_at(o[j], t, q);",                                    // without a use
           std::string("static double t; double q[3]; place_at(o[j], t, q);") + used,
       })
    EXPECT_FALSE(Fits(kPart, Orbits(turn))) << turn;
  EXPECT_FALSE(Fits(kPart, Orbits(t + "place_at(o[j], t, q);" + used, "o[i].m = n;")))
      << "the loop around changes it";
}

TEST_F(RewriteTest, AWholeLoopMayBeDoneOnceForEach) {
  EXPECT_THAT(By(kPart, Orbits("double q[3]; place_at(o[j], s * step, q); best += q[0];")),
              AllOf(HasSubstr("place_at(o[j], s * step, q); best += q[0]; } table[j] = best; } for "
                              "(int i = 0;"),
                    HasSubstr("const double best = table[j];")));
}

TEST_F(RewriteTest, WhatIsGivenByValueIsNotWrittenTo) {
  const auto fits = [](const std::string& view) {
    return Fits(
        kPart,
        "namespace std { template <class T> struct span { T* p; T& operator[](size_t) "
        "const; }; } struct Row { const float* v; }; struct Pair { int a, b; }; static void "
        "mean(" +
            view +
            " x, int j, int n, float* m) { *m = 0; for (int k = 0; k < n; k++) { *m += j / "
            "(k + 1.0f); } } void f(" +
            view +
            " x, float* out, int n) { for (int i = 0; i < n; i++) { for (int j = 0; j < i; "
            "j++) { float m; mean(x, j, n, &m); out[i] += m * i; } } }");
  };
  EXPECT_TRUE(fits("Pair"));
  EXPECT_TRUE(fits("std::span<const float>"));
  EXPECT_FALSE(fits("std::span<float>"));
  EXPECT_FALSE(fits("Row"));
}

// Windows over a text around `turn`.
std::string Windows(const std::string& turn) {
  return "static bool hash(const char* s, int k, unsigned long* h, int* rev) { *h = 0; for (int i "
         "= 0; i < k; i++) { if (s[i] == 'N') return false; *h = *h * 4 + s[i]; } *rev = *h % 2; "
         "return true; } void f(const char* seq, long* out, int len, int w, int k) { for (int win "
         "= 0; win < len - w; ++win) { long best = 0; for (int j = 0; j < w; ++j) { unsigned long "
         "h; int rev; " +
         turn + " } out[win] = best; } }";
}

TEST_F(RewriteTest, WhatWindowsNeedOfASumIsDoneOnceForEach) {
  EXPECT_THAT(
      By(kPart, Windows("const bool holds = hash(seq + win + j, k, &h, &rev); if (!holds) "
                        "continue; if (h > best) best = h + rev + win;")),
      AllOf(HasSubstr("unsigned long* const table = new unsigned long[0 < (len - w) && 0 < w && "
                      "((len - w) + w - 1) > 0 ? ((len - w) + w - 1) : 0];"),
            HasSubstr("if (0 < (len - w) && 0 < w) for (int at = 0; at < ((len - w) + w - 1); "
                      "at++) { unsigned long h = 0; int rev = 0; const bool holds = hash(seq + at, "
                      "k, &h, &rev); table[at] = h; table2[at] = rev; table3[at] = holds; } for"),
            HasSubstr("{ const unsigned long h = table[win + j]; const int rev = table2[win + j]; "
                      "const bool holds = table3[win + j]; if (!holds) continue; if")));
  EXPECT_THAT(By(kPart, Windows("const int at = win + j; if (hash(seq, k, &h, &rev)) {} ; const "
                                "bool ok = hash(seq + at, k, &h, &rev); best += ok + h;")),
              HasSubstr("for (int place_of = 0;"))
      << "a name of its own";
  EXPECT_EQ(By(kPart, Windows("hash(seq + win * 2 + j, k, &h, &rev); best += h;")), "");
  EXPECT_EQ(By(kPart, Windows("hash(seq + win + j, k + win, &h, &rev); best += h;")), "");
}

// Dates, nodes and names around `turn`.
std::string Dates(const std::string& turn, const std::string& node = "") {
  return "static double inverse(double p) { double x = 0; for (int k = 0; k < 3; k++) { x += p * "
         "k; } return sqrt(x); } struct Place { double x, y; }; static Place place(double p) { "
         "return {cos(p), sin(p)}; } struct Name { double hazard, w; }; void f(const Name* names, "
         "const double* dates, const double* nodes, double* out, int n, int m, int c) { for (int d "
         "= 0; d < m; d++) { for (int k = 0; k < c; k++) { " +
         node + " for (int i = 0; i < n; i++) { " + turn + " } } } }";
}

TEST_F(RewriteTest, WhatAnInnerLoopDeclaresIsDoneOnceForEach) {
  EXPECT_THAT(
      By(kPart, Dates("const Name& o = names[i]; const double pd = 1.0 - exp(-o.hazard * "
                      "dates[d]); const double x = inverse(pd); out[d] += x * nodes[k] * o.w + "
                      "pd;")),
      AllOf(HasSubstr("d++) { double* const table = new double[n > 0 ? n : 0]; double* const "
                      "table2 = new double[n > 0 ? n : 0]; for (int i = 0; i < n; i++) { const "
                      "Name& o = names[i]; const double pd = 1.0 - exp(-o.hazard * dates[d]); "
                      "const double x = inverse(pd); table[i] = pd; table2[i] = x; } for (int k"),
            HasSubstr("const Name& o = names[i]; const double pd = table[i]; const double x = "
                      "table2[i]; out[d] += x")));
  EXPECT_THAT(
      By(kPart, Dates("const Place p = place(names[i].w * scale); out[d] += p.x * d;",
                      "const double one = 1, scale = nodes[k] + one;")),
      AllOf(HasSubstr("Place* const table = new Place[(long)(c > 0 ? c : 0) * (n > 0 ? n "
                      ": 0)];"),
            HasSubstr("const double one = 1; const double scale = nodes[k] + one; const Place p = "
                      "place(names[i].w * scale); table[(long)(k) * (n) + i] = p; } }"),
            HasSubstr("const Place p = table[(long)(k) * (n) + i]; out[d] += p.x * d;")))
      << "a loop in between declares what it needs";
}

TEST_F(RewriteTest, WhatTurnsLeaveOutIsOnlyDoneForWhatIsThere) {
  const std::string used = " double x = inverse(v); out[d] += x * nodes[k];";
  EXPECT_TRUE(Fits(kPart, Dates("if (nodes[k] > i) continue; const double v = dates[i];" + used)));
  EXPECT_FALSE(
      Fits(kPart, Dates("if (i + 1 >= n) continue; const double v = dates[i + 1];" + used)))
      << "it may not be there";
  EXPECT_TRUE(Fits(kPart, Dates("const double v = dates[i + 1];" + used))) << "every turn reads it";
  EXPECT_FALSE(Fits(kPart, Dates("if (i == 0) continue; const double v = n / i;" + used)));
}

}  // namespace
}  // namespace whetstone
