#include "cpu_bench_worker/measure/build_cache.h"

#include "absl/strings/str_cat.h"
#include "common/sha256.h"

namespace whetstone {

std::string BuildKey(const std::string& problem_hash, const std::string& tool_chain,
                     const std::string& source) {
  return Sha256Hex(absl::StrCat(problem_hash, "\n", Sha256Hex(tool_chain), "\n", source));
}

std::shared_ptr<const Artefact> BuildCache::Find(const std::string& key) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return artefacts_.Find(key);
}

void BuildCache::Add(const std::string& key, const Artefact& artefact) {
  const size_t bytes =
      2 * key.size() + sizeof(Artefact) + artefact.object.size() + artefact.verdict.SpaceUsedLong();
  const std::lock_guard<std::mutex> lock(mutex_);
  if (artefacts_.Find(key) == nullptr)
    artefacts_.Add(key, std::make_shared<const Artefact>(artefact), bytes);
}

}  // namespace whetstone
