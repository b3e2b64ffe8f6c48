#include "coordinator/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "absl/strings/str_cat.h"
#include "coordinator/durable/campaign_plan_testing.h"
#include "coordinator/report/svg_testing.h"

namespace whetstone {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A run of two problems, "a" and "b", of `steps` steps; only "a" has a program that is fast.
struct ReportedRun {
  explicit ReportedRun(int steps) {
    summary.name = "<script>alert(1)</script>";
    summary.steps_total = steps;
    summary.steps_done = steps;
    for (int i = 0; i < steps; ++i) {
      summary.rows.push_back({{"reward", 0.1 * i - 0.5},
                              {"reward_std", 0.7},
                              {"outcome/correct", 0.5},
                              {"outcome/memory_limit", 0.25},
                              {"outcome/compile_error", 0.25},
                              {"completions/distinct", 0.9},
                              {"completions/clipped_ratio", 0.1},
                              {"time/prepare", 2},
                              {"time/generate", 3},
                              {i % 2 == 0 ? "problem/a/reward" : "problem/b/reward", 0.25}});
    }
    plan.problems[0].problem.set_reference("if (a < b && c > d) {}");
    IncumbentEntry incumbent;
    incumbent.source = "a[i] < b && \"</pre><script>\"";
    incumbent.verdict.set_speedup(3.25);
    summary.incumbents["a"] = incumbent;
    for (const v1::Outcome outcome : {v1::CORRECT, v1::COMPILE_ERROR}) {
      OutcomeSample sample;
      sample.outcome = outcome;
      sample.count = 2;
      sample.alike = 1;
      sample.typical.judged.verdict.set_outcome(outcome);
      sample.typical.judged.verdict.set_detail(
          absl::StrCat("why <", v1::Outcome_Name(outcome), ">"));
      sample.typical.completion.set_text(absl::StrCat("wrote <", v1::Outcome_Name(outcome), ">"));
      sample.typical.completion.set_finish(v1::Completion::LENGTH);
      samples["a"].outcomes.push_back(sample);
      samples["a"].verdicts += sample.count;
    }
    samples["a"].best = samples["a"].outcomes[0].typical;
  }
  std::string Html() const { return ReportHtml(plan, summary, samples, portability); }

