// Storage of a whole cluster in memory, for tests: it knows what has been flushed, so that it can lose power, and every
// operation of a rank can be made to fail, or to be the last that this rank ever did.
#pragma once

#include <atomic>
#include <cerrno>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "../files.hpp"

namespace shakedown::checkpoint::testing {

class Disk {
 public:
  struct File {
    std::vector<std::uint8_t> now;
    std::vector<std::uint8_t> flushed;
  };
  using Tree = std::map<std::string, std::shared_ptr<File>>;  // null: a folder

  /// What was not flushed is there, or not, or in part; each name and each file by itself.
  void lose_power(std::mt19937_64& random) {
    const std::scoped_lock lock(mutex_);
    Tree after;
    std::set<std::string> names;
    for (const auto& [path, file] : now_) names.insert(path);
    for (const auto& [path, file] : flushed_) names.insert(path);
    for (const std::string& path : names) {
      const Tree& from = random() % 2 == 0 ? now_ : flushed_;
      const auto found = from.find(path);
      if (found == from.end() || (!parent_of(path).empty() && !after.contains(parent_of(path)))) continue;
      after[path] = found->second;
      if (found->second != nullptr) tear(*found->second, random);
    }
    now_ = after;
    flushed_ = after;
  }

  void lose_folder(const std::string& folder) {
    const std::scoped_lock lock(mutex_);
    for (Tree* tree : {&now_, &flushed_}) {
      std::erase_if(*tree,
                    [&](const auto& entry) { return entry.first == folder || entry.first.starts_with(folder + "/"); });
    }
  }

  std::vector<std::string> files_under(const std::string& folder) {
    const std::scoped_lock lock(mutex_);
    std::vector<std::string> found;
    for (const auto& [path, file] : now_) {
      if (file != nullptr && path.starts_with(folder + "/")) found.push_back(path);
    }
    return found;
  }

  /// Changes a file as a fault of the medium would: durable, and without an error.
  void damage(const std::string& path, const std::function<void(std::vector<std::uint8_t>&)>& change) {
    const std::scoped_lock lock(mutex_);
    File& file = *now_.at(path);
    change(file.now);
    file.flushed = file.now;
  }

  void forget_locks() {
    const std::scoped_lock lock(mutex_);
    locks_.clear();
  }

  void remove(const std::string& path) {
    const std::scoped_lock lock(mutex_);
    now_.erase(path);
    flushed_.erase(path);
  }

 private:
  friend class DiskFiles;
  static std::string parent_of(const std::string& path) { return path.substr(0, path.rfind('/')); }
  static void tear(File& file, std::mt19937_64& random) {
    if (file.now == file.flushed) return;
    constexpr std::size_t kSector = 512;
    std::vector<std::uint8_t> torn = random() % 2 == 0 ? file.now : file.flushed;
    for (std::size_t at = 0; at < torn.size(); ++at) {
      if (at % kSector == 0 && random() % 4 == 0) {
        for (std::size_t in = at; in < std::min(at + kSector, torn.size()); ++in) {
          torn[in] = in < file.flushed.size() ? file.flushed[in] : 0;
        }
      }
    }
    file.now = torn;
    file.flushed = torn;
  }

  std::mutex mutex_;
  Tree now_;
  Tree flushed_;
  std::map<std::string, const void*> locks_;
};

/// What happens to the operations of some ranks.
struct Faults {
  std::atomic<std::int64_t> operations = 0;  // that change something, so far
  std::atomic<std::int64_t> die_at = -1;     // the number of the operation that is the last, done by half; -1: none
  std::atomic<bool> dead = false;
  std::atomic<std::int64_t> fail_at = -1;  // the number of one operation that gives an error
  std::atomic<int> error = ENOSPC;
  /// Called ahead of each folder of a generation, with its path: what it gives below 0 is the result.
  std::function<Result(const std::string& path)> before_generation = {};
};

/// The disk as one rank sees it.
class DiskFiles final : public Files {
 public:
  DiskFiles(std::shared_ptr<Disk> disk, std::shared_ptr<Faults> faults)
      : disk_(std::move(disk)), faults_(std::move(faults)) {}
  ~DiskFiles() override {
    const std::scoped_lock lock(disk_->mutex_);
    std::erase_if(disk_->locks_, [&](const auto& entry) { return entry.second == this; });
  }

