#include "coordinator/rewrites/rewrite_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace whetstone {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::IsEmpty;

// A program is letters; a rule adds one. How fast each is, and which are wrong, the test says.
class RewriteSearchTest : public testing::Test {
 protected:
  RewriteSearchTest() {
    problem_.set_reference("r");
    tools_.propose = [this](const std::vector<std::string>& sources) {
      rounds_.push_back(absl::StrJoin(sources, ","));
      std::vector<std::vector<ProposedRewrite>> proposed;
      for (const std::string& source : sources) {
        std::vector<ProposedRewrite>& of_source = proposed.emplace_back();
        for (const std::string rule : {"a", "b", "c"}) of_source.push_back({rule, source + rule});
      }
      return proposed;
    };
    tools_.measure = [this](const std::string& source, double least) {
      measured_.push_back(source);
      least_.push_back(least);
      v1::Verdict verdict;
      const bool wrong = source.find('c') != std::string::npos;
      verdict.set_outcome(wrong ? v1::WRONG_ANSWER : v1::CORRECT);
      const auto it = speeds_.find(source);
      verdict.set_speedup(it == speeds_.end() ? 1.0 : it->second);
      verdict.set_speedup_low(0.99 * verdict.speedup());
      if (const auto hash = hashes_.find(source); hash != hashes_.end()) {
        verdict.set_canonical_hash(hash->second);
      }
      return verdict;
    };
    tools_.enough = [this] { return measured_.size() >= budget_; };
  }

  std::vector<std::string> Kept() {
    search_ = SearchRewrites(problem_, options_, tools_);
    std::vector<std::string> kept;
    for (const FoundRewrite& each : search_.kept) {
      kept.push_back(
          absl::StrCat(each.source, " ", each.speedup, " ", absl::StrJoin(each.rules, "+")));
    }
    return kept;
  }

  v1::Problem problem_;
  RewriteOptions options_;
  RewriteTools tools_;
  std::map<std::string, double> speeds_;
  std::map<std::string, std::string> hashes_;
  std::vector<std::string> rounds_;
  std::vector<std::string> measured_;
  std::vector<double> least_;  // what each had to reach
  size_t budget_ = 1000;
  RewriteSearch search_;
};

TEST_F(RewriteSearchTest, ChangesAddUpThatGainNothingAlone) {
  speeds_ = {{"rba", 1.05}, {"rbab", 4.0}};
  EXPECT_THAT(Kept(), ElementsAre("rbab 4 b+a+b"));
}

TEST_F(RewriteSearchTest, TheFastestRightOnesAreRewrittenAndNoneTwice) {
  options_.parents = 1;
  speeds_ = {{"rb", 2.0}, {"rba", 1.7}, {"rc", 9.0}};
  EXPECT_THAT(Kept(), ElementsAre("rb 2 b", "rba 1.7 b+a"));
  EXPECT_THAT(rounds_, ElementsAre("r", "rb", "rba", "ra", "rbb"));
}

TEST_F(RewriteSearchTest, ARoundRewritesOneOfEachFamily) {
  options_.parents = 2;
  options_.rounds = 2;
  const auto propose = tools_.propose;
  tools_.propose = [&](const std::vector<std::string>& sources) {
    auto proposed = *propose(sources);
    if (sources[0] == "r") proposed[0] = {{"8 a", "ra"}, {"16 a", "raa"}, {"32 b", "rb"}};
    return proposed;
  };
  speeds_ = {{"ra", 2.0}, {"raa", 3.0}, {"rb", 0.5}};
  Kept();
  EXPECT_THAT(rounds_, ElementsAre("r", "raa,rb"));
}

TEST_F(RewriteSearchTest, ARoundGivesWayToWhatIsMadeOfAMuchFasterProgram) {
  options_.rounds = 2;
  const auto propose = tools_.propose;
  tools_.propose = [&](const std::vector<std::string>& sources) {
    auto proposed = *propose(sources);
    if (sources[0] != "r") return proposed;
    proposed[0].clear();
    for (int i = 0; i < 12; ++i) proposed[0].push_back({"n", absl::StrCat("r", i)});
    return proposed;
  };
  speeds_ = {{"r2", 2.0}, {"r2a", 3.0}};
  Kept();
  // Of twelve programs eight come before those that are made of the third, and four behind them.
  const std::vector<std::string> behind(measured_.begin() + 8, measured_.begin() + 15);
  EXPECT_THAT(behind, ElementsAre("r2a", "r2b", "r2c", "r8", "r9", "r10", "r11"));
  EXPECT_EQ(search_.fastest->source, "r2a");
}

