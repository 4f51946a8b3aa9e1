// A store with the threads on which it works: waiting for them has a bound.
#pragma once

#include <functional>
#include <memory>

#include "storage_worker.hpp"
#include "store.hpp"

namespace shakedown::checkpoint {

class Folder {
 public:
  Folder(std::shared_ptr<Files> files, const std::string& path, bool direct)
      : store_(std::make_shared<Store>(std::move(files), path, direct)) {}

  [[nodiscard]] const std::shared_ptr<Store>& store() const { return store_; }

  [[nodiscard]] double cpu_seconds() const { return worker_.cpu_seconds() + beside_.cpu_seconds(); }

  using Work = std::function<Outcome(Store&)>;

  /// Does the work, which owns all that it touches; an error where no operation ended for so long.
  Outcome run(double patience_seconds, Work work) {
    return end(begin(worker_, patience_seconds, std::move(work)), patience_seconds);
  }

  /// Work that was handed over.
  struct Begun {
    StorageWorker* worker = nullptr;  // null: there was none
    std::uint64_t ticket = 0;
    std::shared_ptr<Outcome> result;
  };
  /// Hands the work to the folder's thread, or to its second one, and returns: storage then works while the caller
  /// does. Each takes one work after the other.
  Begun begin(double patience_seconds, Work work) { return begin(worker_, patience_seconds, std::move(work)); }
  Begun begin_beside(double patience_seconds, Work work) { return begin(beside_, patience_seconds, std::move(work)); }
  /// What became of it.
  Outcome end(const Begun& begun, double patience_seconds) {
    if (begun.worker == nullptr) return {};
    if (begun.worker->end(begun.ticket, patience_seconds, *store_->pulse())) return *begun.result;
    return failed(SHAKEDOWN_CKPT_TIMEOUT, store_->folder() + " has not answered for " +
                                              std::to_string(static_cast<int>(patience_seconds)) +
                                              " s: is its storage there?");
  }

 private:
  Begun begin(StorageWorker& worker, double patience_seconds, Work work) {
    const auto result =
        std::make_shared<Outcome>(failed(SHAKEDOWN_CKPT_MEMORY, "there was no memory to work on " + store_->folder()));
    auto kept = [store = store_, work = std::move(work), result] { *result = work(*store); };
    return {&worker, worker.begin(std::move(kept), patience_seconds, *store_->pulse()), result};
  }

  std::shared_ptr<Store> store_;
  StorageWorker worker_;
  StorageWorker beside_;
};

}  // namespace shakedown::checkpoint
