// A table that remembers so many values at most: the least recently used go first. Whoever asked
// for one holds it as long as he needs it.
//
//   RecentlyUsed<const PreparedProblem> problems(1024);
//   problems.Add(hash, prepared);
//   if (auto problem = problems.Find(hash)) …
//
// Not thread-safe.
#ifndef WHETSTONE_CPU_BENCH_WORKER_MEASURE_RECENTLY_USED_H_
#define WHETSTONE_CPU_BENCH_WORKER_MEASURE_RECENTLY_USED_H_

#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace whetstone {

template <typename Value>
class RecentlyUsed {
 public:
  using Held = std::shared_ptr<Value>;

  explicit RecentlyUsed(size_t values_max) : values_max_(values_max) {}

  // Null: it is not known, or not any more.
  Held Find(const std::string& key) {
    const auto it = by_key_.find(key);
    if (it == by_key_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, it->second);
    return it->second->second;
  }

  // `key` is not known.
  void Add(const std::string& key, Held value) {
    entries_.emplace_front(key, std::move(value));
    by_key_[key] = entries_.begin();
    if (entries_.size() <= values_max_) return;
    by_key_.erase(entries_.back().first);
    entries_.pop_back();
  }

  void Erase(const std::string& key) {
    const auto it = by_key_.find(key);
    if (it == by_key_.end()) return;
    entries_.erase(it->second);
    by_key_.erase(it);
  }

 private:
  using Entry = std::pair<std::string, Held>;

  const size_t values_max_;
  std::list<Entry> entries_;  // most recently used first
  std::map<std::string, typename std::list<Entry>::iterator> by_key_;
};

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_MEASURE_RECENTLY_USED_H_
