// Rules of borders.
#include "cpu_bench_worker/rewrite/rewrite_testing.h"

namespace whetstone {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

const char kPadded[] = "padded";
const char kHead[] =
    "void f(const float* in, const float* w, float* out, int n) { for (int i = 0; i < n; i++) { "
    "float s = 0; for (int k = -2; k <= 2; k++) { ";
const char kTail[] = " } out[i] = s; } }";

std::string Sum(const std::string& turn) { return kHead + turn + kTail; }

TEST_F(RewriteTest, WhatIsAddedUpWithinTheBorderIsPaddedWithZeros) {
  EXPECT_THAT(
      By(kPadded, Sum("int x = i + k; if (x >= 0 && n > x) { s += in[x] * w[k + 2]; }")),
      HasSubstr("{ float* padded = new float[(n + 4)]; for (int u = -2; n + 2 > u; u++) "
                "padded[u + 2] = u >= 0 && u < n ? in[u] : 0; for (int i = 0; i < n; i++) { "
                "float s = 0; for (int k = -2; k <= 2; k++) { s += padded[i + k + 2] * w[k + 2]; } "
                "out[i] = s; } delete[] padded; }"));
  EXPECT_THAT(By(kPadded, Sum("if (k >= -i && k < n - i) s += in[i + k];")),
              HasSubstr("padded[u + 2] = u >= 0 && u < n ? in[u] : 0;"));
}

TEST_F(RewriteTest, WhatIsCountedWithinTheBorderIsPaddedToo) {
  EXPECT_THAT(
      By(kPadded, Sum("int x = i - k; if (x >= 0 && x < n) { float v = in[x]; float d = v - "
                      "in[i]; s += v * d; out[0] = 0; }")),
      "")
      << "it does something else, too";
  const std::string both =
      By(kPadded,
         "void f(const float* in, float* out, int n) { for (int i = 0; i < n; i++) { float s = 0; "
         "float t = 0; int c = 0; for (int k = 0; k < 3; k++) { int x = i - k; if (x >= 0) { float "
         "v = in[x]; s += v * k; t += v + 1; c++; } } out[i] = s / c + t; } }");
  EXPECT_THAT(both, HasSubstr("padded2[u + 2] = u >= 0 ? 1 : 0;"));
  EXPECT_THAT(both, HasSubstr("int* padded3 = new int[(n + 2)];"));
  EXPECT_THAT(both, HasSubstr("{ float v = padded[i + 2 - k]; s += v * k; t += (v + 1) * "
                              "padded2[i + 2 - k]; c += padded3[i + 2 - k]; }"));
}

TEST_F(RewriteTest, WhatIsReadAtTheBorderIsPadded) {
  EXPECT_THAT(
      By(kPadded,
         "static int held(int v, int last) { if (v < 0) return 0; if (v > last) return last; "
         "return v; } void f(const unsigned char* a, const unsigned char* b, int* out, int w, int "
         "h, int range) { for (int by = 0; by < h; by += 8) { for (int dy = -range; dy <= range; "
         "dy++) { for (int y = by; y < by + 8; y++) { for (int x = 0; x < w; x++) { int ry = "
         "held(y + dy, h - 1); int d = a[y * w + x] - b[x + ry * w]; out[by] += d * d; } } } } }"),
      HasSubstr("unsigned char* padded = new unsigned char[(2 * range + h + 7) * w]; for "
                "(int u = -range; range + h + 7 > u; u++) for (int vv = 0; w > vv; vv++) "
                "padded[(u + range) * w + vv] = b[vv + (held(u, (h - 1))) * w]; for (int by = 0; "
                "by < h; by += 8) { for (int dy = -range; dy <= range; dy++) { for (int y = by; y "
                "< by + 8; y++) { for (int x = 0; x < w; x++) { int d = a[y * w + x] - padded[(y + "
                "dy + range) * w + x]; out[by] += d * d; } } } } delete[] padded;"));
  for (const char* read : {"in[(i + k + n) % n]", "(i + k < 0 || i + k >= n ? 0.f : in[i + k])",
                           "in[i + k < 0 ? 0 : i + k >= n ? n - 1 : i + k]"})
    EXPECT_THAT(Rules(Sum(std::string("s += ") + read + ";")), Contains(kPadded)) << read;
  EXPECT_THAT(By(kPadded,
                 "static float at(const float* p, int i, int n) { return i < 0 || i >= n ? 0 : "
                 "p[i]; } " +
                     Sum("s += at(in, i + k, n) * at(in, i + k + 1, n);")),
              HasSubstr("s += padded[i + k + 2] * padded[i + k + 3];"));
}

TEST_F(RewriteTest, NeighboursThatAreReadOneByOneArePadded) {
  const std::string held =
      "static int held(int v, int end) { return v < 0 ? 0 : v < end ? v : end - 1; } void f(const "
      "float* a, float* b, int n) { for (int i = 0; i < n; i++) { ";
  EXPECT_THAT(
      By(kPadded, held + "b[i] = a[held(i - 1, n)] + a[held(i, n)] + a[held(i + 1, n)]; } }"),
      HasSubstr("float* padded = new float[(n + 2)]; for (int u = -1; n + 1 > u; u++) "
                "padded[u + 1] = a[held(u, n)]; for (int i = 0; i < n; i++) { b[i] = padded[i] + "
                "padded[i + 1] + padded[i + 2]; } delete[] padded;"));
  EXPECT_THAT(Rules(held + "b[i] = a[held(i - 1, n)] + a[held(i + 1, n)]; } }"),
              Not(Contains(kPadded)))
      << "to make the copy takes as long";
}

TEST_F(RewriteTest, WhatCannotBeReadBeforeIsNotPadded) {
  for (const char* turn :
       {"int x = i + k; if (x >= 0 && x < n) { s += in[x]; break; }",
        "int x = i + k; if (x >= 0 && x < n && s < 9) { s += in[x]; }",
        "int x = i + k; if (x >= 0 && x < n) { s += in[x]; } else { s += 1; }",
        "int x = i + k; if (x >= 0 && x < n) { s += out[x]; }",
        "int x = i + k; if (x >= 0 && in[x] > 0) { s += in[x]; }",
        "if (i >= 2) { s += in[i - 2]; }", "s += in[i + k];",
        "static int t = 0; s += in[i + k < 0 ? t++ : i + k];", "s += in[i + k < s ? 0 : i + k];"})
    EXPECT_THAT(Rules(Sum(turn)), Not(Contains(kPadded))) << turn;
  EXPECT_THAT(Rules("int g(int); void f(const int* a, int* b, int n) { for (int i = 0; i < n; i++) "
                    "for (int k = 0; k < 3; k++) b[i] += a[g(i + k)]; }"),
              Not(Contains(kPadded)))
      << "no one knows what g does";
  EXPECT_THAT(Rules("int f(const int* a, int n) { int s = 0; for (int i = 0; i < n; i++) for (int "
                    "k = 0; k < 3; k++) { s += a[(i + k) % n]; if (s < 0) return 1; } return s; }"),
              Not(Contains(kPadded)))
      << "the copy would stay behind";
}

}  // namespace
}  // namespace whetstone
