// A table that remembers so many values at most, or values that cost so much together: the least
// recently used go first. Whoever asked for one holds it as long as he needs it.
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

  explicit RecentlyUsed(size_t cost_max) : cost_max_(cost_max) {}

  // Null: it is not known, or not any more.
  Held Find(const std::string& key) {
    const auto it = by_key_.find(key);
    if (it == by_key_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, it->second);
    return it->second->value;
  }

  // `key` is not known. The value stays until the next one comes, whatever it costs.
  void Add(const std::string& key, Held value, size_t cost = 1) {
    entries_.push_front({key, std::move(value), cost});
    by_key_[key] = entries_.begin();
    cost_ += cost;
    while (cost_ > cost_max_ && entries_.size() > 1) Erase(std::string(entries_.back().key));
  }

  void Erase(const std::string& key) {
    const auto it = by_key_.find(key);
    if (it == by_key_.end()) return;
    cost_ -= it->second->cost;
    entries_.erase(it->second);
    by_key_.erase(it);
  }

 private:
  struct Entry {
    std::string key;
    Held value;
    size_t cost;
  };

  const size_t cost_max_;
  size_t cost_ = 0;
  std::list<Entry> entries_;  // most recently used first
  std::map<std::string, typename std::list<Entry>::iterator> by_key_;
};

}  // namespace whetstone

#endif  // WHETSTONE_CPU_BENCH_WORKER_MEASURE_RECENTLY_USED_H_
