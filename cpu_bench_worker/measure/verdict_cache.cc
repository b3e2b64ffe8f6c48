#include "cpu_bench_worker/measure/verdict_cache.h"

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"

namespace whetstone {
namespace {

std::string Key(const v1::Verdict& verdict) {
  return absl::StrCat(verdict.problem_hash(), "/", verdict.object_hash());
}

}  // namespace

bool VerdictCache::Find(double least_speedup, v1::Verdict* verdict) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::shared_ptr<const v1::Verdict> known = verdicts_.Find(Key(*verdict));
  if (known == nullptr) return false;
  if (known->below_least() && !(known->speedup_high() < least_speedup)) return false;
  const v1::Verdict mine = *verdict;
  *verdict = *known;
  verdict->set_canonical_hash(mine.canonical_hash());
  *verdict->mutable_techniques() = mine.techniques();
  verdict->set_screen_s(mine.screen_s());
  verdict->set_compile_s(mine.compile_s());
  verdict->set_check_s(0);
  verdict->set_time_s(0);
  verdict->set_start_s(0);
  verdict->set_invocations_s(0);
  *verdict->mutable_stage_times() = mine.stage_times();
  verdict->set_cached(true);
  return true;
}

void VerdictCache::Add(const v1::Verdict& verdict) {
  // A limit can be hit by a disturbed machine too.
  const v1::Outcome outcome = verdict.outcome();
  if (outcome != v1::CORRECT && outcome != v1::WRONG_ANSWER && outcome != v1::CRASH) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::string key = Key(verdict);
  const std::shared_ptr<const v1::Verdict> known = verdicts_.Find(key);
  if (known != nullptr && !known->below_least() && verdict.below_least()) return;
  verdicts_.Erase(key);
  verdicts_.Add(key, std::make_shared<const v1::Verdict>(verdict));
}

}  // namespace whetstone
