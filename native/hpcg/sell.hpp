// The matrix in chunks of eight rows, made from its rows; and the order in which threads sweep through it.
#pragma once

#include <atomic>
#include <vector>

#include "csr.hpp"

namespace shakedown::hpcg {

/// The matrix in the loops' form. Nothing of the grid is known to it: it is made from rows and columns alone.
class Sell {
 public:
  Sell(Team& team, const Csr& a);
  [[nodiscard]] Matrix view() const;
  [[nodiscard]] std::int64_t chunks() const { return chunks_; }
  [[nodiscard]] double* diagonal() const { return diagonal_.data(); }
  /// To spoil one for a test: slot s of row i of the upper part of a chunk.
  [[nodiscard]] double* upper_values() const { return upper_.values.data(); }
  [[nodiscard]] std::int32_t* upper_columns() const { return upper_.columns.data(); }
  [[nodiscard]] std::int64_t upper_begin(std::int64_t chunk) const { return upper_.begin[chunk]; }
  /// Entries of the matrix below and above the diagonal as they are stored, without what only fills slots.
  struct Entries {
    std::int64_t lower = 0, upper = 0;
  };
  [[nodiscard]] Entries entries() const { return entries_; }
  /// Of one chunk, what a pass over it reads.
  [[nodiscard]] std::int64_t slots(std::int64_t chunk) const {
    return lower_.begin[chunk + 1] - lower_.begin[chunk] + upper_.begin[chunk + 1] - upper_.begin[chunk];
  }
  /// Calls visit(column, filling, row) for every column that stands in the chunk, which it may change where it only
  /// fills a slot.
  template <class Visit>
  void each_column(std::int64_t chunk, Visit&& visit) const {
    for (const Side* side : {&lower_, &upper_}) {
      for (std::int64_t at = side->begin[chunk] * kRows; at < side->begin[chunk + 1] * kRows; ++at) {
        visit(side->columns[at], side->values[at] == 0, chunk * kRows + at % kRows);
      }
    }
  }

 private:
  struct Side {
    Array<std::int64_t> begin;
    Array<double> values;
    Array<std::int32_t> columns;
    Array<std::uint8_t> serial;
    [[nodiscard]] Part view() const { return {begin.data(), values.data(), columns.data()}; }
  };
  std::int64_t chunks_ = 0;
  Array<double> diagonal_;
  Side lower_, upper_;
  Entries entries_;
};

/// Sweeps of Gauss-Seidel in the order of rows, by threads: each has blocks of chunks, and begins one when those that
/// it shares entries with, before it, are done. The result is that of one thread, to the last bit.
class Sweeps {
 public:
  /// `stretch`: rows that a thread has in one piece, such as a plane of the grid; `block`: rows of a block.
  /// What only fills slots must not make blocks wait that have nothing of each other: such columns are turned to their
  /// own row.
  Sweeps(Team& team, Sell& matrix, std::int64_t stretch, std::int64_t block);

  /// Every thread of the team calls it: work(first, last) for each of its blocks, in order; then back(first, last).
  template <class Work, class Back>
  void run(int thread, Work&& work, Back&& back) {
    auto& mine = threads_[static_cast<std::size_t>(thread)];
    const auto count = static_cast<std::int64_t>(mine.blocks.size());
    for (std::int64_t k = 0; k < count; ++k) {
      const auto& block = mine.blocks[static_cast<std::size_t>(k)];
      for (const auto& need : block.before) await(of(need).forward, mine.sweeps, need);
      work(block.first, block.last);
      mine.forward.store(mine.sweeps * count + k + 1, std::memory_order_release);
    }
    for (std::int64_t k = count - 1; k >= 0; --k) {
      const auto& block = mine.blocks[static_cast<std::size_t>(k)];
      for (const auto& need : block.behind) await(of(need).backward, mine.sweeps, need);
      back(block.first, block.last);
      mine.backward.store(mine.sweeps * count + count - k, std::memory_order_release);
    }
    ++mine.sweeps;
  }

 private:
  struct Need {
    int thread;
    std::int64_t done;  // blocks of it, in the direction of the sweep
  };
  struct Block {
    std::int64_t first = 0, last = 0;  // chunks
    std::vector<Need> before, behind;
  };
  struct alignas(128) Thread {
    alignas(128) std::atomic<std::int64_t> forward{0};
    std::int64_t sweeps = 0;
    std::vector<Block> blocks;
    alignas(128) std::atomic<std::int64_t> backward{0};
  };
  [[nodiscard]] const Thread& of(const Need& need) const { return threads_[static_cast<std::size_t>(need.thread)]; }
  void await(const std::atomic<std::int64_t>& progress, std::int64_t sweeps, const Need& need) const;
  void cut(std::int64_t chunks, std::int64_t stretch, std::int64_t block);
  void connect(Team& team, Sell& matrix);
  void find_beside(Sell& matrix, const Block& block, std::vector<std::int32_t>& found) const;

  std::vector<Thread> threads_;
  struct Place {
    int thread;
    std::int64_t index;  // among its thread's blocks
    std::int64_t stretch;
  };
  std::vector<Place> places_;           // of each block, in order of rows
  std::vector<std::int32_t> block_of_;  // each chunk
};

}  // namespace shakedown::hpcg
