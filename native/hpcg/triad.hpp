// The bandwidth that a run is laid over: STREAM's triad and a sum, by the program's own loops, on the same threads of
// the same ranks.
#pragma once

#include <memory>

#include "run.hpp"
#include "stream/stream.hpp"

namespace shakedown::hpcg {

/// The arrays of a kernel of STREAM's on all ranks, and the fastest loop over them. Every rank calls each of these.
class Bandwidth {
 public:
  /// Throws on all ranks alike where there is no memory for the arrays.
  Bandwidth(const Place& place, const Options& options, stream::Kernel kernel);
  ~Bandwidth();
  Bandwidth(const Bandwidth&) = delete;
  Bandwidth& operator=(const Bandwidth&) = delete;
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
  stream::Kernel kernel_;
  std::int64_t array_bytes_ = 0, bytes_ = 0;
  std::unique_ptr<Parts> parts_;
};

}  // namespace shakedown::hpcg
