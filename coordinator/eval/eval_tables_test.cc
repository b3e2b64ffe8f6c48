// What the console, JSON and the page say of an evaluation is what its samples say.
#include "coordinator/eval/eval_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "coordinator/eval/eval_json.h"
#include "coordinator/eval/eval_page.h"

namespace whetstone {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

EvalModel Model(const std::string& name, const std::vector<v1::Outcome>& outcomes, double speedup) {
  EvalModel model{.name = name, .path = "/models/" + name, .problems = {}};
  for (const char* id : {"alpha", "beta"}) {
    EvalProblem problem{.id = id, .expert_speedup = 4, .samples = {}};
    for (size_t i = 0; i < outcomes.size(); ++i) {
      const bool right = outcomes[i] == v1::CORRECT;
      problem.samples.push_back(
          {static_cast<int>(i), outcomes[i], right ? speedup : 0, 100, right ? "same" : ""});
    }
    model.problems.push_back(std::move(problem));
  }
  return model;
}

EvalSummary Summary() {
  return SummarizeEvaluation(
      {Model("raw", {v1::NO_CODE, v1::COMPILE_ERROR, v1::COMPILE_ERROR, v1::SUSPECT}, 0),
       Model("<trained>", {v1::CORRECT, v1::CORRECT, v1::WRONG_ANSWER, v1::CORRECT}, 3)},
      "valid", 4, {1, 4}, 17);
}

TEST(EvalTablesTest, SaysWhatTheSamplesSay) {
  const std::string text = TablesText(EvalTables(Summary()));
  EXPECT_THAT(text, HasSubstr("2 problems of split valid, 4 samples each [95% interval over "
                              "problems and samples]"));
  EXPECT_THAT(text, ::testing::ContainsRegex("raw +1 +0.0% .0.0, 0.0."));
  EXPECT_THAT(text, ::testing::ContainsRegex("<trained> +1 +75.0% "));
  EXPECT_THAT(text, ::testing::ContainsRegex("<trained> +4 +100.0% "));
  EXPECT_THAT(text, HasSubstr("<trained> less raw"));
  EXPECT_THAT(text, ::testing::ContainsRegex("difference +1 +.75.0 .*\\*"));
  EXPECT_THAT(text, ::testing::ContainsRegex("alpha +4.00x +<trained> +3/4 +75.0%"));
}

TEST(EvalTablesTest, JsonHasEverySample) {
  const nlohmann::ordered_json json = EvalJson(Summary());
  EXPECT_EQ(json["models"][1]["estimates"]["pass@1"]["value"], 0.75);
  EXPECT_DOUBLE_EQ(json["models"][1]["estimates"]["best@4"]["value"].get<double>(), 3);
  EXPECT_EQ(json["models"][1]["problems"][0]["samples"].size(), 4u);
  EXPECT_EQ(json["models"][1]["problems"][0]["samples"][2]["outcome"], "WRONG_ANSWER");
  EXPECT_TRUE(json["models"][0]["counts"]["fastest"].is_null());
  EXPECT_EQ(json["models"][1]["counts"]["programs"], 2) << "one for each problem";
  EXPECT_EQ(json["pairs"][0]["estimates"]["pass@1"]["value"], 0.75);
  EXPECT_EQ(json["pairs"][0]["baseline"], "raw");
}

TEST(EvalTablesTest, ThePageIsHarmlessAndWhole) {
  const std::string page = EvalPage("evals/valid", Summary());
  EXPECT_THAT(page, AllOf(HasSubstr("&lt;trained&gt;"), Not(HasSubstr("<trained>")),
                          HasSubstr("fast_1.5@4"), HasSubstr("<svg"), HasSubstr("</html>")));
}

TEST(EvalTablesTest, OurFailuresAreLeftOutAndAProblemOfNothingElseToo) {
  EvalModel failed = Model("a", {v1::INFRASTRUCTURE_ERROR, v1::CORRECT}, 2);
  failed.problems[1].samples.resize(1);
  const EvalSummary summary = SummarizeEvaluation({failed}, "valid", 2, {1}, 17);
  EXPECT_EQ(summary.problems_compared, 1u);
  EXPECT_EQ(summary.overall.models[0][0].value, 1) << "of one sample that counts";
  EXPECT_TRUE(summary.problem_estimates[1].models.empty());
  EXPECT_THAT(TablesText(EvalTables(summary)), HasSubstr("our failure"));
}

}  // namespace
}  // namespace whetstone
