#include "coordinator/report/report.h"

#include <gtest/gtest.h>

#include <string>

namespace whetstone {
namespace {

TEST(ReportTest, IsOnePageAndHarmless) {
  CampaignPlan plan;
  plan.campaign.set_name("x");
  PlannedProblem planned;
  planned.problem.set_id("p");
  planned.problem.set_reference("if (a < b && c > d) {}");
  plan.problems.push_back(planned);
  RunSummary summary;
  summary.name = "<script>alert(1)</script>";
  summary.steps_total = 3;
  for (int i = 0; i < 3; ++i) {
    summary.rows.push_back({{"reward", 0.1 * i}, {"reward_std", 0.2}, {"outcome/correct", 0.5}});
  }
  IncumbentEntry incumbent;
  incumbent.source = "a[i] < b && \"</pre><script>\"";
  incumbent.verdict.set_speedup(3.25);
  summary.incumbents["p"] = incumbent;
  const std::string html = ReportHtml(plan, summary);
  EXPECT_EQ(html.find("<script"), std::string::npos);
  EXPECT_EQ(html.find("http"), std::string::npos) << "nothing from outside";
  EXPECT_NE(html.find("<svg"), std::string::npos);
  EXPECT_NE(html.find("3.25×"), std::string::npos);
  EXPECT_NE(html.find("a[i] &lt; b &amp;&amp;"), std::string::npos);
}

}  // namespace
}  // namespace whetstone
