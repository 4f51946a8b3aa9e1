#include "helper.hpp"

#include <pthread.h>
#include <signal.h>

namespace shakedown::checkpoint {

Helper::Helper(Transport* transport) : transport_(transport) {
  // Signals of the application are handled by its own threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { loop(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Helper::~Helper() {
  {
    const std::scoped_lock lock(mutex_);
    ended_ = true;
    jobs_.clear();
  }
  changed_.notify_all();
  if (transport_ != nullptr) transport_->cancel();
  thread_.join();
}

void Helper::post(std::function<void()> job) {
  {
    const std::scoped_lock lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  changed_.notify_all();
  if (transport_ != nullptr) transport_->wake();
}

bool Helper::wait(Deadline deadline) {
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, deadline, [&] { return jobs_.empty() && !working_; });
}

bool Helper::busy() {
  const std::scoped_lock lock(mutex_);
  return working_ || !jobs_.empty();
}

void Helper::loop() {
  std::unique_lock lock(mutex_);
  while (!ended_) {
    if (jobs_.empty()) {
      if (transport_ == nullptr) {
        changed_.wait(lock, [&] { return ended_ || !jobs_.empty(); });
      } else {
        lock.unlock();
        try {
          transport_->idle(in_seconds(60));
        } catch (...) {  // no memory for what another rank asked: it finds no answer
        }
        lock.lock();
      }
      continue;
    }
    std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    working_ = true;
    lock.unlock();
    try {
      job();
    } catch (...) {  // no memory: whoever posted the job finds no result of it
    }
    job = nullptr;
    lock.lock();
    working_ = false;
    changed_.notify_all();
  }
}

}  // namespace shakedown::checkpoint
