// What screening and compiling made of sources seen before: a policy that has found something
// repeats itself to the letter.
//
//   const std::string key = BuildKey(problem_hash, compiler.version(), source);
//   if (auto artefact = cache.Find(key)) return *artefact;
//
// Thread-safe.
#ifndef WHETSTONE_CPU_BENCH_WORKER_MEASURE_BUILD_CACHE_H_
#define WHETSTONE_CPU_BENCH_WORKER_MEASURE_BUILD_CACHE_H_

#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "cpu_bench_worker/measure/pipeline.h"

namespace whetstone {

// SHA-256 (hex) over everything that decides what a source becomes: the problem (its signature,
// flags and headers), the tool chain and the source itself.
std::string BuildKey(const std::string& problem_hash, const std::string& tool_chain,
                     const std::string& source);

class BuildCache {
 public:
  // Keeps at most `bytes_max` of objects and verdicts; the least recently used go first.
  explicit BuildCache(size_t bytes_max) : bytes_max_(bytes_max) {}

  std::optional<Artefact> Find(const std::string& key);
  void Add(const std::string& key, const Artefact& artefact);

 private:
  using Entry = std::pair<std::string, Artefact>;
  static size_t BytesOf(const Entry& entry);

  const size_t bytes_max_;
  std::mutex mutex_;
  size_t bytes_ = 0;
  std::list<Entry> entries_;  // most recently used first
  std::map<std::string, std::list<Entry>::iterator> by_key_;
};

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_MEASURE_BUILD_CACHE_H_
