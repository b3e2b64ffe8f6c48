// The rule of copies of what a function is given.
#include "cpu_bench_worker/rewrite/rewrite_testing.h"

namespace whetstone {
namespace {

using testing::HasSubstr;

constexpr char kWithoutCopy[] = "without the copy";
// As much of it as the programs below need.
constexpr char kCopiedVector[] =
    "namespace std { template <class T> struct vector { vector(); vector(size_t n); template "
    "<class I> vector(I from, I to); vector(const vector&); ~vector(); void resize(size_t n); "
    "template <class I> void assign(I from, I to); T& operator[](size_t i); const T& "
    "operator[](size_t i) const; size_t size() const; bool empty() const; T* begin(); T* end(); "
    "const T* begin() const; const T* end() const; void push_back(T); }; }\n";

std::string CopyProgram(const std::string& code) { return kCopiedVector + code; }

TEST_F(RewriteTest, ARangeIsReadWhereItIs) {
  EXPECT_THAT(
      By(kWithoutCopy,
         CopyProgram("double f(const double* a, size_t n) { const std::vector<double> v(a, a + "
                     "n); double s = 0; for (size_t i = 0; i < v.size(); i++) s += v[i] * v[n "
                     "- 1 - i]; for (double x : v) s += x; return s; }")),
      HasSubstr("{ double s = 0; for (size_t i = 0; i < n; i++) s += a[i] * a[n - 1 - i]; "
                "for (size_t x_at = 0; x_at < n; ++x_at) { double x = a[x_at]; s += x; } "
                "return s; }"));
  EXPECT_THAT(
      By(kWithoutCopy,
         CopyProgram("double f(const double* a, size_t n, size_t m) { "
                     "std::vector<std::vector<double>> v(n); for (size_t r = 0; r < n; ++r) "
                     "v[r].assign(a + r * m, a + (r + 1) * m); double s = 0; for (size_t i = "
                     "0; i + 1 < n; i++) s += v[i + 1][0] * v[i].size(); return s; }")),
      HasSubstr("{ double s = 0; for (size_t i = 0; i + 1 < n; i++) s += a[(i + 1) * m + "
                "0] * m; return s; }"));
}

// Structs with an array each, as they come from arrays of their fields.
constexpr char kCopiedZones[] =
    "struct P { double x; double y; };\nstruct Zone { int id; bool open; std::vector<P> border; "
    "};\n";
constexpr char kCopyMade[] =
    "int f(size_t n, size_t m, const int* ids, const unsigned char* flags, const P* b) { "
    "std::vector<Zone> zones{}; zones.resize(n); for (size_t at = 0; at < n; ++at) { "
    "zones[at].id = ids[at]; zones[at].open = (flags[at] & 1) != 0; zones[at].border.resize(m); "
    "for (size_t k = 0; k < m; ++k) { zones[at].border[k] = b[at * m + k]; } } int s = 0; ";

TEST_F(RewriteTest, StructsThatAreMadeAgainAreReadFromTheirArrays) {
  EXPECT_THAT(
      By(kWithoutCopy,
         CopyProgram(
             std::string(kCopiedZones) + kCopyMade +
             "for (const Zone& z : zones) { if (!z.open || z.border.empty()) continue; for "
             "(size_t i = 0; i < z.border.size(); i++) { const P& p = z.border[i]; if (p.x > "
             "z.border[0].y) s += z.id; } } return s; }")),
      HasSubstr("const P* b) { int s = 0; for (size_t z_at = 0; z_at < n; ++z_at) { if (!((flags["
                "z_at] & 1) != 0) || (m == 0)) continue; for (size_t i = 0; i < m; i++) { const P& "
                "p = b[z_at * m + i]; if (p.x > b[z_at * m + 0].y) s += ids[z_at]; } } return s; "
                "}"));
  EXPECT_THAT(
      By(kWithoutCopy, CopyProgram(std::string(kCopiedZones) + kCopyMade +
                                   "for (size_t i = 0; i < n; i++) { const Zone& z = zones[i]; "
                                   "s += z.id; } return s; }")),
      HasSubstr("for (size_t i = 0; i < n; i++) { s += ids[i]; } return s; }"));
}

TEST_F(RewriteTest, CopiesThatAreMoreThanReadStay) {
  const auto fits = [](const std::string& rest) {
    return Fits(kWithoutCopy,
                CopyProgram(std::string(kCopiedZones) +
                            "int g(const Zone& z);\nint h(const int& i);\n" + kCopyMade + rest));
  };
  EXPECT_TRUE(fits("return s + zones[0].id + h(zones[1].id); }"));
  EXPECT_FALSE(fits("zones[0].id = 3; return zones[0].id; }")) << "written to";
  EXPECT_FALSE(fits("s = zones[0].id++; return s; }")) << "counted";
  EXPECT_FALSE(fits("return g(zones[0]); }")) << "used as a whole";
  EXPECT_FALSE(fits("auto q = [&] { return zones[0].id; }; return q(); }")) << "captured";
  EXPECT_FALSE(
      fits("for (size_t i = 0; i < n;) { const Zone& z = zones[i]; i++; s += z.id; } "
           "return s; }"))
      << "its place changes";
  EXPECT_FALSE(Fits(kWithoutCopy,
                    CopyProgram("int f(int* a, size_t n) { const std::vector<int> v(a, a + n); for "
                                "(size_t i = 0; i < n; i++) a[i] = v[n - 1 - i]; return 0; }")))
      << "what is given is written to";
  EXPECT_FALSE(
      Fits(kWithoutCopy,
           CopyProgram("double f(const double* a, size_t n) { std::vector<double> v(n); for "
                       "(size_t i = 0; i < n; i++) { v[i] = a[i] * 2; } return v[0]; }")))
      << "computed";
}

TEST_F(RewriteTest, AHelperInItsPlaceOpensTheCopy) {
  EXPECT_THAT(Rules(CopyProgram(
                  "struct P { int x; bool dead; };\nstatic bool before(const P& a, const P& b) { "
                  "if (!a.dead) return false; return a.x < b.x; }\nint f(const int* x, const "
                  "unsigned char* dead, size_t n) { std::vector<P> v{}; v.resize(n); for (size_t "
                  "at = 0; at < n; ++at) { v[at].x = x[at]; v[at].dead = (dead[at] & 1) != 0; } "
                  "int k = 0; for (size_t i = 0; i < n; i++) for (size_t j = 0; j < n; j++) { if "
                  "(i == j || !before(v[i], v[j])) continue; ++k; } return k; }")),
              testing::Contains("a function in its place, then without the copy"));
}

TEST_F(RewriteTest, HelpersOfHelpersOpenTheCopy) {
  EXPECT_THAT(
      By("a function in its place, then a function in its place, then without the copy",
         CopyProgram(
             "static int ones(const std::vector<int>& v) { int k = 0; for (int x : v) if (x == 1) "
             "++k; return k; }\nstatic int all(const std::vector<std::vector<int>>& rows) { int s "
             "= 0; for (size_t i = 0; i < rows.size(); ++i) s += ones(rows[i]); return s; }\nint "
             "f(const int* a, size_t n, size_t m) { std::vector<std::vector<int>> rows(n); for "
             "(size_t r = 0; r < n; ++r) rows[r].assign(a + r * m, a + (r + 1) * m); int s = "
             "all(rows); return s; }")),
      HasSubstr("for (size_t i = 0; i < n; ++i) { int k = 0; for (size_t x_at = 0; x_at < m; "
                "++x_at) { int x = a[i * m + x_at]; if (x == 1) ++k; } s2 += k; }"));
}

}  // namespace
}  // namespace whetstone
