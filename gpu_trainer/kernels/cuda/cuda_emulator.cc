#include "gpu_trainer/kernels/cuda/cuda_emulator.h"

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace whetstone::emulator {

Index index;

namespace {

constexpr size_t kStackBytes = 64 << 10;
constexpr unsigned kLanes = 32;

enum class State { kReady, kAtWarpBarrier, kAtBlockBarrier, kDone };

struct Fiber {
  State state = State::kReady;
  bool started = false;
  ucontext_t start;
  jmp_buf resume;
  uint64_t given = 0;  // Exchange gets it.
  std::vector<char> stack = std::vector<char>(kStackBytes);
};

std::vector<Fiber> fibers;
const std::function<void()>* body;
Fiber* running;
jmp_buf scheduler;

void Enter() {
  (*body)();
  running->state = State::kDone;
  _longjmp(scheduler, 1);
}

// A context is entered by ucontext once and by longjmp later, which costs no system call.
__attribute__((noinline)) void Run(Fiber* fiber) {
  running = fiber;
  if (_setjmp(scheduler) != 0) return;
  if (running->started) _longjmp(running->resume, 1);
  running->started = true;
  setcontext(&running->start);
}

__attribute__((noinline)) void Wait(State at) {
  running->state = at;
  if (_setjmp(running->resume) == 0) _longjmp(scheduler, 1);
}

// Lets those go on whose barrier everybody who is still there has reached.
bool Release(unsigned threads) {
  bool any = false;
  const auto release = [&](unsigned begin, unsigned end, State barrier) {
    for (unsigned i = begin; i < end; ++i) {
      if (fibers[i].state != barrier && fibers[i].state != State::kDone) return;
    }
    for (unsigned i = begin; i < end; ++i) {
      if (fibers[i].state == barrier) fibers[i].state = State::kReady, any = true;
    }
  };
  for (unsigned warp = 0; warp < threads; warp += kLanes) {
    release(warp, std::min(threads, warp + kLanes), State::kAtWarpBarrier);
  }
  release(0, threads, State::kAtBlockBarrier);
  return any;
}

void RunBlock(unsigned threads) {
  for (unsigned i = 0; i < threads; ++i) {
    Fiber& fiber = fibers[i];
    fiber.state = State::kReady;
    fiber.started = false;
    getcontext(&fiber.start);
    fiber.start.uc_stack.ss_sp = fiber.stack.data();
    fiber.start.uc_stack.ss_size = fiber.stack.size();
    fiber.start.uc_link = nullptr;
    makecontext(&fiber.start, Enter, 0);
  }
  bool backwards = false;
  do {
    for (unsigned k = 0; k < threads; ++k) {
      const unsigned i = backwards ? threads - 1 - k : k;
      if (fibers[i].state != State::kReady) continue;
      index.thread = {i, 0, 0};
      Run(&fibers[i]);
    }
    backwards = !backwards;
  } while (Release(threads));
  for (unsigned i = 0; i < threads; ++i) {
    if (fibers[i].state == State::kDone) continue;
    std::fprintf(stderr, "emulated kernel: thread %u waits at a barrier that others do not reach\n",
                 i);
    std::abort();
  }
}

}  // namespace

void SyncThreads() { Wait(State::kAtBlockBarrier); }
void SyncWarp() { Wait(State::kAtWarpBarrier); }

uint64_t Exchange(uint64_t bits, unsigned from) {
  const unsigned thread = index.thread.x;
  fibers[thread].given = bits;
  SyncWarp();
  const uint64_t got = fibers[thread / kLanes * kLanes + from].given;
  SyncWarp();
  return got;
}

void RunBlocks(dim3 grid, unsigned threads, const std::function<void()>& kernel) {
  if (fibers.size() < threads) fibers = std::vector<Fiber>(threads);
  body = &kernel;
  index.block_dim = {threads, 1, 1};
  index.grid_dim = grid;
  for (unsigned z = 0; z < grid.z; ++z) {
    for (unsigned y = 0; y < grid.y; ++y) {
      for (unsigned x = 0; x < grid.x; ++x) {
        index.block = {x, y, z};
        RunBlock(threads);
      }
    }
  }
}

}  // namespace whetstone::emulator
