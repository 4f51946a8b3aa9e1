// The interface of shmem: one-sided operations of OpenSHMEM, one PE on the memory of another, and those of all PEs.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "common/emit.hpp"
#include "common/error.hpp"
#include "words.hpp"

namespace shakedown::shmem {

struct Options {
  std::vector<Operation> operations;
  std::vector<std::size_t> sizes;         // bytes of a put, a get, or of each PE's block
  std::vector<std::size_t> atomic_bytes;  // of the word of an atomic operation: 4 (int), 8 (long long)
  int in_flight = 64;                     // puts and gets under way at once where the rate is measured
  std::int64_t samples = 100;
  double budget_s = 0.5;
  double sample_s = 100e-6;  // a sample of two PEs is made at least so long
  double silent_s = 60;
  std::int64_t contended = 500;  // operations of each PE in the check of both at once
  std::int64_t world_size = 0;   // how many PEs were started; 0: whatever there is
  std::string cpus;
  bool allow_oversubscribe = false;
  bool verify = true;
};

/// Read the command line. Throws a usage error; --help prints and leaves.
Options read_options(int argc, char** argv);

inline constexpr int kOrigin = 0;
inline constexpr int kTarget = 1;

// -------------------------------------------------------------------------------------------------- the job: job.cpp

/// Bytes of the symmetric heap that the cases of so many PEs need.
std::uint64_t heap_bytes(const Options& options, std::uint64_t pes);
/// Before shmem_init: a heap of that size, where the user named none. Throws where this host has not so much memory.
void ask_for_heap(const Options& options);

/// Symmetric memory. Every PE makes it alike, and frees it alike.
class Symmetric {
 public:
  /// Throws, on every PE alike, where the heap has no room.
  Symmetric(std::size_t bytes, const char* what);
  ~Symmetric();
  Symmetric(const Symmetric&) = delete;
  Symmetric& operator=(const Symmetric&) = delete;
  template <class T = std::uint8_t>
  [[nodiscard]] std::span<T> as() const {
    return {static_cast<T*>(data_), bytes_ / sizeof(T)};
  }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// All PEs have come here, and what they sent has arrived.
void meet();
/// Throws, on all PEs alike, the error of the lowest one whose `work` failed. Every PE calls it.
void together(const std::function<void()>& work);

struct Job {
  int pe = 0;
  int pes = 0;
  std::string library;             // which, and which version of the specification it keeps to
  std::vector<std::string> hosts;  // of each PE, as all below
  std::vector<int> cpus;
  std::vector<int> pids;
  bool oversubscribed = false;

  [[nodiscard]] int nodes() const;
  [[nodiscard]] Object facts() const;
};
/// Pin every PE and gather where all of them are. Throws on every PE alike.
Job join(const Options& options);

/// From now on a case has so long until `unwatch`: it is printed without a sample then, and the job ends.
void watch_case(const Job& job, const Options& options, const std::string& kernel, const Object& params,
                const std::string& words);

// ------------------------------------------------------------------------------------------- two PEs: pair.cpp

/// What a case gave, on PE 0.
struct Series {
  std::int64_t operations = 0;  // of each sample
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::vector<double> seconds;
  std::int64_t late = 0;   // repetitions of all PEs that one of them was late to, not kept
  std::int64_t wrong = 0;  // elements
  int wrong_pe = -1;       // whose memory the first wrong element is in
  std::int64_t wrong_element = -1;
};

/// Memory of a pair of PEs: the target's, what the origin sends, and what it fetches.
struct PairMemory {
  std::span<std::uint8_t> window, out, in;
  std::span<Word> olds;     // of both PEs at once
  std::span<Word> control;  // words that PEs tell each other
};

/// Every PE of the two calls it.
Series measure_pair(const Job& job, const Options& options, const Shape& shape, const PairMemory& memory);

// -------------------------------------------------------------------------------------- all PEs: all_pes.cpp

/// One operation of all PEs of a host: from the first entry to the last exit, on the clock that they share. Every PE
/// calls it. Bytes are those of the vector, or of each PE's block.
Series measure_all_pes(const Job& job, const Options& options, const Shape& shape);
/// Symmetric bytes that it takes.
std::uint64_t all_pes_bytes(const Shape& shape, std::uint64_t pes, std::int64_t samples);

}  // namespace shakedown::shmem
