#include "coordinator/authoring/made_again.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "coordinator/authoring/plain_source.h"

namespace whetstone {
namespace {

using testing::HasSubstr;

constexpr char kTypes[] =
    "enum class Side : char { kBuy, kSell };\n"
    "struct Order { bool open; Side side; std::vector<int> lots; std::vector<double> prices; };\n";

std::string MadePlain(const std::string& code) {
  const absl::StatusOr<PlainSource> plain = MakePlain(code, "f.cc", "");
  return plain.ok() ? plain->code : std::string(plain.status().message());
}

TEST(MadeAgainTest, WhatAProblemCannotHandOverIsMadeOfWhatItCan) {
  const std::string code =
      absl::StrCat(kTypes, "int f(const std::vector<Order>& orders) { return g(orders); }");
  EXPECT_EQ(
      MadePlain(code),
      absl::StrCat(
          kTypes,
          "int f(size_t orders_size, const unsigned char* orders_open, const unsigned char* "
          "orders_side, size_t orders_length, const int* orders_lots, const double* orders_prices) "
          "{\n"
          "  std::vector<Order> orders{};\n"
          "  orders.resize(orders_size);\n"
          "  for (size_t orders_at = 0; orders_at < orders_size; ++orders_at) {\n"
          "    orders[orders_at].open = (orders_open[orders_at] & 1) != 0;\n"
          "    orders[orders_at].side = static_cast<Side>(orders_side[orders_at] % 2);\n"
          "    orders[orders_at].lots.resize(orders_length);\n"
          "    for (size_t orders_lots_at = 0; orders_lots_at < orders_length; ++orders_lots_at) "
          "{\n"
          "      orders[orders_at].lots[orders_lots_at] = orders_lots[orders_at * orders_length + "
          "orders_lots_at];\n    }\n"
          "    orders[orders_at].prices.resize(orders_length);\n"
          "    for (size_t orders_prices_at = 0; orders_prices_at < orders_length; "
          "++orders_prices_at) {\n"
          "      orders[orders_at].prices[orders_prices_at] = orders_prices[orders_at * "
          "orders_length + orders_prices_at];\n    }\n  } return g(orders); }"));
  EXPECT_THAT(
      MakePlain(code, "f.cc", "")->extents,
      testing::UnorderedElementsAre(testing::Pair("orders_open", "orders_size"),
                                    testing::Pair("orders_side", "orders_size"),
                                    testing::Pair("orders_lots", "orders_size*orders_length"),
                                    testing::Pair("orders_prices", "orders_size*orders_length")));
}

TEST(MadeAgainTest, AResultIsWrittenOut) {
  EXPECT_EQ(MadePlain("std::vector<std::vector<int>> f(const int* x, int n) {\n"
                      "  auto even = [](int a) { return a % 2 == 0; };\n"
                      "  if (n == 0) return {};\n  return rows(x, [&](int k) { return k; });\n}"),
            "size_t f(const int* x, int n, size_t* result_lengths, int* result) {\n"
            "  const auto write_result = [&](const std::vector<std::vector<int>>& result_given) { "
            "for (const auto& result_each : result_given) { *result_lengths++ = "
            "result_each.size(); for (const auto& result_each_ : result_each) { *result++ = "
            "result_each_; } } return result_given.size(); };\n"
            "  auto even = [](int a) { return a % 2 == 0; };\n"
            "  if (n == 0) return write_result({});\n"
            "  return write_result(rows(x, [&](int k) { return k; }));\n}");
  EXPECT_EQ(MadePlain("bool f(const int* x, bool up) { return x[0] > 0 == up; }"),
            "int f(const int* x, unsigned char up_given) {\n  bool up{};\n"
            "  up = (up_given & 1) != 0; return static_cast<bool>(x[0] > 0 == up); }");
  EXPECT_THAT(
      MadePlain("std::pair<double, bool> f(const int* x) { return {1.0, x[0] > 2}; }"),
      HasSubstr("void f(const int* x, double* result_first, unsigned char* result_second)"));
}

TEST(MadeAgainTest, AStructOfItselfHasNoEnd) {
  const std::string node = "struct Node { int v; std::vector<Node> kids; };\n";
  EXPECT_EQ(MadePlain(node + "int f(const Node& n) { return g(n); }"),
            node + "int f(Node n) { return g(n); }");
  EXPECT_EQ(MadePlain(node + "std::vector<Node> f(int n) { return g(n); }"),
            node + "std::vector<Node> f(int n) { return g(n); }");
}

TEST(MadeAgainTest, WhatIsNotKnownStays) {
  for (const char* code : {"int f(const std::map<int, int>& m) { return m.size(); }",
                           "int f(const std::vector<int*>& m) { return m.size(); }",
                           "std::map<int, int> f(int m) { return {}; }",
                           "int f(std::vector<std::string>& names) { return names.size(); }"})
    EXPECT_EQ(MadePlain(code), code);
}

}  // namespace
}  // namespace whetstone
