#include "coordinator/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <regex>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coordinator/durable/campaign_plan_testing.h"
#include "coordinator/report/outcome_names.h"
#include "coordinator/report/page_testing.h"
#include "coordinator/report/svg_testing.h"

namespace whetstone {
namespace {

using ::testing::AllOf;
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
                              {i % 2 == 0 ? "problem/a/reward" : "problem/b/reward", 0.25},
                              {i % 2 == 0 ? "problem/a/programs" : "problem/b/programs", 4},
                              {"problem/a/outcome/correct", i % 2 == 0 ? 0.75 : std::nan("")}});
    }
    plan.problems[0].problem.set_reference("if (a < b && c > d) {}");
    IncumbentEntry incumbent;
    incumbent.source = "a[i] < b && \"</pre><script>\"";
    incumbent.verdict.set_speedup(3.25);
    summary.incumbents["a"] = incumbent;
    for (const v1::Outcome outcome : {v1::CORRECT, v1::COMPILE_ERROR}) {
      OutcomeSample sample;
      sample.typical.judged.step = 3;
      sample.typical.judged.sample = outcome == v1::CORRECT ? 1 : 2;
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
    samples["a"].best->judged.sample = 7;
    samples["a"].best->from_reference = "--- reference.cc\n+++ program.cc\n+if (a < b) {}\n";
    samples["a"].worst = samples["a"].outcomes[1].typical;
    samples["a"].speedups = {1.5, 2, 3};
  }
  std::string Html() const { return ReportHtml(plan, summary, samples, portability); }

  CampaignPlan plan = MakeTestPlan({});
  RunSummary summary;
  std::map<std::string, ProblemSamples> samples;
  std::optional<Portability> portability;
};

// What a policy, a worker or a name says is text.
TEST(ReportTest, IsOnePageAndHarmless) {
  ReportedRun run(6);
  const std::string html = run.Html();
  ExpectHarmless(html);
  EXPECT_EQ(html.find("://"), std::string::npos) << "nothing from outside";
  EXPECT_THAT(html,
              AllOf(HasSubstr("<svg"), HasSubstr("3.25×"), HasSubstr("a[i] &lt; b &amp;&amp;")));

  const std::string evil =
      "</pre></title><script>alert(1)</script><img src=\"x\" onerror='y'>&#x0;";
  run.summary.name = evil;
  run.summary.reward_note = " before refills";
  run.summary.health = {{evil, evil, evil}};
  run.summary.changes = {{{5, evil, evil, evil}, 0}};
  run.summary.checkpoints.push_back({{}, evil, evil, 0});
  run.summary.incumbents["a"].source = evil;
  run.plan.campaign.set_name(evil);
  for (PlannedProblem& planned : run.plan.problems) {
    planned.problem.set_id(absl::StrCat(planned.problem.id(), evil));
    planned.problem.set_reference(evil);
    planned.messages[0].set_role(evil);
    planned.messages[0].set_content(evil);
  }
  const std::string id = "a" + evil;
  run.summary.incumbents[id] = run.summary.incumbents["a"];
  v1::SizeResult* size = run.summary.incumbents[id].verdict.add_sizes();
  (*size->mutable_size())[evil] = 3;
  for (auto& row : run.summary.rows) row[absl::StrCat("problem/", id, "/reward")] = 1;
  ProblemSamples samples = run.samples["a"];
  for (RolloutSample* sample : {&*samples.best, &*samples.worst, &samples.outcomes[0].typical}) {
    sample->completion.set_text(evil);
    sample->judged.verdict.set_detail(evil);
    sample->judged.verdict.add_techniques(evil);
    sample->from_reference = absl::StrCat("--- a\n+++ b\n+", evil, "\n-", evil, "\n ", evil);
  }
  run.samples[id] = samples;
  run.portability.emplace();
  run.portability->unreached = {{evil, evil}};
  run.portability->programs.push_back(
      {.problem = evil, .source = evil, .results = {{.cpu_model = evil, .worker = evil}}});
  const std::string bad = run.Html();
  ExpectHarmless(bad);
  EXPECT_THAT(bad, HasSubstr("<ins>+&lt;/pre&gt;&lt;/title&gt;&lt;script&gt;alert(1)"));
}

