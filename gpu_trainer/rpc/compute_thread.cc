#include "gpu_trainer/rpc/compute_thread.h"

#include <ATen/Parallel.h>

#include <utility>

#include "gpu_trainer/profile/device.h"
#include "gpu_trainer/rpc/rpc_boundary.h"

namespace whetstone {

struct ComputeThread::Task {
  std::string name;
  std::function<absl::Status()> work;
  std::mutex mutex;
  std::condition_variable finished;
  bool done = false;    // Guarded by mutex.
  absl::Status status;  // Guarded by mutex.

  void Finish(absl::Status result) {
    const std::lock_guard lock(mutex);
    status = std::move(result);
    done = true;
    finished.notify_all();
  }
};

bool ComputeThread::Ticket::WaitFor(std::chrono::milliseconds timeout) const {
  std::unique_lock lock(task_->mutex);
  return task_->finished.wait_for(lock, timeout, [this] { return task_->done; });
}

absl::Status ComputeThread::Ticket::status() const {
  const std::lock_guard lock(task_->mutex);
  return task_->status;
}

ComputeThread::ComputeThread(int threads, torch::Device device) {
  threads_ = threads > 0 ? threads : static_cast<int>(std::thread::hardware_concurrency());
  thread_ = std::thread([this, device] { Loop(device); });
}

ComputeThread::~ComputeThread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    work_arrived_.notify_all();
  }
  thread_.join();
  for (const auto& task : queue_) task->Finish(absl::UnavailableError("the trainer is stopping"));
}

ComputeThread::Ticket ComputeThread::Submit(std::string name, std::function<absl::Status()> work) {
  auto task = std::make_shared<Task>();
  task->name = std::move(name);
  task->work = std::move(work);
  const std::lock_guard lock(mutex_);
  queue_.push_back(task);
  work_arrived_.notify_one();
  return Ticket(task);
}

std::string ComputeThread::Busy() const {
  const std::lock_guard lock(mutex_);
  return busy_;
}

void ComputeThread::Loop(torch::Device device) {
  at::set_num_threads(threads_);
  const absl::Status ready = Guarded("preparing the device", [&] {
    UseDevice(device);
    return absl::OkStatus();
  });
  while (true) {
    std::shared_ptr<Task> task;
    {
      std::unique_lock lock(mutex_);
      busy_.clear();
      work_arrived_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
      if (stopping_) return;
      task = queue_.front();
      queue_.pop_front();
      busy_ = task->name;
    }
    absl::Status status = ready.ok() ? Guarded(task->name, task->work) : ready;
    task->work = nullptr;
    task->Finish(std::move(status));
  }
}

}  // namespace whetstone
