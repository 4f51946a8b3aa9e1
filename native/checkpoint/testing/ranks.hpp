// Ranks as threads of a test, with an allgather, and an application whose state at each step is known.
#pragma once

#include <condition_variable>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "../session.hpp"

namespace shakedown::checkpoint::testing {

/// What MPI_Allgather does, between threads. Whoever ends breaks it for the others, as an abort of MPI does.
class Gathering {
 public:
  explicit Gathering(int size) : size_(size) {}

  int gather(int rank, const void* mine, void* all, std::size_t bytes) {
    std::unique_lock lock(mutex_);
    if (broken_) return 1;
    shared_.resize(bytes * static_cast<std::size_t>(size_));
    std::memcpy(shared_.data() + bytes * static_cast<std::size_t>(rank), mine, bytes);
    const std::uint64_t turn = turn_;
    if (++arrived_ == size_) {
      arrived_ = 0;
      ++turn_;
      done_ = shared_;
      changed_.notify_all();
    } else {
      changed_.wait(lock, [&] { return turn_ != turn || broken_; });
      if (turn_ == turn) return 1;
    }
    std::memcpy(all, done_.data(), done_.size());
    return 0;
  }
  void end() {
    const std::scoped_lock lock(mutex_);
    broken_ = true;
    changed_.notify_all();
  }

 private:
  int size_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::uint8_t> shared_;
  std::vector<std::uint8_t> done_;
  int arrived_ = 0;
  std::uint64_t turn_ = 0;
  bool broken_ = false;
};

struct Seat {
  Gathering* gathering;
  int rank;
};

inline int gather_in_threads(void* context, const void* mine, void* all, std::size_t bytes) {
  const auto* seat = static_cast<const Seat*>(context);
  return seat->gathering->gather(seat->rank, mine, all, bytes);
}

/// Runs `body` once for each rank, each in a thread.
inline void run_ranks(int size, const std::function<void(const shakedown_ckpt_comm&)>& body) {
  Gathering gathering(size);
  std::vector<Seat> seats;
  seats.reserve(static_cast<std::size_t>(size));
  for (int rank = 0; rank < size; ++rank) seats.push_back({&gathering, rank});
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(size));
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      body({rank, size, &seats[static_cast<std::size_t>(rank)], gather_in_threads, nullptr});
      gathering.end();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

inline std::uint64_t value_at(std::uint64_t place, std::uint64_t step) {
  std::uint64_t mixed = place * 0x9e3779b97f4a7c15ULL + step * 0xd1b54a32d192ed03ULL + 1;
  mixed ^= mixed >> 29;
  return mixed * 0xbf58476d1ce4e5b9ULL;
}

/// A plane of rows x columns, dealt out by rows, with a ghost layer in memory; and a count of steps.
class Application {
 public:
  Application(int rank, int size, std::uint64_t rows, std::uint64_t columns) : columns_(columns) {
    const auto part = [&](int at) { return rows * static_cast<std::uint64_t>(at) / static_cast<std::uint64_t>(size); };
    first_ = part(rank);
    count_ = part(rank + 1) - first_;
    rows_ = rows;
    plane_.assign((count_ + 2) * (columns + 2), 7);
  }

  void protect(Session& session) {
    (void)session.protect({"step", SHAKEDOWN_CKPT_UINT64, {}, reinterpret_cast<std::uint8_t*>(&step), {}, {}});
    (void)session.protect({"plane",
                           SHAKEDOWN_CKPT_UINT64,
                           {{count_, columns_}, {rows_, columns_}, {first_, 0}},
                           reinterpret_cast<std::uint8_t*>(plane_.data()),
                           {count_ + 2, columns_ + 2},
                           {1, 1}});
  }

  void compute(std::uint64_t to_step) {
    step = to_step;
    for_each([&](std::uint64_t& cell, std::uint64_t place) { cell = value_at(place, step); });
  }

  /// Whether the state is that of its step, with the ghost layer untouched.
  [[nodiscard]] bool right() {
    bool good = true;
    for_each([&](std::uint64_t& cell, std::uint64_t place) { good = good && cell == value_at(place, step); });
    for (std::uint64_t row = 0; row < count_ + 2; ++row) good = good && plane_[row * (columns_ + 2)] == 7;
    return good;
  }

  std::uint64_t step = 0;

 private:
  void for_each(const std::function<void(std::uint64_t&, std::uint64_t)>& visit) {
    for (std::uint64_t row = 0; row < count_; ++row) {
      for (std::uint64_t column = 0; column < columns_; ++column) {
        visit(plane_[(row + 1) * (columns_ + 2) + column + 1], (first_ + row) * columns_ + column);
      }
    }
  }
  std::uint64_t columns_;
  std::uint64_t rows_ = 0;
  std::uint64_t first_ = 0;
  std::uint64_t count_ = 0;
  std::vector<std::uint64_t> plane_;
};

}  // namespace shakedown::checkpoint::testing
