#include "coordinator/report/portability.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace whetstone {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

PortableResult On(const std::string& cpu_model, v1::Outcome outcome, double speedup_low) {
  PortableResult result{.cpu_model = cpu_model, .worker = "host of " + cpu_model};
  result.verdict.set_outcome(outcome);
  result.verdict.set_timed(outcome == v1::CORRECT);
  result.verdict.set_speedup_low(speedup_low);
  result.verdict.set_speedup(1.25);
  result.verdict.set_speedup_high(1.5);
  return result;
}

// "everywhere" wins on both CPU models; "here" crashes on one.
Portability TwoPrograms() {
  Portability found;
  found.cpu_models = {"EPYC", "<Atom>"};
  found.unreached = {{"worker cpu09", "no route to host"}};
  found.programs.push_back(
      {.problem = "everywhere",
       .step = 7,
       .source = "a < b",
       .results = {On("EPYC", v1::CORRECT, 1.125), On("<Atom>", v1::CORRECT, 1.0625)}});
  found.programs.push_back(
      {.problem = "here",
       .step = 3,
       .source = "c",
       .results = {On("EPYC", v1::CORRECT, 1.125), On("<Atom>", v1::CRASH, 0)}});
  found.programs[1].results[1].verdict.set_detail("SIGILL");
  return found;
}

TEST(PortabilityTest, WinsWhereItIsRightAndTheLowerEndIsAboveOne) {
  EXPECT_TRUE(On("EPYC", v1::CORRECT, 1.01).wins());
  EXPECT_FALSE(On("EPYC", v1::CORRECT, 1).wins());
  EXPECT_FALSE(On("EPYC", v1::WRONG_ANSWER, 1.01).wins());
  EXPECT_FALSE(On("EPYC", v1::SUSPECT, 1.01).wins());
  PortableResult unasked = On("EPYC", v1::CORRECT, 1.01);
  unasked.error = "no answer";
  EXPECT_FALSE(unasked.wins());

  const Portability found = TwoPrograms();
  EXPECT_TRUE(found.programs[0].portable());
  EXPECT_FALSE(found.programs[1].portable()) << "not on every one";
  EXPECT_FALSE(found.portable());
  EXPECT_FALSE(PortableProgram().portable()) << "nobody was asked";
}

TEST(PortabilityTest, TheTableHasARowForEachProgramAndModel) {
  Portability found = TwoPrograms();
  found.programs[1].results[0].error = "too late";
  EXPECT_THAT(
      PortabilityRows(found),
      ElementsAre(
          ElementsAre("everywhere", "EPYC", "host of EPYC", "1.25x (1.12 to 1.50)", "yes"),
          ElementsAre("everywhere", "<Atom>", "host of <Atom>", "1.25x (1.06 to 1.50)", "yes"),
          ElementsAre("here", "EPYC", "host of EPYC", "not measured", "not known"),
          ElementsAre("here", "<Atom>", "host of <Atom>", "crash", "no")));
  EXPECT_THAT(PortabilityHeader(), SizeIs(5));
  EXPECT_EQ(PortableText(found.programs[0]),
            "everywhere is portable: faster than its reference on each of 2 CPU models");
  EXPECT_EQ(PortableText(found.programs[1]),
            "here is NOT portable:\n"
            "  EPYC (host of EPYC): not measured: too late\n"
            "  <Atom> (host of <Atom>): crash: SIGILL");
  found.programs[0].results[1].error = "no compiler";
  EXPECT_FALSE(found.programs[0].portable() || found.programs[0].refuted());
  EXPECT_EQ(PortableText(found.programs[0]),
            "everywhere could not be measured everywhere, so this is not known of it:\n"
            "  <Atom> (host of <Atom>): not measured: no compiler");
}

TEST(PortabilityTest, WhatIsKeptIsReadAgain) {
  Portability found = TwoPrograms();
  found.programs[1].results[0].error = "too late";
  const nlohmann::ordered_json json = PortabilityJson(found);
  EXPECT_EQ(json["portable"], false);
  EXPECT_EQ(json["programs"][0]["portable"], true);
  EXPECT_EQ(json["programs"][0]["on"][0]["speedup_low"], 1.125);
  EXPECT_EQ(json["programs"][1]["on"][1]["outcome"], "CRASH");
  EXPECT_EQ(json["programs"][1]["on"][1]["speedup"], nullptr);
  EXPECT_EQ(json["programs"][1]["on"][1]["wins"], false);
  const absl::StatusOr<Portability> read = ParsePortability(json.dump());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->cpu_models, found.cpu_models);
  EXPECT_EQ(PortabilityRows(*read), PortabilityRows(found));
  EXPECT_EQ(read->programs[1].results[1].verdict.detail(), "SIGILL");
  EXPECT_EQ(read->unreached[0].why, "no route to host");
  for (const char* other : {"", "{", "[]", "{\"programs\": 1}"}) {
    EXPECT_EQ(ParsePortability(other).status().code(), absl::StatusCode::kInvalidArgument) << other;
  }
  EXPECT_TRUE(ParsePortability(R"({"programs": [1, {"on": [{"outcome": 3}, null]}]})").ok());
}

TEST(PortabilityTest, ThePageMarksProgramsThatAreNotTheBestAnyMore) {
  std::map<std::string, IncumbentEntry> incumbents;
  incumbents["everywhere"].source = "a < b";
  incumbents["here"].source = "another";
  const std::string html = PortabilityPart(TwoPrograms(), incumbents);
  EXPECT_THAT(html, HasSubstr("Of here it is an earlier program, of step 3."));
  EXPECT_THAT(html, Not(HasSubstr("Of everywhere")));
  EXPECT_THAT(html, HasSubstr("Not reached: worker cpu09."));
  EXPECT_THAT(html, HasSubstr("<td>&lt;Atom&gt;</td><td>host of &lt;Atom&gt;</td><td>crash</td>"));
}

}  // namespace
}  // namespace whetstone