TEST(ReportTest, EveryChartKeepsToItself) {
  for (const int steps : {1, 2, 40}) {
    SCOPED_TRACE(steps);
    size_t plots = 0;
    for (const SvgImage& image : ReadSvgs(ReportedRun(steps).Html())) {
      const auto found = image.attributes.find("class");
      plots += found != image.attributes.end() && found->second == "plot" ? 1 : 0;
      for (const SvgElement& e : image.elements) {
        EXPECT_TRUE(e.box.Inside(image.view)) << "<" << e.tag << "> " << e.text;
      }
    }
    EXPECT_GE(plots, 4u);
  }
}

// What the page is made of breaks or scrolls within itself: no <pre> or <table> can be wider than
// it. (A browser's picture of 375 px shows it; this holds the rules that make it so.)
TEST(ReportTest, NothingIsWiderThanThePage) {
  const std::string html = ReportedRun(6).Html();
  for (const char* rule :
       {"overflow-wrap:anywhere}", ".wide{overflow-x:auto}", "svg.plot{display:block;width:100%",
        "minmax(min(100%,600px),1fr)", "width=device-width,initial-scale=1"}) {
    EXPECT_THAT(html, HasSubstr(rule));
  }
  EXPECT_TRUE(std::regex_search(html.substr(0, html.find("</style>")),
                                std::regex("pre\\{[^}]*overflow:auto")));
  size_t tables = 0;
  for (size_t at = html.find("<table>"); at != std::string::npos;
       at = html.find("<table>", at + 1), ++tables) {
    const size_t parent = html.rfind("<div class=\"wide\" tabindex=\"0\" ", at);
    ASSERT_NE(parent, std::string::npos);
    EXPECT_EQ(html.find('>', parent) + 1, at);
  }
  EXPECT_GE(tables, 2u) << "of problems, and of each chart";
}

