// What one-sided operations send, what memory holds before them, and what it must hold afterwards. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace shakedown::onesided {

using Word = std::uint64_t;

enum class Operation : std::uint8_t { put, get, accumulate, get_accumulate, fetch_and_op, compare_and_swap };
inline constexpr int kOperations = 6;
const char* name_of(Operation operation);

/// The seed of what is timed. Sums of bytes add nothing then: MPI does not say what becomes of a sum beyond 255 (Open
/// MPI 4.1 stops there with AVX and begins anew without).
inline constexpr Word kTimed = 1;
/// So often at most may a byte be added to with other seeds.
inline constexpr std::int64_t kMostByteSums = 120;

/// What an accumulate adds: bytes, as the OSU micro-benchmarks do, or words of 64 bits.
enum class Element : std::uint8_t { byte, word };

/// latency: each operation is flushed. rate: a window of operations under way at once, then one flush. computing: one
/// operation and its flush, while the target computes and calls no MPI.
enum class Mode : std::uint8_t { latency, rate, computing };

/// On one word, of 4 or 8 bytes: fetch-and-op, compare-and-swap.
bool is_atomic(Operation operation);
/// Adds to the target's memory by element.
bool is_sum(Operation operation);
/// Brings the target's memory, or what it was, to the origin.
bool fetches(Operation operation);

struct Shape {
  Operation operation = Operation::put;
  Element element = Element::byte;
  Mode mode = Mode::latency;
  std::size_t bytes = sizeof(Word);
  int slots = 1;  // operations under way at once, each in its own place; atomics are all on one word

  /// Bytes of the target's memory that take part.
  [[nodiscard]] std::size_t window_bytes() const;
  /// Bytes of each of the origin's buffers: one place for each operation under way.
  [[nodiscard]] std::size_t origin_bytes() const { return static_cast<std::size_t>(slots) * bytes; }
};
/// "put_latency", "accumulate_words_latency", "fetch_and_op_rate".
std::string kernel_of(const Shape& shape);

/// The low bytes of a word, as many as there are; and such bytes as a word.
void store(std::span<std::uint8_t> data, Word word);
Word load(std::span<const std::uint8_t> data);

/// What the origin sends, and adds.
void fill_sent(const Shape& shape, std::span<std::uint8_t> data, Word seed);
/// What the target's memory holds before: of a put the complement of what comes, of an atomic the seed, else bytes of
/// its own.
void fill_target(const Shape& shape, std::span<std::uint8_t> data, Word seed);
/// What no operation brings.
void poison(std::span<std::uint8_t> data);

/// What the target's memory must hold after so many operations on each place. An atomic's place is its word.
std::vector<std::uint8_t> expected_target(const Shape& shape, Word seed, std::int64_t operations);
/// What the origin must hold then of what it fetched: of a get the target's memory, of an atomic the old values of the
/// last operations, each in its place, else the memory before the last operation. Empty where it fetches nothing.
std::vector<std::uint8_t> expected_origin(const Shape& shape, Word seed, std::int64_t operations);

/// How many elements differ and the first one. Elements are words of 8 or else 4 bytes where the size is made of them,
/// else bytes.
struct Difference {
  std::int64_t wrong = 0;
  std::int64_t first = -1;
  void join(const Difference& other) {
    if (wrong == 0) first = other.first;
    wrong += other.wrong;
  }
};
std::size_t element_bytes(const Shape& shape);
Difference compare(const Shape& shape, std::span<const std::uint8_t> found, std::span<const std::uint8_t> wanted);

/// Of the old values that several origins got of one word of so many bytes to which each added 1, each must be there
/// once, from `seed` on. The first wrong one is named by its place in the sorted row.
Difference each_once(std::vector<Word> olds, Word seed, std::size_t bytes);

}  // namespace shakedown::onesided