TEST_F(RewriteSearchTest, KeepsTheFastestThatAreClearlyFaster) {
  options_.rounds = 1;
  options_.kept = 1;
  speeds_ = {{"ra", 1.2}, {"rb", 1.3}};
  EXPECT_THAT(Kept(), ElementsAre("rb 1.3 b"));
  speeds_ = {{"ra", 1.11}, {"rb", 1.0}};  // Its interval begins at 1.0989.
  EXPECT_THAT(Kept(), IsEmpty());
}

TEST_F(RewriteSearchTest, OfThoseAboutAsFastTheShorterComesFirst) {
  options_.rounds = 2;
  options_.kept = 2;
  speeds_ = {{"rab", 2.1}, {"rb", 2.0}, {"ra", 1.5}};
  EXPECT_THAT(Kept(), ElementsAre("rb 2 b", "rab 2.1 a+b"));
}

TEST_F(RewriteSearchTest, WhatIsFarBehindTheFastestIsNotKept) {
  options_.rounds = 1;
  speeds_ = {{"ra", 3.1}, {"rb", 4.0}};
  EXPECT_THAT(Kept(), ElementsAre("rb 4 b"));
}

TEST_F(RewriteSearchTest, OneCanonicalSourceIsKeptOnce) {
  options_.rounds = 1;
  speeds_ = {{"ra", 2.0}, {"rb", 2.1}};
  hashes_ = {{"ra", "same"}, {"rb", "same"}};
  EXPECT_THAT(Kept(), ElementsAre("ra 2 a"));
}

TEST_F(RewriteSearchTest, LongProgramsComeLastAndAreNotKept) {
  problem_.set_signature("r");
  options_.chars_kept = 1;
  options_.chars_max = 2;
  options_.rounds = 2;
  speeds_ = {{"ra", 2.0}, {"rab", 9.0}};
  EXPECT_THAT(Kept(), ElementsAre("ra 2 a"));
  EXPECT_THAT(std::vector<std::string>(measured_.begin(), measured_.begin() + 9),
              ElementsAre("ra", "rb", "rc", "raa", "rab", "rac", "rba", "rbb", "rbc"));
  ASSERT_TRUE(search_.fastest.has_value());
  EXPECT_EQ(search_.fastest->source, "rab");
  EXPECT_EQ(search_.too_long, 12) << "three of each right one with two letters";
}

TEST_F(RewriteSearchTest, ALongOneCountsAsSoMuchSlowerAsItIsLonger) {
  problem_.set_signature("r");
  options_.chars_easy = 1;
  options_.chars_kept = 3;
  options_.rounds = 2;
  speeds_ = {{"ra", 2.0}, {"rab", 2.7}};
  EXPECT_THAT(Kept(), ElementsAre("ra 2 a", "rab 2.7 a+b")) << "2.7 counts as 1.8";
  speeds_["rab"] = 6.0;
  EXPECT_THAT(Kept(), ElementsAre("rab 6 a+b")) << "6 counts as 4, and 2 is far behind";
  options_.chars_kept = 1;
  EXPECT_THAT(Kept(), ElementsAre("ra 2 a")) << "too long, however fast";
}

TEST_F(RewriteSearchTest, AsksForAClearGainAndThenForWhatIsKeptBesideTheBest) {
  budget_ = 4;
  speeds_ = {{"ra", 1.05}, {"rb", 3.0}};
  Kept();
  EXPECT_THAT(least_, ElementsAre(1.1, 1.1, DoubleEq(2.4), DoubleEq(2.4)));
}