  Result open(const std::string& path, OpenFor purpose) override {
    if (purpose != OpenFor::kRead) {
      return changing([&](bool) -> Result {
        if (!disk_->now_.contains(Disk::parent_of(path))) return -ENOENT;
        disk_->now_[path] = std::make_shared<Disk::File>();
        return handle_of(disk_->now_[path]);
      });
    }
    const std::scoped_lock lock(disk_->mutex_);
    if (faults_->dead) return -ESHUTDOWN;
    const auto found = disk_->now_.find(path);
    if (found == disk_->now_.end() || found->second == nullptr) return -ENOENT;
    return handle_of(found->second);
  }
  Result read(Result handle, void* into, std::size_t bytes, std::uint64_t at) override {
    const std::scoped_lock lock(disk_->mutex_);
    if (faults_->dead) return -ESHUTDOWN;
    const auto& now = open_.at(handle)->now;
    if (at >= now.size()) return 0;
    const std::size_t count = std::min<std::size_t>(bytes, now.size() - at);
    std::copy_n(now.begin() + static_cast<std::ptrdiff_t>(at), count, static_cast<std::uint8_t*>(into));
    return static_cast<Result>(count);
  }
  Result write(Result handle, const void* from, std::size_t bytes, std::uint64_t at) override {
    return changing([&](bool half) -> Result {
      auto& now = open_.at(handle)->now;
      const std::size_t count = half ? bytes / 2 : bytes;
      now.resize(std::max<std::size_t>(now.size(), at + count));
      std::copy_n(static_cast<const std::uint8_t*>(from), count, now.begin() + static_cast<std::ptrdiff_t>(at));
      return 0;
    });
  }
  Result reserve(Result, std::uint64_t) override {
    return changing([](bool) { return Result{0}; });
  }
  Result flush_data(Result handle) override { return flush(handle); }
  Result flush(Result handle) override {
    return changing([&](bool half) -> Result {
      if (!half) open_.at(handle)->flushed = open_.at(handle)->now;
      return 0;
    });
  }
  Result close(Result handle) override {
    const std::scoped_lock lock(disk_->mutex_);
    open_.erase(handle);
    if (const auto held = held_.find(handle); held != held_.end()) disk_->locks_.erase(held->second);
    return 0;
  }
  Result bytes_of(const std::string& path) override {
    const std::scoped_lock lock(disk_->mutex_);
    if (faults_->dead) return -ESHUTDOWN;
    const auto found = disk_->now_.find(path);
    return found == disk_->now_.end() || found->second == nullptr ? -ENOENT
                                                                  : static_cast<Result>(found->second->now.size());
  }
  Result rename(const std::string& from, const std::string& to) override {
    return changing([&](bool half) -> Result {
      const auto found = disk_->now_.find(from);
      if (found == disk_->now_.end()) return -ENOENT;
      if (half) return 0;
      disk_->now_[to] = found->second;
      disk_->now_.erase(from);
      return 0;
    });
  }
  Result remove_file(const std::string& path) override {
    return changing([&](bool half) -> Result { return half || disk_->now_.erase(path) > 0 ? 0 : -ENOENT; });
  }
  Result make_folder(const std::string& path) override {
    if (faults_->before_generation && path.find("/gen-") != std::string::npos) {
      if (const Result stopped = faults_->before_generation(path); stopped < 0) return stopped;
    }
    return changing([&](bool) -> Result {
      if (const std::string above = Disk::parent_of(path); !above.empty() && !disk_->now_.contains(above))
        return -ENOENT;
      disk_->now_.try_emplace(path, nullptr);
      return 0;
    });
  }
  Result remove_folder(const std::string& path) override {
    return changing([&](bool) -> Result {
      for (const auto& [name, file] : disk_->now_) {
        if (name.starts_with(path + "/")) return -ENOTEMPTY;
      }
      return disk_->now_.erase(path) > 0 ? 0 : -ENOENT;
    });
  }
  Result flush_folder(const std::string& path) override {
    return changing([&](bool half) -> Result {
      if (half) return 0;
      std::erase_if(disk_->flushed_, [&](const auto& entry) {
        return Disk::parent_of(entry.first) == path && !disk_->now_.contains(entry.first);
      });
      disk_->flushed_[path] = nullptr;  // a flush of a folder that exists: those above it were made long ago
      for (const auto& [name, file] : disk_->now_) {
        if (Disk::parent_of(name) == path) disk_->flushed_[name] = file;
      }
      return 0;
    });
  }
  Result list(const std::string& path, std::vector<std::string>& names) override {
    const std::scoped_lock lock(disk_->mutex_);
    if (faults_->dead) return -ESHUTDOWN;
    if (!disk_->now_.contains(path)) return -ENOENT;
    for (const auto& [name, file] : disk_->now_) {
      if (Disk::parent_of(name) == path) names.push_back(name.substr(path.size() + 1));
    }
    return 0;
  }
  Result lock(const std::string& path) override {
    const std::scoped_lock lock(disk_->mutex_);
    if (faults_->dead) return -ESHUTDOWN;
    if (!disk_->locks_.try_emplace(path, this).second) return -EWOULDBLOCK;
    held_[++last_] = path;
    return last_;
  }

 private:
  template <class Change>
  Result changing(Change&& change) {
    const std::scoped_lock lock(disk_->mutex_);
    if (faults_->dead) return -ESHUTDOWN;
    const std::int64_t number = faults_->operations++;
    if (number == faults_->fail_at) return -faults_->error;
    const bool last = number == faults_->die_at;
    const Result result = change(last);
    if (last) faults_->dead = true;
    return last ? -ESHUTDOWN : result;
  }
  Result handle_of(const std::shared_ptr<Disk::File>& file) {
    open_[++last_] = file;
    return last_;
  }

  std::shared_ptr<Disk> disk_;
  std::shared_ptr<Faults> faults_;
  std::map<Result, std::shared_ptr<Disk::File>> open_;
  std::map<Result, std::string> held_;
  Result last_ = 0;
};

}  // namespace shakedown::checkpoint::testing