  CampaignPlan plan = MakeTestPlan({});
  RunSummary summary;
  std::map<std::string, ProblemSamples> samples;
  std::optional<Portability> portability;
};

TEST(ReportTest, IsOnePageAndHarmless) {
  const std::string html = ReportedRun(6).Html();
  EXPECT_EQ(html.find("<script"), std::string::npos);
  EXPECT_EQ(html.find("http"), std::string::npos) << "nothing from outside";
  EXPECT_NE(html.find("<svg"), std::string::npos);
  EXPECT_NE(html.find("3.25×"), std::string::npos);
  EXPECT_NE(html.find("a[i] &lt; b &amp;&amp;"), std::string::npos);
}

TEST(ReportTest, EveryChartKeepsToItself) {
  for (const int steps : {1, 2, 40}) {
    SCOPED_TRACE(steps);
    size_t plots = 0;
    for (const SvgImage& image : ReadSvgs(ReportedRun(steps).Html())) {
      plots += image.attributes.count("class");
      for (const SvgElement& e : image.elements) {
        EXPECT_TRUE(e.box.Inside(image.view)) << "<" << e.tag << "> " << e.text;
      }
    }
    EXPECT_GE(plots, 4u);
  }
}

// What the page is made of breaks or scrolls within itself: no <pre> or <table> can be wider than
// it. (A browser's picture of 400 px shows it; this holds the rules that make it so.)
TEST(ReportTest, NothingIsWiderThanThePage) {
  const std::string html = ReportedRun(6).Html();
  for (const char* rule :
       {"overflow-wrap:anywhere}", ".wide{overflow-x:auto}", "svg.plot{display:block;width:100%",
        "width=device-width,initial-scale=1"}) {
    EXPECT_THAT(html, HasSubstr(rule));
  }
  EXPECT_TRUE(std::regex_search(html, std::regex("pre\\{[^}]*overflow:auto")));
  size_t tables = 0;
  for (size_t at = html.find("<table>"); at != std::string::npos;
       at = html.find("<table>", at + 1), ++tables) {
    const std::string parent = "<div class=\"wide\">";
    EXPECT_EQ(html.substr(at - parent.size(), parent.size()), parent);
  }
  EXPECT_GE(tables, 2u) << "of problems, and of a program's sizes";
}

TEST(ReportTest, ShortRunsDoNotCompareAStepWithItself) {
  const std::string one = ReportedRun(1).Html();
  EXPECT_THAT(one, HasSubstr("<b>-0.500</b> in the only step so far"));
  EXPECT_THAT(one, Not(HasSubstr("in the last")));
  EXPECT_THAT(ReportedRun(2).Html(),
              HasSubstr("<b>-0.500</b> in the first step, <b>-0.400</b> in the last."));
  EXPECT_THAT(ReportedRun(6).Html(),
              HasSubstr("<b>-0.400</b> in the first 3 steps, <b>-0.100</b> in the last."));
}

TEST(ReportTest, EveryOutcomeHasASampleToUnfold) {
  const std::string html = ReportedRun(6).Html();
  for (const char* outcome : {"CORRECT", "COMPILE_ERROR"}) {
    EXPECT_THAT(html, HasSubstr(absl::StrCat("<pre>why &lt;", outcome, "&gt;</pre>")));
    EXPECT_THAT(html, HasSubstr(absl::StrCat("<pre>wrote &lt;", outcome, "&gt;</pre>")));
  }
  EXPECT_THAT(html, HasSubstr("</span>compile error: 2 of 4; 1 of them alike</summary>"));
  EXPECT_THAT(html, HasSubstr("<summary>The best of these</summary>"));
  EXPECT_THAT(html, HasSubstr("cut off by generate.max_new_tokens"));
  const auto count = [&html](const std::string& text) {
    size_t n = 0;
    for (size_t at = html.find(text); at != std::string::npos; at = html.find(text, at + 1)) ++n;
    return n;
  };
  EXPECT_EQ(count("<details>"), count("</details>"));
  EXPECT_EQ(count("<details>"), count("<summary>")) << "folded until somebody asks";
}

TEST(ReportTest, EveryProblemHasARowACurveAndAPart) {
  ReportedRun run(6);
  const std::string html = run.Html();
  for (const char* id : {"a", "b"}) {
    EXPECT_THAT(html, HasSubstr(absl::StrCat("<td><a href=\"#", id, "\">", id, "</a></td><td>3<")));
    EXPECT_THAT(html, HasSubstr(absl::StrCat("<section id=\"", id, "\">")));
    EXPECT_THAT(html, HasSubstr(absl::StrCat("aria-label=\"Reward of ", id, " by step\"")));
  }
  run.plan.problems.pop_back();
  EXPECT_THAT(run.Html(), Not(HasSubstr("<h2>Problems</h2>"))) << "one needs no table";
}

TEST(ReportTest, AlarmsAreSaid) {
  ReportedRun run(6);
  EXPECT_THAT(run.Html(), Not(HasSubstr("<h3>Alarms</h3>")));
  run.summary.health = {{"cut_off", "100 % were <cut> off", "raise it"}};
  EXPECT_THAT(run.Html(),
              HasSubstr("<b>100 % were &lt;cut&gt; off.</b> Advice: raise it."));
}

TEST(ReportTest, WhatWasChangedInItsCourseIsSaid) {
  ReportedRun run(6);
  EXPECT_THAT(run.Html(), Not(HasSubstr("was changed")));
  run.summary.changes = {{{5, "generate.stop", "[]", "[\"<\"]"}, 0}};
  EXPECT_THAT(run.Html(), HasSubstr("<li>from step 5: generate.stop [] -&gt; [&quot;&lt;&quot;] "
                                    "(1970-01-01 00:00 UTC)</li>"));
}

TEST(ReportTest, WhatOtherMachinesSaidIsShown) {
  ReportedRun run(6);
  EXPECT_THAT(run.Html(), Not(HasSubstr("<h2>Portable</h2>")));
  run.portability.emplace();
  run.portability->programs.push_back({.problem = "a",
                                       .source = run.summary.incumbents["a"].source,
                                       .results = {{.cpu_model = "EPYC"}}});
  EXPECT_THAT(run.Html(), HasSubstr("<h2>Portable</h2>"));
  EXPECT_THAT(run.Html(), HasSubstr("<td>a</td><td>EPYC</td>"));
}

TEST(ReportTest, EvaluationsHaveCurvesOfTheirOwn) {
  ReportedRun run(4);
  EXPECT_THAT(run.Html(), Not(HasSubstr("Held-out problems")));
  for (const int64_t step : {0, 2, 4}) {
    run.summary.eval_rows[step] = {{"eval/correct", 0.1 + 0.1 * static_cast<double>(step)},
                                   {"eval/fast_1.5", 0.1},
                                   {"eval/best", 1.1},
                                   {"eval/reward", -0.2}};
  }
  const std::string html = run.Html();
  EXPECT_THAT(html, HasSubstr("Held-out problems, by evaluation: right programs"));
  EXPECT_THAT(html, HasSubstr("Held-out problems, by evaluation: fastest right program"));
  EXPECT_THAT(html, HasSubstr("Held-out problems, by evaluation: mean reward"));
}

}  // namespace
}  // namespace whetstone
