// Rules of expensive functions.
#include "cpu_bench_worker/rewrite/rewrite_testing.h"

namespace whetstone {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr char kOnce[] = "computed once for each";
constexpr char kAlong[] = "carried along";

// A nest of loops over users and stations around `body`.
std::string Nest(const std::string& body) {
  return "struct Place { double lat; double lon; }; void f(const Place* users, const Place* "
         "stations, double* out, int n, int m) { for (int u = 0; u < n; u++) { double best = 1e9; "
         "for (int s = 0; s < m; s++) { " +
         body + " } out[u] = best; } }";
}

TEST_F(RewriteTest, WhatAnInnerLoopComputesOfItsCounterIsComputedOnceForEach) {
  EXPECT_THAT(
      By(kOnce, Nest("const Place b = stations[s]; double c = std::cos(0.5 * b.lat); "
                     "double d = c * users[u].lat; if (d < best) best = d;")),
      HasSubstr("{ double* const table = new double[m > 0 ? m : 0]; for (int s = 0; s < m; s++) { "
                "table[s] = "
                "std::cos(0.5 * stations[s].lat); } for (int u = 0; u < n; u++) { double best = "
                "1e9; for (int s = 0; s < m; s++) { const Place b = stations[s]; double c = "
                "table[s]; double d = c * users[u].lat; if (d < best) best = d; } out[u] = best; } "
                "delete[] table; }"));
  EXPECT_THAT(
      Of(Nest("best += sqrt(stations[s].lat) * u + 2 * sqrt(stations[s].lat) + sqrt(u);"), kOnce),
      testing::Contains(testing::Field(
          &Rewrite::source, HasSubstr("best += table[s] * u + 2 * table[s] + sqrt(u);"))))
      << "wherever it is computed";
}

TEST_F(RewriteTest, WhatAFunctionWithALoopGivesIsComputedOnceForEach) {
  const auto program = [](const std::string& factor, const std::string& condition) {
    return "static float power(float x, int n) { float p = 1; for (int k = 0; k < n; k++) { p *= " +
           factor +
           "; } return p; } void f(const float* in, float* out, int n) { for (int i = 0; i < n; "
           "i++) { float s = 0; for (int j = 0; j < 4; j++) { for (int k = 0; k < 4; k++) { " +
           condition + "s += power(i, k) * in[j]; } } out[i] = s; } }";
  };
  EXPECT_THAT(By(kOnce, program("x", "")),
              HasSubstr("float table[4]; for (int k = 0; k < 4; k++) { table[k] = power(i, k); "
                        "} for (int j = 0; j < 4; j++) { for (int k = 0; k < 4; k++) { s += "
                        "table[k] * in[j]; } }"));
  EXPECT_NE(By(kOnce, program("x + 4 * n", "if (in[j] > 0) ")), "");
  EXPECT_EQ(By(kOnce, program("x + 4 % n", "if (in[j] > 0) ")), "")
      << "it may divide by zero where no turn does";
  EXPECT_EQ(By(kOnce, "static int calls = 0; " + program("x + calls++", "")), "");
}

TEST_F(RewriteTest, WhatTwoCountersGiveIsComputedOnceForEachOfTheirValues) {
  EXPECT_THAT(
      By(kOnce,
         "void f(const float* in, float* out, int n, int m) { const int radius = 2; const float s "
         "= 1.5f; for (int y = 2; y < n - 2; y++) { for (int x = 2; x < m - 2; x++) { float sum = "
         "0; for (int dy = -radius; dy <= radius; dy++) { for (int dx = -radius; dx <= radius; "
         "dx++) { float w = std::exp(-(dx * dx + dy * dy) / (2.0f * s * s)); sum += w * in[(y + "
         "dy) * m + x + dx]; } } out[y * m + x] = sum; } } }"),
      HasSubstr(
          "float table[25]; for (int dy = -radius; dy <= radius; dy++) { for (int dx = -radius; dx "
          "<= radius; dx++) { table[(dy + 2) * 5 + dx + 2] = std::exp(-(dx * dx + dy * dy) / (2.0f "
          "* s * s)); } } for (int y = 2; y < n - 2; y++) {"));
}

TEST_F(RewriteTest, ATableIsMadeBeforeTheOutermostLoopThatKeepsWhatItIsMadeOf) {
  EXPECT_THAT(
      By(kOnce,
         "void f(const float* a, float* out, int n) { for (int k = 0; k < n; k++) { const float "
         "scale = a[k] + 1; for (int i = 0; i < n; i++) { float s = 0; for (int j = 1; j <= 8; "
         "j++) { s += i / (j * scale) + expf(j * scale); } out[i] += s; } } }"),
      HasSubstr("const float scale = a[k] + 1; float table[8]; for (int j = 1; j <= 8; j++) { "
                "table[j - 1] = expf(j * scale); } for (int i = 0; i < n; i++) {"));
}

TEST_F(RewriteTest, WhatStandsUnderAConditionIsNotComputedWithoutIt) {
  for (const char* body :
       {"if (s) best += n / s;", "best += s ? u * (n / s) : out[u];", "best += s && n / s > u;",
        "if (s > u) continue; best += sqrt(stations[s].lat);",
        "if (s > u) break; { best += n / s; }", "switch (u) { case 1: best += n % s; }",
        "for (int k = 0; k < s; k++) best += n / s;",
        "if (s < u) { const Place& b = stations[s]; best += sqrt(b.lat); }"})
    EXPECT_EQ(By(kOnce, Nest(body)), "") << body;
  EXPECT_THAT(By(kOnce, Nest("if (s < u) best += sqrt(0.5 * s) + s / 2;")),
              HasSubstr("table[s] = sqrt(0.5 * s)"))
      << "it does no harm";
  EXPECT_THAT(By(kOnce, Nest("best += s ? n / s : 0;")), HasSubstr("table[s] = s ? n / s : 0;"))
      << "the condition is computed with it";
  EXPECT_THAT(By(kOnce, Nest("const Place& b = stations[s]; if (sqrt(b.lat) < u) best = u; if (s < "
                             "u) best += 2 * sqrt(b.lat); if (s > u) continue;")),
              HasSubstr("if (table[s] < u) best = u; if (s < u) best += table2[s];"))
      << "it is computed in every turn";
}

TEST_F(RewriteTest, WhatEveryTurnReadsIsThereWithoutItsCondition) {
  const std::string near = "if (stations[s].lon > users[u].lon) continue; ";
  EXPECT_THAT(By(kOnce, Nest(near + "best += u * sqrt(stations[s].lat);")),
              HasSubstr("table[s] = sqrt(stations[s].lat);"));
  EXPECT_EQ(By(kOnce, Nest(near + "best += u * sqrt(users[s].lat);")), "") << "of others";
  EXPECT_EQ(By(kOnce, Nest(near + "best += u * sqrt(stations[s + 1].lat);")), "") << "another one";
  EXPECT_EQ(
      By(kOnce, Nest("if (u > s) { if (stations[s].lon > 0) best += sqrt(stations[s].lat); }")), "")
      << "not read in every turn";
  EXPECT_EQ(By(kOnce, Nest("if (stations[s].lon > u) break; best += sqrt(stations[s].lat);")), "")
      << "not read in all turns";
}

TEST_F(RewriteTest, WhatAFunctionComputesAtLengthIsComputedOnceForEach) {
  const auto program = [](const std::string& value) {
    return "struct Place { double lat; double lon; }; static double twice(double x) { return 2 * "
           "x; "
           "} static double width(Place p, double t) { return " +
           value +
           "; } void f(const Place* stations, double* out, int n, int m, double t) { for (int u = "
           "0; "
           "u < n; u++) { out[u] = 0; for (int s = 0; s < m; s++) { if (stations[s].lat > u) "
           "continue; out[u] += u * width(stations[s], t); } } }";
  };
  EXPECT_THAT(By(kOnce, program("p.lat * std::exp(-t * p.lon)")),
              HasSubstr("table[s] = width(stations[s], t);"));
  EXPECT_EQ(By(kOnce, program("twice(p.lat) + t")), "") << "not worth a table";
}

TEST_F(RewriteTest, ATableOfALoopWithoutTurnsIsEmpty) {
  EXPECT_THAT(By(kOnce,
                 "void f(const float* a, float* b, int k, int n) { for (int i = 0; i < n; i++) { "
                 "for (int j = k; j <= n; j++) { b[i] += sqrtf(a[j]); } } }"),
              HasSubstr("float* const table = new float[n + 1 > k ? n + 1 - k : 0];"));
}

TEST_F(RewriteTest, NoTableIsLeftBehindByAReturn) {
  const std::string leaves = "best += sqrt(stations[s].lat) * u; if (best > 9) return;";
  EXPECT_EQ(By(kOnce, Nest(leaves)), "");
  EXPECT_THAT(By(kOnce, Nest("for (int k = 0; k < 8; k++) { best += sqrt(stations[k].lat) * u; if "
                             "(best > 9) return; }")),
              HasSubstr("double table[8]; for (int k = 0;"));
  const auto carried = [](const std::string& end) {
    return By(kAlong,
              "void f(const float* w, float* out, int n, int m) { for (int i = 0; i < n; i++) { "
              "float s = 0; for (int p = 0; p < " +
                  end + "; p++) { s += cosf(w[p] * i); if (s > 9) return; } out[i] = s; } }");
  };
  EXPECT_EQ(carried("m"), "");
  EXPECT_THAT(carried("8"), HasSubstr("double sine[8]; double sine_step[8];"));
}

TEST_F(RewriteTest, PartsWithNamesOfTheirOwnAreLeftAlone) {
  EXPECT_EQ(By(kOnce, Nest("auto [x, y] = users[u]; best += sqrt(x * s);")), "");
  EXPECT_EQ(By(kAlong,
               "struct P { double x; double y; }; void f(const P* p, double* b, int n) { for (int "
               "i = 0; i < n; i++) { auto [x, y] = p[i]; b[i] = exp(x * i); } }"),
            "");
  EXPECT_EQ(By(kOnce,
               "struct P { double x; double y; }; void f(P* p, double* b, int n) { for (int i = 0; "
               "i < n; i++) { for (int j = 0; j < n; j++) { b[i] += sqrt(p[j].x); } auto& [x, y] = "
               "p[i]; x = 2; } }"),
            "")
      << "the nest writes to it";
}

TEST_F(RewriteTest, LoopsInTheSameOneHaveTheirOwnTables) {
  std::string all;
  for (const Rewrite& each :
       Of("void f(double* b, int n) { for (int i = 0; i < n; i++) { for (int j = 0; j < 3; j++) { "
          "for (int k = 0; k < 4; k++) { b[i] += sqrt(0.5 * j + k); } for (int k = 0; k < 5; k++) "
          "{ b[i] "
          "-= sqrt(0.5 * j + k); } } } }"))
    if (each.rule == kOnce && all.empty()) all = each.source;
  EXPECT_THAT(all, HasSubstr("b[i] += table[j * 4 + k];"));
  EXPECT_THAT(all, HasSubstr("b[i] -= table2[j * 5 + k];"));
}

TEST_F(RewriteTest, WhatDiffersFromTurnToTurnOfTheOuterLoopIsComputedThere) {
  for (const char* body :
       {"best += std::cos(stations[s].lat - users[u].lat);", "best += std::cos(out[s]);",
        "best += stations[s].lat * 2 + stations[s].lat / 3;", "best += std::sin(best);",
        "double t = s; if (s > 3) t = 3; best += std::sin(t);"})
    EXPECT_EQ(By(kOnce, Nest(body)), "") << body;
  EXPECT_EQ(By(kOnce,
               "void f(const float* a, float* b, int n, int m) { for (int i = 0; i < n; i++) { "
               "float* row = b + i * m; const float* other = b + m; for (int j = 0; j < m; j++) { "
               "row[j] += sqrtf(b[j]) + a[i]; } } }"),
            "")
      << "the nest writes to it";
  EXPECT_EQ(By(kOnce,
               "void f(float* b, int n) { for (int i = 0; i < n; i++) { for (int j = 0; j < i * i; "
               "j++) { b[i] += sqrtf(j); } } }"),
            "")
      << "it has another end in every turn";
  EXPECT_THAT(By(kOnce,
                 "void f(const float* a, float* b, int n, int m) { for (int i = 0; i < n; i++) { "
                 "float* row = b + i * m; for (int j = 0; j < m; j++) { row[j] += sqrtf(a[j * m]); "
                 "} } }"),
              HasSubstr("table[j] = sqrtf(a[j * m]);"));
}

TEST_F(RewriteTest, ALoopOverPairsHasAnEntryForEachThatIsEverASecondOne) {
  const auto pairs = [](const std::string& outer, const std::string& inner,
                        const std::string& value = "sqrtf(a[j])") {
    return By(kOnce, "void f(const float* a, float* b, int n, int r) { for (" + outer +
                         "; i++) { for (" + inner + "; j++) { b[i] += " + value + "; } } }");
  };
  EXPECT_THAT(pairs("int i = 0; i < n", "int j = i + 1; j < n"),
              HasSubstr("float* const table = new float[0 < n && n > 0 ? n : 0]; if (0 < n) for "
                        "(int j = 1; j < n; j++) { table[j] = sqrtf(a[j]); } for (int i = 0; i < "
                        "n; i++) { for (int j = i + 1; j < n; j++) { b[i] += table[j]; } }"));
  EXPECT_THAT(pairs("int i = r; i <= n", "int j = 0; j < i"),
              HasSubstr("new float[r <= n && n > 0 ? n : 0]; if (r <= n) for (int j = 0; j < n;"));
  EXPECT_THAT(pairs("int i = 0; i < 9", "int j = 0; j < i"),
              HasSubstr("float table[8]; if (0 < 9) for (int j = 0; j < 8; j++)"));
  EXPECT_THAT(pairs("int i = r; i < n - r", "int j = i - r; j <= i + r"),
              HasSubstr("for (int j = (r - r); j < (((n - r) - 1 + r) + 1); j++) { table[j - (r - "
                        "r)] = sqrtf(a[j]); }"));
  EXPECT_EQ(pairs("int i = 0; i < n", "int j = r - i; j < n"), "");
  EXPECT_EQ(pairs("int i = 0; i < n", "int j = i + 1; j < n", "sqrtf(a[j] - a[i])"), "");
}

TEST_F(RewriteTest, TablesOfOneLoopAreFilledTogether) {
  std::string all;
  for (const Rewrite& each :
       Of(Nest("best += cos(stations[s].lat) * u + exp(cos(stations[s].lat));")))
    if (each.rule == kOnce && all.empty()) all = each.source;
  EXPECT_THAT(all, HasSubstr("        table[s] = cos(stations[s].lat);\n"
                             "        table2[s] = exp(cos(stations[s].lat));\n"));
  EXPECT_THAT(all, HasSubstr("best += table[s] * u + table2[s];"));
}

TEST_F(RewriteTest, PowersOfWhatGrowsByTheSameStepAreCarriedAlong) {
  EXPECT_THAT(
      By(kAlong,
         "void f(const double* a, double* b, double k, int n) { for (int i = 0; i < n; i++) { "
         "const double t = i / 48000.0; b[i] = a[i] * std::exp(-k * t); } }"),
      HasSubstr("double power = 1.0; const double power_step = std::exp(-k / 48000.0); for (int i "
                "= 0; i < n; i++) { const double t = i / 48000.0; b[i] = a[i] * power; power *= "
                "power_step; }"));
  EXPECT_THAT(By(kAlong,
                 "void f(float* b, float k, int n) { for (int i = 2; i < n; i++) { float t = k * "
                 "(3 - i); b[i] = expf(t + k); } }"),
              HasSubstr("double power = exp((double)((k * (3 - 2)) + k)); const double power_step "
                        "= exp(k * -1.0); for (int i = 2; i < n; i++) { float t = k * (3 - i); "
                        "b[i] = (float)power; power *= power_step; }"));
  EXPECT_THAT(By(kAlong,
                 "void f(const double* a, double* b, double rate, int n) { for (int i = 0; i < n; "
                 "i++) { b[i] = a[i] / std::pow(1.0 + rate, i + 1); } }"),
              HasSubstr("double power = std::pow(1.0 + rate, (double)1); const double power_step = "
                        "std::pow(1.0 + rate, 1.0);"));
  EXPECT_THAT(
      By(kAlong,
         "void f(double* b, double k, double c, int n) { for (int i = 0; i < n; i++) { b[i] = "
         "exp(c - (k * 1.05 * i - c * i) / 2 + 1) + exp(k); } }"),
      HasSubstr("double power = exp((c + 1)); const double power_step = exp(-(k * 1.05 - c) / 2); "
                "for (int i = 0; i < n; i++) { b[i] = power + exp(k); power *= power_step; }"));
}

TEST_F(RewriteTest, NeitherANameNorItsStepIsAnothers) {
  EXPECT_THAT(By(kAlong,
                 "void f(double* b, double power_step, int n) { for (int i = 0; i < n; i++) { b[i] "
                 "= exp(power_step * i); } }"),
              HasSubstr("double power_of = 1.0; const double power_of_step = exp(power_step);"));
}

TEST_F(RewriteTest, AnglesThatGrowByTheSameStepAreTurned) {
  EXPECT_THAT(
      By(kAlong,
         "void f(float* b, float w, int n) { for (int i = 0; i < n; i++) { b[i] = std::sin(w * i + "
         "0.5f) - std::cos(w * i + 0.5f); } }"),
      HasSubstr(
          "double sine = std::sin((double)0.5f); const double sine_step = std::sin(w * 1.0); "
          "double cosine = std::cos((double)0.5f); const double cosine_step = std::cos(w * 1.0); "
          "for (int i = 0; i < n; i++) { b[i] = (float)sine - (float)cosine; const double next = "
          "sine * cosine_step + cosine * sine_step; cosine = cosine * cosine_step - sine * "
          "sine_step; sine = next; }"));
}

TEST_F(RewriteTest, WhatDependsOnTheCounterOfALoopWithinIsCarriedInTables) {
  std::vector<std::string> made;
  for (const Rewrite& each :
       Of("struct Partial { float frequency; float amplitude; float decay; }; void f(const "
          "Partial* partials, float* out, int count, int samples) { const double sample_rate = "
          "48000.0; const double two_pi = 6.283185307179586; for (int i = 0; i < samples; i++) { "
          "double t = i / sample_rate; double value = 0.0; for (int p = 0; p < count; p++) { const "
          "Partial& partial = partials[p]; double envelope = partial.amplitude * "
          "std::exp(-partial.decay * t); value += envelope * std::sin(two_pi * partial.frequency * "
          "t + 0.25); } out[i] = static_cast<float>(value / count); } }"))
    if (each.rule == kAlong) made.push_back(each.source);
  ASSERT_EQ(made.size(), 3U);
  EXPECT_THAT(
      made[0],
      HasSubstr("    for (int p = 0; p < count; p++) {\n"
                "        power[p] = 1.0;\n"
                "        power_step[p] = std::exp(-partials[p].decay / sample_rate);\n"
                "        sine[p] = std::sin(0.25);\n"
                "        sine_step[p] = std::sin(two_pi * partials[p].frequency / sample_rate);\n"
                "        cosine[p] = std::cos(0.25);\n"));
  EXPECT_THAT(made[0],
              HasSubstr("            value += envelope * sine[p];\n"
                        "        }\n"
                        "        for (int p = 0; p < count; p++) {\n"
                        "            power[p] *= power_step[p];\n"
                        "            const double next = sine[p] * cosine_step[p] + cosine[p] * "
                        "sine_step[p];\n"
                        "            cosine[p] = cosine[p] * cosine_step[p] - sine[p] * "
                        "sine_step[p];\n"
                        "            sine[p] = next;\n"
                        "        }\n"));
  EXPECT_THAT(made[0], HasSubstr("    delete[] cosine;\n    delete[] cosine_step;\n}"));
  EXPECT_THAT(made[1], HasSubstr("            value += envelope * sine[p];\n"
                                 "            power[p] *= power_step[p];\n"))
      << "or in the same loop";
  EXPECT_THAT(made[2],
              HasSubstr("    double(*const carried)[6] = new double[count > 0 ? count : 0][6];\n"))
      << "or in one table";
  EXPECT_THAT(made[2], HasSubstr("            value += envelope * carried[p][2];\n"
                                 "            carried[p][0] *= carried[p][1];\n"
                                 "            const double next = carried[p][2] * carried[p][5] + "
                                 "carried[p][4] * carried[p][3];\n"));
}

TEST_F(RewriteTest, TablesOfKnownSizeAreLocal) {
  EXPECT_THAT(
      By(kAlong,
         "void f(const float* w, float* out, int n) { for (int i = 1; i <= n; i++) { float s = 0; "
         "for (int p = 0; p < 8; p++) { s += cosf(w[p] * i); if (s > 9) break; } out[i] = s; } }"),
      HasSubstr("double sine[8]; double sine_step[8]; double cosine[8]; double cosine_step[8]; for "
                "(int p = 0; p < 8; p++) { sine[p] = sin((double)(w[p] * 1)); sine_step[p] = "
                "sin(w[p] * 1.0);"));
}

TEST_F(RewriteTest, WhatGrowsByOtherStepsIsLeftAlone) {
  for (const char* value :
       {"exp(k * (i / 2))", "exp(k * (i % 4))", "exp(k * i * i)", "exp(k / i)",
        "exp(k * (int)(i * "
        "0.5))",
        "exp(a[i] * k)", "exp(k * 3)", "pow(i, 2.5)", "exp(sqrt(i) * k)", "exp((unsigned char)i)"})
    EXPECT_THAT(Rules(std::string("void f(const double* a, double* b, double k, int n) { for (int "
                                  "i = 0; i < n; i++) { b[i] = ") +
                      value + "; } }"),
                Not(Contains(kAlong)))
        << value;
  EXPECT_THAT(Rules("void f(const double* a, double* b, double k, int n) { for (int i = 0; i < n; "
                    "i++) { if (a[i] < 0) continue; b[i] = exp(k * i); } }"),
              Not(Contains(kAlong)))
      << "a turn may end before the step";
}

}  // namespace
}  // namespace whetstone
