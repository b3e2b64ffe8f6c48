#include "cpu_bench_worker/measure/build_cache.h"

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
  const size_t bytes =
      2 * key.size() + sizeof(Artefact) + artefact.object.size() + artefact.verdict.SpaceUsedLong();
  const std::lock_guard<std::mutex> lock(mutex_);
  if (artefacts_.Find(key) == nullptr)
    artefacts_.Add(key, std::make_shared<const Artefact>(artefact), bytes);
}

}  // namespace whetstone
