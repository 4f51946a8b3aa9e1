// The bandwidth that a run is laid over: STREAM's triad by the program's own loops, on the same threads of the same ranks.
#pragma once

#include <memory>

#include "run.hpp"

namespace shakedown::hpcg {

/// The arrays of a triad on all ranks, and the fastest loop over them. Every rank calls each of these.
class TriadBench {
 public:
  /// Throws on all ranks alike where there is no memory for the arrays.
  TriadBench(const Place& place, const Options& options);
  ~TriadBench();
  TriadBench(const TriadBench&) = delete;
  TriadBench& operator=(const TriadBench&) = delete;
  /// Of each array of a rank; and counted in a sample, of all ranks.
  [[nodiscard]] std::int64_t array_bytes() const { return array_bytes_; }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  /// Seconds of one pass, the longest of all ranks.
  double sample();
  /// Whether every element is right on every rank.
  [[nodiscard]] bool exact();

 private:
  struct Parts;
  const Place& place_;
  std::int64_t array_bytes_ = 0, bytes_ = 0;
  std::unique_ptr<Parts> parts_;
};

}  // namespace shakedown::hpcg
