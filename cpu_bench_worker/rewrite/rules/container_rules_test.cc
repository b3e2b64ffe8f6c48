// Rules of containers.
#include "cpu_bench_worker/rewrite/rewrite_testing.h"

namespace whetstone {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// As much of it as the programs below need.
constexpr char kStd[] =
    "namespace std { template <class T> struct vector { vector(); explicit vector(size_t n, const "
    "T& value = T()); vector(const T* first, const T* last); vector(const vector&); "
    "vector(vector&&); vector& operator=(const vector&); ~vector(); T& operator[](size_t i); const "
    "T& operator[](size_t i) const; void push_back(const T&); void clear(); void reserve(size_t); "
    "void resize(size_t); void assign(size_t, const T&); void assign(const T*, const T*); size_t "
    "size() const; T* begin(); T* end(); const T* begin() const; const T* end() const; void "
    "swap(vector&); }; }\n";

std::string With(const std::string& program) { return kStd + program; }

TEST_F(RewriteTest, WhatATurnKeepsInAVectorIsKeptThere) {
  EXPECT_THAT(
      By("storage kept",
         With(
             "float f(const float* x, int n, int m) { float all = 0; for (int i = 0; i < n; i++) { "
             "for (int j = 0; j < m; j++) { std::vector<float> none; std::vector<float> some(m); "
             "std::vector<int> ones(m, 1); std::vector<float> part(x + i, x + j); "
             "std::vector<float> other = part; none.push_back(x[j]); all += none[0] + some[0] + "
             "ones[0] + other[0]; } } return all; }")),
      AllOf(HasSubstr("float all = 0; { std::vector<float> none; std::vector<float> some; "
                      "std::vector<int> ones; std::vector<float> part; std::vector<float> other; "
                      "for (int i = 0; i < n; i++) { for (int j = 0; j < m; j++) { none.clear(); "
                      "some.assign(m, {}); ones.assign(m, 1); part.assign(x + i, x + j); "
                      "other = part; none.push_back(x[j]);")));
  const auto fits = [](const std::string& turn) {
    return Fits("storage kept", With("void g(std::vector<int>); std::vector<int> h(int); int f(int "
                                     "n) { std::vector<int> kept; int all = 0; for (int i = 0; i < "
                                     "n; i++) { " +
                                     turn + " } return all; }"));
  };
  EXPECT_TRUE(fits("std::vector<int> v(i); g(v);"));
  EXPECT_TRUE(fits("std::vector<int> v(i); auto w = [](int a) { return a; }; all += w(v[0]);"));
  EXPECT_FALSE(fits("std::vector<int> v(i); auto w = [&] { return v[0]; }; all += w();"));
  EXPECT_FALSE(fits("std::vector<int> v(i); kept.swap(v);")) << "its memory goes";
  EXPECT_FALSE(fits("{ std::vector<int> n(i); all += n[0]; }")) << "the loop's end is called n";
  EXPECT_FALSE(fits("std::vector<int> v = h(i); all += v[0];")) << "another one's memory comes";
  EXPECT_FALSE(fits("const std::vector<int> v(i); all += v[0];")) << "a constant";
  EXPECT_FALSE(fits("static std::vector<int> v(9); all += v[0];"));
  EXPECT_FALSE(Fits("storage kept", With("int f(int n) { std::vector<int> v(n); return v[0]; }")))
      << "no loop";
}

TEST_F(RewriteTest, AVectorThatEveryTurnAddsToHasItsSizeBefore) {
  EXPECT_THAT(By("filled by place",
                 With("float f(const float* x, int n) { std::vector<float> v; v.reserve(n); for "
                      "(int i = 0; i < n; i++) v.push_back(x[i] - 1); return v[n / 2]; }")),
              HasSubstr("v.resize(n > 0 ? n : 0); for (int i = 0; i < n; i++) { v[i] = x[i] - 1; "
                        "} return"));
  EXPECT_THAT(
      By("filled by place",
         With("float f(const float* x, int m, int n) { std::vector<float> v; float all = 0; "
              "for (int k = 0; k < n; k++) { v.clear(); for (int i = m; i <= n; i++) { "
              "all += x[i]; v.push_back(x[k]); } all += v[0]; } return all; }")),
      HasSubstr("v.resize(n + 1 > m ? n + 1 - m : 0); for (int i = m; i <= n; i++) { all "
                "+= x[i]; v[i - m] = x[k]; }"));
  const auto fits = [](const std::string& before, const std::string& turn) {
    return Fits("filled by place",
                With("float f(const float* x, int n) { std::vector<float> v; " + before +
                     " for (int i = 0; i < n; i++) { " + turn + " } return v[0]; }"));
  };
  EXPECT_TRUE(fits("", "v.push_back(x[i]);"));
  EXPECT_TRUE(fits("", "int k = 0; while (true) { if (x[k++] > 0) break; } v.push_back(k);"));
  EXPECT_FALSE(fits("v.push_back(1);", "v.push_back(x[i]);")) << "not empty";
  EXPECT_FALSE(fits("", "if (x[i] > 0) v.push_back(x[i]);")) << "not always";
  EXPECT_FALSE(fits("", "if (x[i] > 0) continue; v.push_back(x[i]);")) << "not always";
  EXPECT_FALSE(fits("", "v.push_back(x[i]); v.push_back(0);")) << "twice";
  EXPECT_FALSE(fits("", "v.push_back(v.size());")) << "its size is read";
}

TEST_F(RewriteTest, ALoopThroughAVectorCountsItsPlaces) {
  EXPECT_THAT(By("run through by places",
                 With("float f(const std::vector<float>& x) { float all = 0; for (const float& v : "
                      "x) { all += v; for (float w : x) all += w / x.size(); } return all; }")),
              HasSubstr("for (size_t k = 0; k < x.size(); k++) { const float& v = x[k]; all += v; "
                        "for (size_t k2 = 0; k2 < x.size(); k2++) { float w = x[k2]; all += w / "
                        "x.size(); } } return"));
  EXPECT_THAT(By("run through by places",
                 "namespace std { template <class T> struct span { T& operator[](size_t) const; "
                 "size_t size() const; T* begin() const; T* end() const; }; } float "
                 "f(std::span<const float> x) { float all = 0; for (float v : x) all += v; return "
                 "all; }"),
              HasSubstr("for (size_t k = 0; k < x.size(); k++) { float v = x[k]; all += v; }"));
  EXPECT_FALSE(Fits("run through by places",
                    With("float f(std::vector<float> x) { float all = 0; for (float v : x) { if (v "
                         "> 9) x.clear(); all += v; } return all; }")))
      << "it changes its size";
}

TEST_F(RewriteTest, WhatIsComputedOfAVectorsElementsIsComputedOnceForEach) {
  const auto made = [](const std::string& turn) {
    return By("computed once for each",
              With("void f(const std::vector<double>& x, std::vector<double>& y) { for (size_t i = "
                   "0; i < y.size(); i++) { for (size_t j = 0; j < x.size(); j++) { " +
                   turn + " } } }"));
  };
  EXPECT_THAT(made("y[i] += i * std::exp(x[j]);"),
              HasSubstr("double* const table = new double[x.size() > 0 ? x.size() : 0]; for "
                        "(size_t j = 0; j < x.size(); j++) { table[j] = std::exp(x[j]); } for "
                        "(size_t i = 0; i < y.size(); i++) { for (size_t j = 0; j < x.size(); j++) "
                        "{ y[i] += i * table[j]; } }"));
  EXPECT_EQ(made("y[i] += i * std::exp(y[j]);"), "") << "the nest writes to it";
  EXPECT_EQ(made("if (i < j) y[i] += i * std::exp(x[j]);"), "") << "it may not be there";
  EXPECT_NE(made("if (x[j] > i) y[i] += i * std::exp(x[j]);"), "") << "it is read anyway";
}

TEST_F(RewriteTest, TheMedianOfAnEvenNumberTakesTwoOfThem) {
  const std::string rule = "only the one that is read put in order";
  EXPECT_THAT(
      By(rule,
         "float f(float* v, int n) { std::sort(v, v + n); int m = n / 2; return 0.5f * (v[m "
         "- 1] + v[m]); }"),
      HasSubstr("{ int m = n / 2; std::nth_element(v, v + (m), v + n); if ((m) > 0) {"));
  EXPECT_THAT(
      By(rule,
         "float f(float* v, int n) { int m = n / 2; std::sort(v, v + n); if (n % 2 == 1) { return "
         "v[m]; } return 0.5f * (v[m - 1] + v[m]); }"),
      HasSubstr("std::nth_element(v, v + (m), v + n); if ((m) > 0) { std::iter_swap(v + (m)-1, "
                "std::max_element(v, v + (m))); } if (n"));
  EXPECT_THAT(By(rule,
                 "float f(float* v, int n) { std::sort(v, v + n); return v[n / 2] - v[n / 2 - 2]; "
                 "}"),
              "");
}

}  // namespace
}  // namespace whetstone
