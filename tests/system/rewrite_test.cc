// `whet rewrite` finds faster forms of a function by rules, on a real worker, and a campaign
// teaches them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/file.h"
#include "common/tree_testing.h"
#include "tests/system/whet_fixture.h"

namespace whetstone {
namespace {

using testing::HasSubstr;

class RewriteTest : public WhetTest {
 protected:
  // Returns a problem as its user would bring it: without an expert.
  std::string Problem() const {
    const std::string text = *ReadFile(SourceDir() + "/tests/system/multiply.md");
    EXPECT_TRUE(WriteFileAtomically(Path("mine.md"), text.substr(0, text.find("## expert"))).ok());
    return Path("mine.md");
  }
  std::string Out() const { return Path("rewrites.jsonl"); }
};

TEST_F(RewriteTest, FasterFormsAreWrittenForACampaignToTeach) {
  const WhetResult found = Whet({"rewrite", Problem(), "--out", Out(), "--proof", Path("rules"),
                                 "--seconds", "20", "--keep", "2", "--json"});
  ASSERT_EQ(found.exit_code, 0) << found.out << found.err;
  const nlohmann::json problem = found.json()["problems"][0];
  ASSERT_GE(problem["kept"].size(), 1u) << found.out << found.err;
  EXPECT_GT(problem["kept"][0]["speedup"].get<double>(), 1.2);
  const auto text = ReadFile(Out());
  ASSERT_TRUE(text.ok()) << text.status();
  const nlohmann::json first = nlohmann::json::parse(text->substr(0, text->find('\n')));
  EXPECT_GT(first["gain"].get<double>(), 1.2);
  // The ruler says the same of the fastest, measured once more.
  const auto verdict = ReadFile(Path("rules/multiply/verdict.json"));
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  const nlohmann::json proved = nlohmann::json::parse(*verdict);
  EXPECT_EQ(proved["outcome"], "CORRECT") << *verdict;
  EXPECT_GT(proved["speedup"].get<double>(), 1.2) << *verdict;
  const auto origin = ReadFile(Path("rules/multiply/provenance.json"));
  ASSERT_TRUE(origin.ok()) << origin.status();
  EXPECT_FALSE(nlohmann::json::parse(*origin)["rules"].empty()) << *origin;

  const std::string campaign = WriteCampaign(
      1, "warmup: {examples: " + SourceDir() +
             "/prompts/warmup.jsonl, nearest: 4, references: 2, rewrites: " + Out() + "}\n");
  const auto plan = Whet({"run", campaign, "--dry-run"});
  EXPECT_EQ(plan.exit_code, 0) << plan.out << plan.err;
  const auto other = Whet({"run", campaign, "--dry-run", "--set",
                           "problems=[\"" + SourceDir() + "/prompts/dot_f32.md\"]"});
  EXPECT_EQ(other.exit_code, 2) << other.out << other.err;
  EXPECT_THAT(other.err,
              HasSubstr("'warmup.rewrites': " + Out() + ": 'multiply/1' rewrites no reference"));
}

TEST_F(RewriteTest, WrongInputIsNamed) {
  const WhetResult missing = Whet({"rewrite", Path("none.md"), "--out", Out()});
  EXPECT_EQ(missing.exit_code, 2) << missing.out;
  EXPECT_THAT(missing.err, HasSubstr("none.md"));
  const WhetResult nowhere = Whet({"rewrite", Problem()});
  EXPECT_EQ(nowhere.exit_code, 2) << nowhere.out;
  EXPECT_THAT(nowhere.err, HasSubstr("--out"));
}

}  // namespace
}  // namespace whetstone
