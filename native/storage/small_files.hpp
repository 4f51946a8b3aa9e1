// Small files: made, looked at, read, renamed and removed, in a folder of each thread or in one for all; and trees of
// folders.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "content.hpp"
#include "crowd.hpp"
#include "layout.hpp"
#include "storage.hpp"

namespace shakedown::storage {

/// Files of all threads of all ranks: thread w's are w*threads.. of its rank.
class SmallFiles {
 public:
  /// `bytes` of content in each; `items` files of each thread at most. Threads are dealt to the folders in turn.
  SmallFiles(Peers& peers, Folders folders, Files share, int threads, std::uint64_t items, std::size_t bytes);

  /// Make the folders. Every rank calls it; then `remove_folders`.
  void make_folders();
  void remove_folders();

  /// One step over the first `items` of each thread's own files, or of another rank's: of the next one, then of the one
  /// behind it, in each of so many cycles, and each cycle in another order. A call that did not do what it must is
  /// counted; storage that is full, or has gone, throws.
  Crowded run(Step step, std::uint64_t items, std::uint64_t cycles = 1, double stonewall_s = 0);
  /// The calls of all ranks that failed since it was last asked, on rank 0.
  std::int64_t failed();
  /// Whose files a step works on.
  [[nodiscard]] bool on_others(Step step) const {
    return peers_.size() > 1 && (step == Step::stat || step == Step::read);
  }
  /// The name of a thread's file; `renamed`: after that.
  [[nodiscard]] std::string name(std::uint64_t writer, std::uint64_t item, bool renamed = false) const;
  [[nodiscard]] std::string folder_of(std::uint64_t writer) const;
  /// A thread's number among all, and that of the thread so many ranks further on.
  [[nodiscard]] std::uint64_t writer(std::size_t thread, std::uint64_t ranks_on) const;
  [[nodiscard]] std::uint64_t writers() const;
  [[nodiscard]] std::uint64_t threads() const { return threads_; }
  [[nodiscard]] int ranks() const { return peers_.size(); }

 private:
  /// Which items of one cycle, and until when (of now_s) one may begin.
  struct Part {
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    std::uint64_t items = 0;  // of a whole cycle
    std::uint64_t cycle = 0;
    double until_s = 0;
  };
  /// What begins the names of a thread's files; what each ends with is its number.
  [[nodiscard]] std::string stem(std::uint64_t writer, bool renamed) const;
  [[nodiscard]] std::string tree_of(std::uint64_t writer) const;
  /// Where it ended.
  std::uint64_t part(Step step, std::size_t thread, const Part& part);
  [[nodiscard]] bool done(Step step, std::size_t thread, std::uint64_t number, const char* path, const char* renamed);
  [[nodiscard]] bool write_file(const char* path, std::size_t thread, std::uint64_t number);
  [[nodiscard]] bool read_file(const char* path, std::size_t thread, std::uint64_t number);

  Peers& peers_;
  Folders folders_;
  Files share_;
  std::uint64_t threads_;
  std::uint64_t most_;
  std::size_t bytes_;
  bool renamed_ = false;
  std::vector<Content> contents_;  // of each thread
  std::vector<std::vector<std::uint8_t>> buffers_;
  std::vector<std::int64_t> failed_;
};

/// The folder `item` of a tree in which each has up to eight below it, by its path below the root.
std::string tree_path(std::uint64_t item);

}  // namespace shakedown::storage
