#include "cpu_bench_worker/measure/build_cache.h"

#include <gtest/gtest.h>

namespace whetstone {
namespace {

Artefact Built(const std::string& object) {
  Artefact artefact;
  artefact.object = object;
  artefact.verdict.set_object_hash("hash of " + object.substr(0, 1));
  artefact.verdict.set_compile_s(0.5);
  artefact.verdict.mutable_stage_times()->set_build_us(1);
  artefact.spent_s = 0.5;
  return artefact;
}

TEST(BuildCacheTest, FindsWhatWasAdded) {
  BuildCache cache(1 << 20);
  EXPECT_EQ(cache.Find("a"), nullptr);
  cache.Add("a", Built("object a"));
  ASSERT_NE(cache.Find("a"), nullptr);
  EXPECT_EQ(cache.Find("a")->object, "object a");
  EXPECT_EQ(cache.Find("a")->verdict.object_hash(), "hash of o");
  EXPECT_EQ(cache.Find("a")->spent_s, 0) << "finding it takes no time";
  EXPECT_EQ(cache.Find("a")->verdict.compile_s(), 0);
  EXPECT_FALSE(cache.Find("a")->verdict.has_stage_times());
}

TEST(BuildCacheTest, KeepsOnlyWhatAnotherBuildWouldEndWith) {
  BuildCache cache(1 << 20);
  Artefact failed;
  failed.final = true;
  failed.verdict.set_outcome(v1::INFRASTRUCTURE_ERROR);
  cache.Add("a", failed);
  failed.verdict.set_outcome(v1::COMPILE_ERROR);
  failed.verdict.set_detail("compiling took longer than the problem allows");
  cache.Add("a", failed);
  EXPECT_EQ(cache.Find("a"), nullptr);
  failed.verdict.set_detail("line 3: error: expected ';'");
  cache.Add("a", failed);
  EXPECT_NE(cache.Find("a"), nullptr);
}

TEST(BuildCacheTest, ForgetsTheLeastRecentlyUsed) {
  BuildCache cache(50'000);
  for (const char* key : {"a", "b", "c", "d"}) cache.Add(key, Built(std::string(10'000, *key)));
  EXPECT_NE(cache.Find("a"), nullptr);
  cache.Add("e", Built(std::string(10'000, 'e')));
  EXPECT_EQ(cache.Find("b"), nullptr);
  EXPECT_NE(cache.Find("a"), nullptr);
  EXPECT_NE(cache.Find("e"), nullptr);
}

TEST(BuildCacheTest, EveryPartOfAKeyCounts) {
  const std::string key = BuildKey("p", "g++ 12", "s");
  EXPECT_EQ(BuildKey("p", "g++ 12", "s"), key);
  EXPECT_NE(BuildKey("q", "g++ 12", "s"), key);
  EXPECT_NE(BuildKey("p", "g++ 13", "s"), key);
  EXPECT_NE(BuildKey("p", "g++ 12", "s "), key);
}

}  // namespace
}  // namespace whetstone
