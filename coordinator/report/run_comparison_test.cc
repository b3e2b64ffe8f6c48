#include "coordinator/report/run_comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/durable/campaign_plan_testing.h"
#include "coordinator/report/page_testing.h"
#include "coordinator/report/report.h"
#include "coordinator/report/svg_testing.h"

namespace whetstone {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// A run with these rewards by step, and these settings besides.
ComparedRun RunOf(const std::string& name, const std::vector<double>& rewards,
                  const std::vector<std::string>& sets = {}) {
  ComparedRun run{MakeTestPlan({.sets = sets}), {}};
  run.plan.campaign.set_name(name);
  run.summary.name = name;
  run.summary.run_dir = "/runs/" + name;
  run.summary.steps_total = 6;
  run.summary.steps_done = static_cast<int64_t>(rewards.size());
  for (const double reward : rewards) {
    run.summary.rows.push_back({{"reward", reward}, {"problem/a/reward", reward}});
  }
  return run;
}

TEST(RunComparisonTest, SettingsThatDifferAreListed) {
  const std::string html = ComparisonHtml(
      {RunOf("one", {0.5}, {"train.lr=1.0e-5"}), RunOf("two", {0.75}, {"train.lr=2.0e-5"})});
  ExpectHarmless(html);
  EXPECT_THAT(html, AllOf(HasSubstr("<h1>Comparison of one, two</h1>"),
                          HasSubstr("<th scope=\"col\">one</th><th scope=\"col\">two</th>"),
                          HasSubstr("<tr><th scope=\"row\">train.lr</th><td>1e-05</td>"
                                    "<td>2e-05</td></tr>"),
                          HasSubstr("<tr><th scope=\"row\">two</th><td>/runs/two</td><td>stopped"
                                    "</td><td>1 of 6</td><td>0.750</td><td>0.750</td></tr>"),
                          Not(HasSubstr("train.steps")), Not(HasSubstr("standard deviation"))));
  // Each is a line of its own, with its name in the legend.
  EXPECT_THAT(html, HasSubstr("step 1\none: 0.5\ntwo: 0.75<"));
}

TEST(RunComparisonTest, SeedsAreOneLineWithABand) {
  const std::string html = ComparisonHtml({RunOf("s1", {1, 2, 9}, {"seed=1"}),
                                           RunOf("other", {0, 0, 0}, {"train.lr=2.0e-5"}),
                                           RunOf("s2", {3, 6}, {"seed=2"})});
  EXPECT_THAT(html, HasSubstr("<li>2 runs: s1, s2</li>"));
  // Means of 1 and 3, of 2 and 6; the deviations' squares add up to 2 and 8, over n - 1.
  EXPECT_THAT(html, HasSubstr("step 1\ns1, s2: 2 ± 1.414\nother: 0<"));
  EXPECT_THAT(html, HasSubstr("step 2\ns1, s2: 4 ± 2.828\nother: 0<"));
  EXPECT_THAT(html, HasSubstr("step 3\ns1, s2: –\nother: 0<")) << "where not all of them got";
  EXPECT_THAT(html, HasSubstr("<tr><th scope=\"row\">seed</th><td>1</td>"));
  size_t bands = 0, lines = 0;
  for (const SvgImage& image : ReadSvgs(html)) {
    for (const SvgElement& e : image.elements) {
      EXPECT_TRUE(e.box.Inside(image.view)) << "<" << e.tag << "> " << e.text;
      lines += e.tag == "polyline" ? 1 : 0;
      bands += e.tag == "polygon" && e.box.right - e.box.left > 20 ? 1 : 0;
    }
  }
  EXPECT_EQ(lines, 4u) << "two groups, of the run's rewards and of the problem's";
  EXPECT_EQ(bands, 2u);
}

// Each run has copies of its prompt files.
TEST(RunComparisonTest, PromptFilesCountByWhatTheySay) {
  ComparedRun one = RunOf("one", {1}), two = RunOf("two", {3});
  one.plan.campaign.set_problems(0, "/runs/one/inputs/0-a.md");
  two.plan.campaign.set_problems(0, "/runs/two/inputs/0-a.md");
  EXPECT_THAT(ComparisonHtml({one, two}),
              AllOf(HasSubstr("None but the names."), HasSubstr("<li>2 runs: one, two</li>")));
  two.plan.problems[0].hash = "another";
  EXPECT_THAT(ComparisonHtml({one, two}),
              AllOf(HasSubstr("<tr><th scope=\"row\">prompt file of a</th><td>hash-a</td>"
                              "<td>another</td></tr>"),
                    HasSubstr("step 1\none: 1\ntwo: 3<")));
}

TEST(RunComparisonTest, AChangeInTheCourseMakesAnotherExperiment) {
  ComparedRun changed = RunOf("b", {1, 1});
  changed.summary.changes = {{{2, "train.lr", "1e-05", "<2e-05>"}, 0}};
  const std::string html = ComparisonHtml({RunOf("a", {1, 1}), changed});
  EXPECT_THAT(html, AllOf(HasSubstr("None but the names."), HasSubstr("step 2\na: 1\nb: 1<"),
                          HasSubstr("<li>b, from step 2: train.lr 1e-05 -&gt; &lt;2e-05&gt; ("),
                          Not(HasSubstr("standard deviation"))));
}

TEST(RunComparisonTest, RunsOfOneNameAreCalledByTheirFolders) {
  std::vector<ComparedRun> runs = {RunOf("same", {1}), RunOf("same", {2}, {"train.lr=2.0e-5"})};
  runs[1].summary.run_dir = "/runs/ein <Ü> name";
  const std::string html = ComparisonHtml(runs);
  ExpectHarmless(html);
  EXPECT_THAT(html, HasSubstr("<h1>Comparison of same, ein &lt;Ü&gt; name</h1>"));
  runs[1].summary.run_dir = "/elsewhere/same";
  EXPECT_THAT(ComparisonHtml(runs), HasSubstr("Comparison of /runs/same, /elsewhere/same"));
}

TEST(RunComparisonTest, BestProgramsAndEvaluationsStandSideBySide) {
  ComparedRun one = RunOf("one", {}, {"train.lr=3.0e-5"}), two = RunOf("two", {});
  IncumbentEntry incumbent;
  incumbent.verdict.set_speedup(3);
  incumbent.verdict.set_speedup_low(2.5);
  incumbent.verdict.set_speedup_high(3.5);
  two.summary.incumbents["b"] = incumbent;
  one.summary.eval_rows[0] = {{"eval/correct", 0.25}};
  one.summary.eval_rows[10] = {{"eval/correct", 0.5}};
  two.summary.eval_rows[20] = {{"eval/correct", 0.75}};
  const std::string html = ComparisonHtml({one, two});
  ExpectHarmless(html);
  EXPECT_THAT(html, AllOf(HasSubstr("<tr><th scope=\"row\">a</th><td>–</td><td>–</td></tr>"),
                          HasSubstr("<tr><th scope=\"row\">b</th><td>–</td>"
                                    "<td>3.00× (2.50 to 3.50)</td></tr>"),
                          HasSubstr("step 10\none: 50.0%\ntwo: –<"),
                          HasSubstr("step 20\none: –\ntwo: 75.0%<"),
                          HasSubstr("<td>0 of 6</td><td>–</td><td>–</td></tr>")));
}

TEST(RunComparisonTest, IsNeverTooLargeToMail) {
  std::vector<ComparedRun> runs;
  for (int r = 0; r < 12; ++r) {
    ComparedRun run = RunOf(absl::StrCat("run ", r), {}, {absl::StrCat("train.lr=1.0e-", r + 1)});
    const PlannedProblem planned = run.plan.problems[0];
    run.plan.problems.clear();
    std::map<std::string, double> row;
    for (int p = 0; p < 200; ++p) {
      run.plan.problems.push_back(planned);
      run.plan.problems.back().problem.set_id(absl::StrCat("p", p));
      row[absl::StrCat("problem/p", p, "/reward")] = r;
    }
    run.summary.rows = std::vector<std::map<std::string, double>>(100, row);
    runs.push_back(std::move(run));
  }
  const std::string html = ComparisonHtml(runs);
  EXPECT_LE(html.size(), kPageBytesMax);
  EXPECT_THAT(html, AllOf(HasSubstr("as the page would be too large to mail: curves of p"),
                          HasSubstr("</html>")));
}

}  // namespace
}  // namespace whetstone
