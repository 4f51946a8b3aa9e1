// Collectives among threads of one process, each a rank with memory that all reach: what the host backend has in place
// of NCCL, and what NCCL's stand-in of the tests is made of.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "nccl.hpp"
#include "operations.hpp"

namespace shakedown::gpu_collectives {

/// A send (`to` is null) or a receive, of a group of them.
struct Message {
  int peer = 0;
  const void* from = nullptr;
  void* to = nullptr;
  std::size_t bytes = 0;
};

/// What one rank brings to one operation; sends and receives of a group are one `sendrecv`.
struct Part {
  Operation operation = Operation::sendrecv;
  const void* from = nullptr;
  void* to = nullptr;
  std::size_t count = 0;
  int type = 0;  // NCCL's number
  int root = 0;
  gpu::Handle stream = nullptr;
  std::vector<Message> messages = {};
  int device = 0;        // for the stand-in
  bool brought = false;  // by its rank
};

/// The ranks of one communicator. A rank's parts are done in their order, each when the last rank has brought its own,
/// by the thread of that rank.
class Meeting {
 public:
  explicit Meeting(int ranks) : next_(static_cast<std::size_t>(ranks)), aborted_(static_cast<std::size_t>(ranks)) {}
  /// Joins those with the same id, and waits for all of them, as ncclCommInitRank does.
  static std::shared_ptr<Meeting> join(const UniqueId& id, int ranks);

  [[nodiscard]] int ranks() const { return static_cast<int>(next_.size()); }
  void bring(int rank, Part part);
  /// Until all that this rank brought is done; false: it left.
  bool wait(int rank);
  /// Until this rank leaves.
  void wait_for_abort(int rank);
  /// This rank waits no longer, whatever is not done.
  void abort(int rank);

 private:
  struct Round {
    std::vector<Part> parts;  // of each rank
    int arrived = 0;
  };
  [[nodiscard]] bool idle(std::size_t rank) const { return next_[rank] == done_; }

  std::mutex lock_;
  std::condition_variable changed_;
  std::deque<Round> rounds_;  // the first is that of number done_
  std::size_t done_ = 0;
  int joined_ = 0;
  std::vector<std::size_t> next_;  // of each rank, the number of the round that it brings its next part to
  std::vector<char> aborted_;
};

/// A rank's communicator.
struct HostComm {
  std::shared_ptr<Meeting> meeting;
  int rank = 0;
  std::atomic<int> error = 0;
  // For the stand-in:
  int device = 0;
  std::string id = {};
  std::vector<gpu::Handle> lost = {};  // streams that hold what never arrives
};

/// What a stand-in with streams of its own does besides. Without, a call returns when all is done.
struct Hooks {
  void (*begun)(gpu::Handle stream) = nullptr;  // work that is not done lies in this stream
  void (*done)(gpu::Handle stream) = nullptr;
  void (*finished)(std::vector<Part>& parts) = nullptr;  // of one operation, before anybody hears of it
  int (*before)(HostComm& comm, const Part& part, bool& lost) = nullptr;  // the call's result; `lost`: it never arrives
};
Hooks& hooks();

}  // namespace shakedown::gpu_collectives
