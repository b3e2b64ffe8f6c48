#include "cpu_bench_worker/measure/build_cache.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/sha256.h"

namespace whetstone {
namespace {

// A compiler can hit a limit because the machine is busy; an error in the text stays one.
bool Repeatable(const Artefact& artefact) {
  const v1::Verdict& verdict = artefact.verdict;
  return !artefact.final || verdict.outcome() == v1::NO_CODE ||
         verdict.outcome() == v1::FORBIDDEN ||
         (verdict.outcome() == v1::COMPILE_ERROR && absl::StrContains(verdict.detail(), "error: "));
}

}  // namespace

std::string BuildKey(const std::string& problem_hash, const std::string& tool_chain,
                     const std::string& source) {
  return Sha256Hex(absl::StrCat(problem_hash, "\n", Sha256Hex(tool_chain), "\n", source));
}

std::shared_ptr<const Artefact> BuildCache::Find(const std::string& key) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return artefacts_.Find(key);
}

void BuildCache::Add(const std::string& key, const Artefact& artefact) {
  if (!Repeatable(artefact)) return;
  auto kept = std::make_shared<Artefact>(artefact);
  kept->verdict.set_screen_s(0);
  kept->verdict.set_compile_s(0);
  kept->verdict.clear_stage_times();
  kept->spent_s = 0;
  const size_t bytes =
      2 * key.size() + sizeof(Artefact) + kept->object.size() + kept->verdict.SpaceUsedLong();
  const std::lock_guard<std::mutex> lock(mutex_);
  if (artefacts_.Find(key) == nullptr) artefacts_.Add(key, std::move(kept), bytes);
}

}  // namespace whetstone
