#include "coordinator/discover/code_clues.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace whetstone {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

TEST(CodeCluesTest, DivisorsAreNamesBelowAFractionLine) {
  EXPECT_THAT(CluesIn("y = x / step + 1; z = a / (2.0f * knee) * b;").divisors,
              UnorderedElementsAre("step", "2", "0f", "knee"));
  EXPECT_THAT(CluesIn("y /= std::sqrt(s.var); k = n / d[i + 1];").divisors,
              UnorderedElementsAre("std", "sqrt", "s", "var", "d", "i", "1"));
  EXPECT_THAT(CluesIn("// a / b\n/* c / d */ x = \"e / f\" + '/';\n#define G g / h\n").divisors,
              IsEmpty());
  EXPECT_THAT(CluesIn("x /").divisors, IsEmpty());
  EXPECT_THAT(CluesIn("x / <").divisors, IsEmpty());
  EXPECT_THAT(CluesIn("x / static_cast<float>(rate) * k").divisors,
              UnorderedElementsAre("static_cast", "float", "rate"));
  EXPECT_THAT(CluesIn("n = 1'000; a = R\"(b / \"c)\"; #define Q(x) \\\n x / y\n z / w").divisors,
              ElementsAre("w"));
}

TEST(CodeCluesTest, WholeNumbersAreMadeOfWhatCounts) {
  EXPECT_THAT(CluesIn("int n = (int)(end / step) + 1; m = static_cast<size_t>(rate * s.t);").counts,
              UnorderedElementsAre("end", "step", "rate", "s", "t"));
  EXPECT_THAT(CluesIn("k = int(x); long n = y; f(int a); (int)").counts, ElementsAre("x"));
  EXPECT_THAT(CluesIn("(int)").counts, IsEmpty());
}

TEST(CodeCluesTest, NeighboursTellWhereRowsBegin) {
  EXPECT_THAT(CluesIn("for (int e = begins[t]; e < begins[t + 1]; ++e) s += x[e];").begins,
              ElementsAre("begins"));
  EXPECT_THAT(CluesIn("len = at[r+1] - at[ r ]; n = x[i] + y[i + 1] + z[i + 2] + z[i];").begins,
              ElementsAre("at"));
  EXPECT_THAT(CluesIn("a[").begins, IsEmpty());
}

TEST(CodeCluesTest, LoopsCountBetweenFieldsOrArrays) {
  EXPECT_THAT(CluesIn("for (int i = deal.first; i < deal.last; ++i) {}").ranges,
              ElementsAre(Pair("first", "last")));
  EXPECT_THAT(CluesIn("for (i = d[k]->from; i <= d[k]->to; i++) {}").ranges,
              ElementsAre(Pair("from", "to")));
  EXPECT_THAT(CluesIn("for (size_t i = lo[k]; i < hi[k]; i++) {}").ranges,
              ElementsAre(Pair("lo", "hi")));
  for (const char* other :
       {"for (int i = lo[k]; i < hi[k + 1]; ++i) {}", "for (int i = a.first; i < b.last; ++i) {}",
        "for (int i = a.first; j < a.last; ++i) {}", "for (int i = 0; i < n; ++i) {}",
        "for (;;) {}", "for (auto x : y) {}", "for (", "for (int i = a.first; i"}) {
    EXPECT_THAT(CluesIn(other).ranges, IsEmpty()) << other;
  }
}

}  // namespace
}  // namespace whetstone