TEST_F(RewriteSearchTest, AProgramCompetesWithThoseOfItsLength) {
  problem_.set_signature("r");
  options_.chars_easy = 1;
  options_.chars_kept = 2;
  options_.rounds = 1;
  tools_.propose = [&](const std::vector<std::string>&) {
    std::vector<std::vector<ProposedRewrite>> proposed(1);
    for (const char* source : {"ra", "rbbbb", "rb", "raa", "raaaa"}) {
      proposed[0].push_back({"n", source});
    }
    return proposed;
  };
  speeds_ = {{"ra", 2.0}, {"rbbbb", 9.0}, {"rb", 1.9}, {"raa", 2.5}};
  EXPECT_THAT(Kept(), ElementsAre("ra 2 n", "rb 1.9 n", "raa 2.5 n"));
  EXPECT_THAT(least_, ElementsAre(1.1,            // nothing is known
                                  DoubleEq(1.6),  // too long to be kept: it has to be the fastest
                                  DoubleEq(1.6),  // the long one that is is none of its rivals
                                  DoubleEq(2.4),  // half as long again as an easy one
                                  DoubleEq(7.2)));
}

TEST_F(RewriteSearchTest, AFailureAmongLongProgramsLosesNothing) {
  problem_.set_signature("r");
  options_.chars_kept = 1;
  const auto measure = tools_.measure;
  tools_.measure = [&](const std::string& source, double least) -> absl::StatusOr<v1::Verdict> {
    if (source == "rbb") return absl::UnavailableError("gone");
    return measure(source, least);
  };
  speeds_ = {{"ra", 2.0}, {"rb", 3.0}, {"rba", 9.0}};
  EXPECT_THAT(Kept(), ElementsAre("rb 3 b"));
  EXPECT_EQ(search_.fastest->source, "rba") << "what is made of the fastest comes first";
  EXPECT_TRUE(search_.ended.ok());
  EXPECT_EQ(search_.long_ended.code(), absl::StatusCode::kUnavailable);
}

TEST_F(RewriteSearchTest, WhatIsMadeOfTheReferenceOrTheFastestDoesNotWait) {
  problem_.set_signature("r");
  options_.chars_easy = 0;  // with the signature: what is longer than the reference waits
  options_.chars_kept = 9;
  budget_ = 5;
  speeds_ = {{"rb", 2.0}, {"rba", 4.0}};
  Kept();
  EXPECT_THAT(measured_, ElementsAre("ra", "rb", "rc", "rba", "rbaa"));
}

TEST_F(RewriteSearchTest, WhereNothingShortIsFasterALongOneMayBe) {
  problem_.set_signature("r");
  options_.chars_kept = 1;
  speeds_ = {{"rab", 9.0}};
  EXPECT_THAT(Kept(), IsEmpty());
  ASSERT_TRUE(search_.fastest.has_value());
  EXPECT_EQ(search_.fastest->source, "rab");
  speeds_.clear();
  Kept();
  EXPECT_FALSE(search_.fastest.has_value());
}

TEST_F(RewriteSearchTest, ALongReferenceMayBecomeTwiceAsLong) {
  problem_.set_reference("rrrr");
  options_.chars_kept = 1;
  options_.chars_max = 2;
  speeds_ = {{"rrrra", 9.0}};
  EXPECT_THAT(Kept(), IsEmpty());
  ASSERT_TRUE(search_.fastest.has_value());
  EXPECT_EQ(search_.fastest->source, "rrrra");
  options_.chars_max = 1;
  Kept();
  EXPECT_FALSE(search_.fastest.has_value()) << "only what can be kept is looked at";
}

TEST_F(RewriteSearchTest, EndsWithWhatItHasWhenTimeIsUp) {
  budget_ = 2;
  speeds_ = {{"ra", 2.0}, {"rc", 9.0}};
  EXPECT_THAT(Kept(), ElementsAre("ra 2 a"));
  EXPECT_THAT(measured_, ElementsAre("ra", "rb"));
  EXPECT_TRUE(search_.ended.ok());
}

TEST_F(RewriteSearchTest, WhatWasFoundBeforeAFailureIsKept) {
  const auto measure = tools_.measure;
  tools_.measure = [&](const std::string& source, double least) -> absl::StatusOr<v1::Verdict> {
    if (source == "rb") return absl::UnavailableError("gone");
    return measure(source, least);
  };
  speeds_ = {{"ra", 2.0}};
  EXPECT_THAT(Kept(), ElementsAre("ra 2 a"));
  EXPECT_EQ(search_.ended.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(measured_, ElementsAre("ra"));
}

}  // namespace
}  // namespace whetstone
