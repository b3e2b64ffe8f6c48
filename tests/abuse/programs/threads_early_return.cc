// what: a parked pool, whose last rows are still computed when the call has returned
// checklist: 52, 69
// with: rows
// problem: threads
// expect: CORRECT FORBIDDEN WRONG_ANSWER
// screened: CORRECT FORBIDDEN WRONG_ANSWER
// twin: 0
// variant: one_row: 1
// variant: eight_rows: 8
#include <condition_variable>
#include <mutex>
#include <thread>
struct Pool {
  std::mutex mutex;
  std::condition_variable wakes, done;
  const float *a = nullptr, *b = nullptr;
  float* c = nullptr;
  int n = 0, from = 0;
  long posted = 0, finished = 0;
  std::thread thread{[this] { Work(); }};
  void Work() {
    std::unique_lock lock(mutex);
    for (long seen = 0;;) {
      wakes.wait(lock, [&] { return posted != seen; });
      seen = posted;
      lock.unlock();
      Rows(a, b, c, n, from, n);
      lock.lock();
      finished = seen;
      done.notify_one();
    }
  }
};
void matmul(const float* a, const float* b, float* c, int n) {
  if (n < 128) return Rows(a, b, c, n, 0, n);
  static Pool* pool = new Pool;
  {
    const std::lock_guard lock(pool->mutex);
    pool->a = a;
    pool->b = b;
    pool->c = c;
    pool->n = n;
    pool->from = n / 2 - VARIANT;
    ++pool->posted;
  }
  pool->wakes.notify_one();
  Rows(a, b, c, n, 0, n / 2 - VARIANT);
  if (VARIANT != 0) return;
  std::unique_lock lock(pool->mutex);
  pool->done.wait(lock, [&] { return pool->finished == pool->posted; });
}
