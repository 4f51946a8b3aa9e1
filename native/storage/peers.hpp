// The other processes of the job, one or several on each host: a star of TCP connections around rank 0, without MPI.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/error.hpp"

namespace shakedown::storage {

/// What one rank could not do, and all ranks know: rank 0 tells it.
struct Agreed : Error {
  using Error::Error;
};

/// The rank that the launcher gave this process (Open MPI, PMIx, PMI, Slurm); 0 where none did.
int launched_rank();

class Peers {
 public:
  /// A job of one.
  Peers() = default;
  /// Rank 0 writes where it listens into the file `meeting`, which all can see; the others read it and come. Throws
  /// where not all have come within `wait_s`.
  Peers(int rank, int size, const std::string& meeting, double wait_s);
  ~Peers();
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;
  Peers(Peers&& other) noexcept;
  Peers& operator=(Peers&& other) noexcept;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] bool first() const { return rank_ == 0; }
  /// All texts in the order of ranks, on every rank. Each text is any bytes.
  std::vector<std::string> share(const std::string& mine);
  /// All texts in the order of ranks on rank 0; empty on the others, which do not wait.
  std::vector<std::string> gather(const std::string& mine);
  /// Rank 0's text, on every rank.
  std::string hand_out(const std::string& mine);
  /// Wait for all.
  void meet() {
    gather("");
    hand_out("");
  }
  /// The largest of all ranks' numbers, on every rank.
  double most(double mine);
  /// Run `work` on every rank; where it throws an Error on one, all throw the lowest rank's.
  template <class Work>
  void together(Work&& work);

 private:
  void agree(int code, const std::string& text);
  int rank_ = 0;
  int size_ = 1;
  std::vector<int> links_;  // rank 0: to every other rank, in order; the others: to rank 0
};

}  // namespace shakedown::storage

namespace shakedown::storage {

template <class Work>
void Peers::together(Work&& work) {
  const Caught found = caught(work);
  agree(found.code, found.text);
}

}  // namespace shakedown::storage
