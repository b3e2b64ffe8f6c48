// Rules of sums: wide ones in narrow parts.
#include "cpu_bench_worker/rewrite/rewrite_testing.h"

namespace whetstone {
namespace {

using testing::HasSubstr;

constexpr char kNarrowParts[] = "sums in narrow parts";

TEST_F(RewriteTest, AWideSumOfBytesIsTakenInPartsThatAnIntHasRoomFor) {
  const std::string differences =
      By(kNarrowParts,
         "long f(const unsigned char* p, const unsigned char* q, int n) { long sum = 0; for (int i "
         "= 0; i < n; i++) { int a = p[i]; int b = q[i]; sum += abs(a - b); } return sum; }");
  // 65,536 turns of at most 255.
  EXPECT_THAT(differences,
              HasSubstr("for (int from = 0; from < n; from += 65536) { const int until = n - from "
                        "< 65536 ? n : from + 65536; int sum_here = 0; for (int i = from; i < "
                        "until; i++) { int a = p[i]; int b = q[i]; sum_here += abs(a - b); } sum "
                        "+= sum_here; }"));
  // A product of a byte and a short is at most 255 * 32,768: room for 257.
  EXPECT_THAT(By(kNarrowParts,
                 "double f(const unsigned char* p, const short* q, int n) { double sum = 0; for "
                 "(int i = 0; i < n; i++) if (q[i] != 3) sum -= p[i] * q[i]; return sum; }"),
              testing::AllOf(HasSubstr("from += 257"), HasSubstr("sum_here -= p[i] * q[i];"),
                             HasSubstr("sum += sum_here;")));
  EXPECT_THAT(
      By(kNarrowParts,
         "double f(const unsigned char* p, int n) { double sum = 0; for (int i = 2; i <= n; "
         "i++) sum = sum + (double)(p[i] % 16 + (p[i] > 7 ? 1 : 2)); return sum; }"),
      testing::AllOf(HasSubstr("for (int from = 2; from < n + 1; from += 65536)"),
                     HasSubstr("sum_here = sum_here + (p[i] % 16 + (p[i] > 7 ? 1 : 2));")));
  EXPECT_THAT(By(kNarrowParts,
                 "long f(const int* r, int n) { long pairs = 0; for (int i = 0; i < n; i++) for "
                 "(int j = i + 1; j < n; j++) if (r[j] < r[i]) pairs++; return pairs; }"),
              testing::AllOf(HasSubstr("for (int from = i + 1; from < n; from += 65536)"),
                             HasSubstr("if (r[j] < r[i]) pairs_here++;")));
}

TEST_F(RewriteTest, ATurnOfANarrowSumIsAllThatItAdds) {
  // Two squares of bytes: 2,147,483,647 / 130,050.
  EXPECT_THAT(
      By(kNarrowParts,
         "long f(const unsigned char* p, const unsigned char* q, int n) { long sum = 0; for "
         "(int i = 0; i < n; i++) { sum += p[i] * p[i]; sum += (long)q[i] * q[i]; } return "
         "sum; }"),
      testing::AllOf(HasSubstr("from += 16512"), HasSubstr("sum_here += (long)q[i] * "
                                                           "q[i];")));
  // What it adds is not converted there and back.
  EXPECT_THAT(
      By(kNarrowParts,
         "double f(const unsigned char* p, int n) { double sum = 0; for (int i = 0; i < 99; "
         "i++) { sum += (double)p[i]; } return sum; }"),
      HasSubstr("int sum_here = 0; for (int i = 0; i < 99; i++) { sum_here += p[i]; } sum "
                "+= sum_here;"));
  EXPECT_THAT(
      By(kNarrowParts,
         "long f(const unsigned char* p, const unsigned* u, int n) { long sum = 0; for (int "
         "i = 0; i < n; i++) { sum += std::max(p[i] - 3, 255 & p[i]) + (u[i] >> 24); } "
         "return sum; }"),
      HasSubstr("sum_here += std::max(p[i] - 3, 255 & p[i]) + (u[i] >> 24);"));
}

TEST_F(RewriteTest, NoSumIsNarrowedThatAnIntMayNotHold) {
  const auto fits = [](const std::string& declared, const std::string& added) {
    return Fits(kNarrowParts,
                "long f(const unsigned char* p, const short* q, const int* r, const "
                "unsigned* u, int n) { " +
                    declared + " for (int i = 0; i < n; i++) { " + added +
                    " } return (long)sum; }");
  };
  EXPECT_TRUE(fits("long sum = 0;", "sum += p[i];"));
  EXPECT_FALSE(fits("int sum = 0;", "sum += p[i];")) << "an int already";
  EXPECT_FALSE(fits("long sum = 0;", "sum += r[i];")) << "any int";
  EXPECT_FALSE(fits("long sum = 0;", "sum += q[i] * q[i];")) << "two turns fill it";
  EXPECT_FALSE(fits("long sum = 0;", "sum += p[i] - u[i];")) << "unsigned differences wrap";
  EXPECT_FALSE(fits("double sum = 0;", "sum += p[i] * 0.5;")) << "fractions";
  EXPECT_FALSE(fits("double sum = 0;", "sum += p[i]; sum += r[i];")) << "one of both";
  EXPECT_FALSE(fits("long sum = 0;", "int a = p[i]; a += r[i]; sum += a;")) << "changed since";
  EXPECT_FALSE(fits("long sum = 0;", "sum += p[i]; if (sum > 99) break;")) << "read in between";
  EXPECT_FALSE(fits("long sum = 0; double all = 0;", "all += r[i] * 0.5; sum += p[i];"))
      << "another sum takes as long";
  EXPECT_FALSE(Fits(kNarrowParts,
                    "long f(const unsigned char* p, int n) { long sum = 0; for (int i "
                    "= 0; i < 3; i++) { sum += p[i]; } return sum; }"))
      << "three turns";
  EXPECT_FALSE(Fits(kNarrowParts,
                    "long f(const unsigned char* p, int n) { long sum = 0; for (short "
                    "i = 0; i < n; i++) { sum += p[i]; } return sum; }"))
      << "a counter without room for a part";
  EXPECT_FALSE(Fits(kNarrowParts,
                    "long f(const unsigned char* p, double n) { long sum = 0; for "
                    "(int i = 0; i < n; i++) { sum += p[i]; } return sum; }"))
      << "an end between two turns";
  EXPECT_TRUE(fits("long sum = 0;", "sum += (r[i] >> 3 & 15) + (unsigned char)r[i];"));
}

}  // namespace
}  // namespace whetstone
