#include "coordinator/report/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/sha256.h"

namespace whetstone {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(HtmlTest, ThePolicyKnowsTheStyleAndNothingElse) {
  const std::string head = PageHead("a <b> & \"c\"", ".more{color:red}");
  const size_t begin = head.find("<style>") + 7;
  const std::string style = head.substr(begin, head.find("</style>") - begin);
  EXPECT_THAT(style, EndsWith(".more{color:red}"));
  const std::string hash = absl::Base64Escape(absl::HexStringToBytes(Sha256Hex(style)));
  const std::string policy = absl::StrCat(
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'sha256-",
      hash, "'; base-uri 'none'; form-action 'none'\">");
  EXPECT_THAT(head, HasSubstr(policy));
  EXPECT_LT(head.find(policy), head.find("<style>")) << "or it would come too late";
  EXPECT_THAT(head, AllOf(HasSubstr("<title>a &lt;b&gt; &amp; &quot;c&quot;</title>"),
                          HasSubstr("<h1>a &lt;b&gt; &amp; &quot;c&quot;</h1>"),
                          HasSubstr("width=device-width,initial-scale=1")));
}

TEST(HtmlTest, TablesAreOfPlainText) {
  const std::string table = HtmlTable("all \"runs\"", {"run", "<x>"},
                                      {{"a & b", "1"}, {"c", std::string(41, 'y')}}, {"#\"a"});
  EXPECT_THAT(
      table,
      AllOf(HasSubstr("<div class=\"wide\" tabindex=\"0\" role=\"region\" "
                      "aria-label=\"all &quot;runs&quot;\"><table>"),
            HasSubstr("<th scope=\"col\">run</th><th scope=\"col\">&lt;x&gt;</th>"),
            HasSubstr("<tr><th scope=\"row\"><a href=\"#&quot;a\">a &amp; b</a></th><td>1</td>"),
            HasSubstr("<tr><th scope=\"row\">c</th><td class=\"long\">yyy")));
}

TEST(HtmlTest, LongTextIsCutBetweenCharactersAndSaysSo) {
  EXPECT_EQ(HtmlPre("a < b\n", 6), "<pre tabindex=\"0\">a &lt; b\n</pre>");
  EXPECT_EQ(HtmlPre("a < b\n", 5),
            "<pre tabindex=\"0\">a &lt; b</pre><p class=\"note\">1 more bytes are left out.</p>");
  EXPECT_THAT(HtmlPre("aüb", 2), AllOf(HasSubstr(">a</pre>"), HasSubstr(">3 more bytes")));
  EXPECT_THAT(HtmlPre("aüb", 3), HasSubstr(">aü</pre>"));
  EXPECT_LT(HtmlPre(std::string(1'000'000, 'x')).size(), kPreBytesMax + 200);
}

TEST(HtmlTest, DiffsAreColouredButForTheirNames) {
  EXPECT_EQ(HtmlDiff("--- a\n+++ b\n@@ -1 +1 @@\n-int x<1>;\n+int y;\n same\n"),
            "<pre tabindex=\"0\">--- a\n+++ b\n@@ -1 +1 @@\n<del>-int x&lt;1&gt;;</del>\n"
            "<ins>+int y;</ins>\n same\n</pre>");
}

TEST(HtmlTest, NumbersThatAreNoneAreADash) {
  EXPECT_EQ(NumberText(0.126, 2), "0.13");
  EXPECT_EQ(NumberText(3, 1, "×"), "3.0×");
  EXPECT_EQ(NumberText(std::numeric_limits<double>::quiet_NaN(), 2, "×"), "–");
  EXPECT_EQ(NumberText(-std::numeric_limits<double>::infinity(), 2), "–");
}

TEST(HtmlTest, WhatDoesNotFitIsNamed) {
  const PagePart small = {"small", std::string(100, 's')};
  const PagePart large = {"the <large> one", std::string(10'000, 'l')};
  EXPECT_EQ(PartsThatFit({small, large}, 20'000, "Elsewhere."), small.html + large.html);
  const std::string cut = PartsThatFit({large, large, small}, 12'000, "Elsewhere.");
  EXPECT_THAT(cut, AllOf(HasSubstr(large.html + small.html), Not(HasSubstr(large.html + "l")),
                         HasSubstr("Left out, as the page would be too large to mail: the "
                                   "&lt;large&gt; one. Elsewhere.")));
  EXPECT_LE(cut.size(), 12'000u);
  const std::string none = PartsThatFit(std::vector<PagePart>(15, large), 0, "Elsewhere.");
  EXPECT_THAT(none, HasSubstr(" and 3 more. Elsewhere."));
  EXPECT_LT(none.size(), 1200u);
}

}  // namespace
}  // namespace whetstone
