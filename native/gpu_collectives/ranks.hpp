// The ranks: a GPU, a thread and a communicator each, all in one process. Whoever waits for them waits with a limit: a
// rank that does not answer, or whose GPU or communicator fails, is named, and the others go on.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gpu/gpu.hpp"
#include "nccl.hpp"

namespace shakedown::gpu_collectives {

/// What a rank is at: done; making its communicator; behind the others, with what comes before the operation; at the
/// place where ranks meet; inside a call; waiting for the operation.
enum class Doing : std::uint8_t { nothing, connecting, before, meeting, calling, waiting };

/// What the library said to a rank.
struct LibraryFailure : Error {
  LibraryFailure(int result, const std::string& what) : Error(kCouldNotMeasure, what), code(result) {}
  int code;
};
/// Thrown in a rank's thread where another rank failed: it leaves its work.
struct Stopped {};

class Ranks;

/// One rank, for work that its own thread does.
class Rank {
 public:
  Rank(Ranks& all, gpu::Device& its_device, int its_seat) : device(its_device), seat(its_seat), all_(all) {}

  gpu::Device& device;
  const int seat;  // among all GPUs; stays when others are left out
  int number = 0;  // in its communicator
  int of = 1;      // ranks of its communicator
  std::atomic<Comm> comm = nullptr;
  std::unique_ptr<gpu::Stream> stream;

  /// A call of the library, where none of the ranks has failed. Throws LibraryFailure, Stopped.
  void call(const char* name, const std::function<int()>& work);
  /// Until an event of this rank's stream has happened. Throws gpu::Failure, LibraryFailure, Stopped.
  void finish(const gpu::Event& event, Doing doing = Doing::waiting);
  /// Until all ranks of this work are here. Throws Stopped.
  void meet();

 private:
  void check_stop() const;
  Ranks& all_;
};

/// Why work ended before its end.
struct Trouble {
  bool hung = false;
  std::vector<int> seats = {};       // the cause, as far as it is known
  std::vector<int> unfinished = {};  // those that had not done their work when a limit was over
  std::string text = {};             // what was seen, of all ranks
  std::string advice = {};           // of what failed; empty of a hang
  gpu::State state = gpu::State::failed;
};
/// What an Error says, and its next step, which is empty where it has none.
std::pair<std::string, std::string> parts_of(const std::string& error);

/// Threads that do not come back even when their communicators are aborted: the process must end.
struct Unanswering : Error {
  using Error::Error;
};

class Ranks {
 public:
  /// `join_s`: how long making communicators may take.
  Ranks(const Nccl& nccl, const std::vector<gpu::Device*>& devices, double join_s);
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  [[nodiscard]] int seats() const { return static_cast<int>(all_.size()); }
  [[nodiscard]] Rank& rank(int seat) const { return all_[static_cast<std::size_t>(seat)]->rank; }
  /// "rank 2 (GPU 2, NVIDIA H200, 0000:03:00.0)"
  [[nodiscard]] std::string name_of(int seat) const;
  [[nodiscard]] std::string names_of(const std::vector<int>& seats) const;

  /// Communicators for groups of ranks that have none in common; the former ones go.
  std::optional<Trouble> connect(const std::vector<std::vector<int>>& groups);
  /// Every communicator that is left goes.
  void close();
  /// Let these ranks do their work, each on its thread. Where one fails, or one is not done in `limit_s`, all leave and
  /// their communicators are aborted. Throws Unanswering.
  std::optional<Trouble> run(const std::vector<int>& seats, double limit_s, const std::function<void(Rank&)>& work);

 private:
  friend class Rank;
  /// How a rank's work ended.
  struct Ended {
    bool failed = false, remote = false;  // by itself; because of another rank
    std::string error = {};
    gpu::State state = gpu::State::failed;
  };
  static Ended ended(Rank& rank, const std::function<void(Rank&)>& work);
  struct Seat {
    Seat(Ranks& ranks, gpu::Device& device, int number) : rank(ranks, device, number) {}
    Rank rank;
    std::thread thread;
    std::atomic<Doing> doing = Doing::nothing;
    const std::function<void(Rank&)>* work = nullptr;  // under lock_, as are those below
    bool ending = false;
    Ended ended;
  };
  void serve(Seat& seat);
  void begin(const std::vector<int>& seats, const std::function<void(Rank&)>& work);
  bool await(const std::vector<int>& seats, double limit_s, bool until_failure);
  [[nodiscard]] std::vector<int> busy(const std::vector<int>& seats) const;
  Trouble trouble_of(const std::vector<int>& seats, const std::vector<Doing>& doing, double limit_s) const;
  void clear_up(const std::vector<int>& seats, const Trouble& trouble);

  const Nccl& nccl_;
  double join_s_;
  std::vector<std::unique_ptr<Seat>> all_;
  mutable std::mutex lock_;
  std::condition_variable changed_;
  std::atomic<bool> stop_ = false;
  std::atomic<unsigned> arrived_ = 0;  // of meet()
  unsigned members_ = 0;
};

}  // namespace shakedown::gpu_collectives
