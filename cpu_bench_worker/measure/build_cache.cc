#include "cpu_bench_worker/measure/build_cache.h"

#include "absl/strings/str_cat.h"
#include "common/sha256.h"

namespace whetstone {

std::string BuildKey(const std::string& problem_hash, const std::string& tool_chain,
                     const std::string& source) {
  return Sha256Hex(absl::StrCat(problem_hash, "\n", Sha256Hex(tool_chain), "\n", source));
}

size_t BuildCache::BytesOf(const Entry& entry) {
  return 2 * entry.first.size() + sizeof(Entry) + entry.second.object.size() +
         entry.second.verdict.SpaceUsedLong();
}

std::optional<Artefact> BuildCache::Find(const std::string& key) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto it = by_key_.find(key);
  if (it == by_key_.end()) return std::nullopt;
  entries_.splice(entries_.begin(), entries_, it->second);
  return it->second->second;
}

void BuildCache::Add(const std::string& key, const Artefact& artefact) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (by_key_.count(key) > 0) return;
  entries_.emplace_front(key, artefact);
  by_key_[key] = entries_.begin();
  bytes_ += BytesOf(entries_.front());
  while (bytes_ > bytes_max_ && entries_.size() > 1) {
    bytes_ -= BytesOf(entries_.back());
    by_key_.erase(entries_.back().first);
    entries_.pop_back();
  }
}

}  // namespace whetstone
