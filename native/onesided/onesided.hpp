// The interface of onesided: one-sided operations of MPI from one rank on the memory of another.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "calls.hpp"
#include "common/memory.hpp"
#include "common/ranks.hpp"
#include "content.hpp"

namespace shakedown::onesided {

/// Damage done on purpose, so that tests see it found. flip: a bit of what arrived, before its check; lost: an
/// operation is left out; twice: an old value is given twice; hang: the target stops.
enum class Inject { none, flip, lost, twice, hang };

enum class WindowKind : std::uint8_t { allocate, create, allocate_shared, dynamic };
inline constexpr int kWindowKinds = 4;
const char* name_of(WindowKind kind);
/// As MPI and the OSU micro-benchmarks call it: "Win_allocate".
const char* mpi_name_of(WindowKind kind);

struct Options {
  std::vector<Operation> operations;
  std::vector<WindowKind> windows;
  std::vector<std::size_t> sizes;         // bytes
  std::vector<std::size_t> atomic_bytes;  // of the word of an atomic operation: 8, 4
  int in_flight = 64;                     // operations under way at once where the rate is measured
  bool computing = true;                  // also while the target computes
  std::int64_t samples = 100;
  double budget_s = 0.5;
  double sample_s = 100e-6;  // a sample is made at least so long
  double silent_s = 60;
  std::int64_t contended = 500;  // operations of each rank in the check of both at once
  RanksWanted ranks;
  bool verify = true;
  Pages pages = Pages::huge;
  Inject inject = Inject::none;
};

/// Read the command line. Throws a usage error; --help prints and leaves.
Options read_options(int argc, char** argv);

inline constexpr int kOrigin = 0;
inline constexpr int kTarget = 1;

// ---------------------------------------------------------------------------------------------- windows: windows.cpp

/// Memory of the target that the origin reaches, from its creation in an epoch of MPI_Win_lock_all. The origin gives
/// none of its own.
class Window {
 public:
  /// Collective. Throws on both ranks alike: "could not measure" where this MPI, or this pair of ranks, has none such.
  Window(const Ranks& ranks, WindowKind kind, std::size_t bytes, Pages pages);
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  [[nodiscard]] MPI_Win handle() const { return window_; }
  /// Where the target's memory begins, as the origin must say it.
  [[nodiscard]] MPI_Aint base() const { return base_; }
  /// The target's memory; empty at the origin.
  [[nodiscard]] std::span<std::uint8_t> memory() const { return memory_; }

 private:
  int make(const Ranks& ranks, WindowKind kind, std::size_t bytes);
  Buffer buffer_;
  std::span<std::uint8_t> memory_;
  MPI_Win window_ = MPI_WIN_NULL;
  MPI_Aint base_ = 0;
};

// --------------------------------------------------------------------------------------------- one case: measure.cpp

/// What a case gave. A sample is `iterations` times all places and a flush.
struct Series {
  std::int64_t iterations = 0;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::vector<double> seconds;
  std::int64_t wrong = 0;  // elements
  int wrong_rank = -1;     // whose memory the first wrong element is in
  std::int64_t wrong_element = -1;
  double computed_s = 0;  // how long the target computed, in that mode
};

/// A rank's buffers: what it sends, what it fetches, what it compares with.
struct Buffers {
  Buffer out, in, compare;
  Buffers() = default;
  Buffers(std::size_t bytes, Pages pages);
};

/// The origin measures and returns the series; the target obeys.
Series lead(const Ranks& ranks, const Options& options, const Window& window, const Buffers& buffers,
            const Shape& shape);
void follow(const Ranks& ranks, const Options& options, const Window& window, const Buffers& buffers,
            const Shape& shape);

}  // namespace shakedown::onesided
