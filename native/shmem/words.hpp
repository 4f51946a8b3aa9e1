// What operations of OpenSHMEM there are, and what words must hold after atomic ones. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "onesided/content.hpp"

namespace shakedown::shmem {

using onesided::Difference;
using onesided::Word;

enum class Operation : std::uint8_t {
  put,
  get,
  fetch_add,
  add,
  fetch_inc,
  inc,
  swap,
  compare_swap,
  set,
  fetch,
  barrier,
  broadcast,
  fcollect,
  sum,
  alltoall
};
inline constexpr int kOperations = 15;
const char* name_of(Operation operation);

bool is_atomic(Operation operation);
/// Of all PEs.
bool is_of_all(Operation operation);
/// An atomic operation that gives the old value, and so has ended when it returns.
bool fetches(Operation operation);
/// Two PEs can do it on one word at once, and what comes of it is known.
bool can_contend(Operation operation);

/// pipelined: one after another, then one quiet. completed: a quiet after each; of a get, and of an atomic operation
/// that fetches, the call itself. fenced: a fence after each. nonblocking: the non-blocking form of a put or a get,
/// then one quiet.
enum class Mode : std::uint8_t { completed, fenced, pipelined, nonblocking };

struct Shape {
  Operation operation = Operation::put;
  Mode mode = Mode::completed;
  std::size_t bytes = sizeof(Word);
  int slots = 1;  // operations of a round, each on its own place

  [[nodiscard]] std::size_t window_bytes() const { return static_cast<std::size_t>(slots) * bytes; }
};
/// "shmem_put", "shmem_put_nbi", "shmem_atomic", "shmem_atomic_quiet".
std::string kernel_of(const Shape& shape);
/// An atomic operation as the OSU micro-benchmarks print it: "shmem_int_fadd"; of all others empty.
std::string osu_name_of(const Shape& shape);
/// A put or a get as onesided/content.hpp knows it.
onesided::Shape content_of(const Shape& shape);

// Of atomic operations the k-th on a word (from 1 on) finds initial + k - 1 and leaves initial + k; a fetch leaves what
// was there.

/// What a word holds before: small enough that no sum overflows; of 8 bytes with something in the upper half.
Word initial_of(std::size_t bytes, int slot, Word seed);
/// What the words must hold after so many rounds.
std::vector<std::uint8_t> expected_words(const Shape& shape, Word seed, std::int64_t rounds);
/// The old values that the last round must have fetched; empty where the operation gives none.
std::vector<std::uint8_t> expected_olds(const Shape& shape, Word seed, std::int64_t rounds);
/// Two PEs at once on one word: `count` operations of each, all that they fetched and what the word holds at last. How
/// many are wrong; the first by its place in the sorted row.
Difference contended(const Shape& shape, std::vector<Word> olds, Word last, Word initial, std::int64_t count);

}  // namespace shakedown::shmem