TEST(ReportTest, ARunThatHasJustBegunIsAPageToo) {
  ReportedRun run(0);
  run.samples.clear();
  const std::string html = run.Html();
  ExpectHarmless(html);
  EXPECT_THAT(html, AllOf(HasSubstr("No step is done yet"), Not(HasSubstr("class=\"plot\"")),
                          HasSubstr("0 of 0 GRPO steps")));
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

TEST(ReportTest, MetricsThatAreNoNumbersAreGaps) {
  ReportedRun run(3);
  for (auto& row : run.summary.rows) row["reward"] = std::nan("");
  run.summary.rows[1]["time/generate"] = std::numeric_limits<double>::infinity();
  const std::string html = run.Html();
  ExpectHarmless(html);
  EXPECT_THAT(html, AllOf(HasSubstr("Mean reward <b>–</b> in the first step"),
                          HasSubstr("step 2\nprepare: 2\ngenerate: –<"), Not(HasSubstr("nan")),
                          Not(HasSubstr("Mean reward (band"))));
}

// 10,000 steps of a hundred problems, with long completions of every kind.
TEST(ReportTest, IsNeverTooLargeToMail) {
  ReportedRun run(0);
  for (int i = 0; i < 10'000; ++i) {
    std::map<std::string, double> row = {
        {"reward", 0.1}, {"reward_std", 0.2}, {"time/generate", 3}};
    for (const OutcomeName& outcome : kOutcomeNames) row[outcome.key] = 0.1;
    row[absl::StrCat("problem/p", i % 100, "/reward")] = i;
    row[absl::StrCat("problem/p", i % 100, "/programs")] = 4;
    row[absl::StrCat("speedup/best/p", i % 100)] = 2;
    run.summary.rows.push_back(std::move(row));
  }
  const PlannedProblem planned = run.plan.problems[0];
  run.plan.problems.clear();
  for (int p = 0; p < 100; ++p) {
    run.plan.problems.push_back(planned);
    run.plan.problems.back().problem.set_id(absl::StrCat("p", p));
  }
  ProblemSamples samples = run.samples["a"];
  samples.best->completion.set_text(std::string(1'000'000, '"'));
  samples.worst->completion.set_text(std::string(10'000, 'w'));
  for (int p = 0; p < 100; ++p) run.samples[absl::StrCat("p", p)] = samples;
  const std::string html = run.Html();
  EXPECT_LE(html.size(), kPageBytesMax);
  EXPECT_GT(html.size(), kPageBytesMax / 4);
  EXPECT_THAT(html, AllOf(HasSubstr("(drawn as means of 100 steps)"),
                          HasSubstr("Left out, as the page would be too large to mail: the best "
                                    "sample. <code>whet best RUN</code>"),
                          HasSubstr("The worst: "), HasSubstr("<section id=\"problem-100\">"),
                          HasSubstr("</html>")));
}

TEST(ReportTest, SamplesAreChosenByARuleThatIsSaid) {
  const std::string html = ReportedRun(6).Html();
  EXPECT_THAT(html, HasSubstr(absl::StrCat("Of the newest 4 completions: ", kSampleRule)));
  for (const char* outcome : {"CORRECT", "COMPILE_ERROR"}) {
    EXPECT_THAT(html, HasSubstr(absl::StrCat(">why &lt;", outcome, "&gt;</pre>")));
    EXPECT_THAT(html, HasSubstr(absl::StrCat(">wrote &lt;", outcome, "&gt;</pre>")));
  }
  EXPECT_THAT(html, HasSubstr("<summary>The best: <svg class=\"swatch\""));
  EXPECT_THAT(html, HasSubstr(" correct (3/0/7, reward 0.000, cut off by generate.max_new_tokens)"
                              "</summary>"));
  EXPECT_THAT(html, HasSubstr("<ins>+if (a &lt; b) {}</ins>"));
  // What has been shown as the worst is not shown again.
  EXPECT_THAT(html, HasSubstr("</svg> compile error: 2 of 4; 1 of them alike; the worst is "
                              "typical.</p>"));
  EXPECT_THAT(html, HasSubstr("</svg> correct: 2 of 4 (3/0/1, "));
  const auto count = [&html](const std::string& text) {
    size_t n = 0;
    for (size_t at = html.find(text); at != std::string::npos; at = html.find(text, at + 1)) ++n;
    return n;
  };
  EXPECT_EQ(count(">wrote &lt;COMPILE_ERROR&gt;<"), 1u);
  EXPECT_EQ(count("<details>"), count("<summary>")) << "folded until somebody asks";
}

TEST(ReportTest, EveryProblemHasARowCurvesAndAPart) {
  ReportedRun run(6);
  const std::string html = run.Html();
  EXPECT_THAT(html, HasSubstr("<tr><th scope=\"row\"><a href=\"#problem-1\">a</a></th><td>3</td>"
                              "<td>0.250</td><td>0.250</td><td>50%</td><td>2.00×</td>"
                              "<td>1.50 to 3.00</td><td>3.25×</td>"));
  EXPECT_THAT(html, HasSubstr("<a href=\"#problem-2\">b</a></th><td>3</td><td>0.250</td>"
                              "<td>0.250</td><td>–</td><td>–</td><td>–</td>"));
  for (const char* id : {"a", "b"}) {
    EXPECT_THAT(html, HasSubstr(absl::StrCat("aria-label=\"Reward of ", id, ", by step.")));
  }
  EXPECT_THAT(html, HasSubstr("<section id=\"problem-2\"><h2>b</h2>"));
  // Problems take turns; a step of a problem without a right program has a share of 0.
  EXPECT_THAT(html, HasSubstr("aria-label=\"Right programs of a, by step. right: first 75.0%, last "
                              "75.0%"));
  EXPECT_THAT(html, HasSubstr("step 2\nright: –<"));
  EXPECT_THAT(html, HasSubstr("aria-label=\"Right programs of b, by step. right: first 0.0%"));
  run.plan.problems.pop_back();
  EXPECT_THAT(run.Html(),
              AllOf(Not(HasSubstr("<h2>Problems</h2>")), Not(HasSubstr("Right programs of a"))))
      << "one needs no table, and its curves are the run's";
}

TEST(ReportTest, AlarmsAreSaid) {
  ReportedRun run(6);
  EXPECT_THAT(run.Html(), Not(HasSubstr("<h3>Alarms</h3>")));
  run.summary.health = {{"cut_off", "100 % were <cut> off", "raise it"}};
  EXPECT_THAT(run.Html(), HasSubstr("<b>100 % were &lt;cut&gt; off.</b> Advice: raise it."));
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
  EXPECT_THAT(run.Html(), HasSubstr("<th scope=\"row\">a</th><td>EPYC</td>"));
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
  for (const char* title : {"right programs", "fastest right program", "mean reward"}) {
    EXPECT_THAT(html, HasSubstr(absl::StrCat("<figcaption>Held-out problems: ", title)));
  }
  EXPECT_THAT(html, HasSubstr("step 2\nright: 30.0%\n1.5 times as fast: 10.0%<"))
      << "an evaluation has the number of its step";
}

}  // namespace
}  // namespace whetstone
