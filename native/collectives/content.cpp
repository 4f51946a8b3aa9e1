#include "content.hpp"

#include <algorithm>
#include <array>

namespace shakedown::collectives {
namespace {

constexpr std::array<const char*, kOperations> kNames = {
    "barrier", "bcast",     "reduce",   "allreduce", "gather",
    "scatter", "allgather", "alltoall", "alltoallv", "reduce_scatter_block",
    "scan",    "exscan"};

/// A word of 64 well mixed bits for a place (the finalizer of MurmurHash3, Appleby 2011).
Word mixed(Word value) {
  value ^= value >> 33U;
  value *= 0xff51afd7ed558ccdU;
  value ^= value >> 33U;
  value *= 0xc4ceb9fe1a85ec53U;
  return value ^ (value >> 33U);
}

// A rank's word at a place is a + rank b, so that sums over ranks need no sum: for ranks 0 to n - 1 it is n a +
// n (n - 1) / 2 b. With b odd no two ranks have the same word there.
struct Line {
  Word a;
  Word b;
};
Line line_at(std::size_t place, Word seed) {
  const Word a = mixed(seed + 2 * place + 1);
  return {a, mixed(a + seed) | 1U};
}
Word word_of(std::size_t place, int rank, Word seed) {
  const auto [a, b] = line_at(place, seed);
  return a + static_cast<Word>(rank) * b;
}
Word sum_of(std::size_t place, int ranks, Word seed) {
  const auto [a, b] = line_at(place, seed);
  const auto n = static_cast<Word>(ranks);
  return n * a + n * (n - 1) / 2 * b;
}

}  // namespace

const char* name_of(Operation operation) { return kNames[static_cast<std::size_t>(operation)]; }

bool has_root(Operation operation) {
  return operation == Operation::bcast || operation == Operation::reduce || operation == Operation::gather ||
         operation == Operation::scatter;
}

bool can_be_in_place(Operation operation) { return operation != Operation::barrier && operation != Operation::bcast; }

bool is_of_blocks(Operation operation) {
  switch (operation) {
    case Operation::gather:
    case Operation::scatter:
    case Operation::allgather:
    case Operation::alltoall:
    case Operation::alltoallv:
    case Operation::reduce_scatter_block:
      return true;
    default:
      return false;
  }
}

std::size_t buffer_words(const View& view) {
  const auto ranks = static_cast<std::size_t>(view.ranks);
  if (is_of_blocks(view.operation)) return ranks * view.count;
  return (view.count + ranks - 1) / ranks * ranks;
}

void fill_input(std::span<Word> words, int rank, Word seed) {
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = word_of(i, rank, seed);
}

void poison(std::span<Word> words) {
  for (auto& word : words) word = 0xdeadbeef'0badf00dU;
}

std::vector<Word> expected(const View& view, Word seed) {
  const std::size_t count = view.count;
  const auto ranks = static_cast<std::size_t>(view.ranks);
  const std::size_t mine = static_cast<std::size_t>(view.rank) * count;
  const auto of = [&](std::size_t size, auto&& word) {
    std::vector<Word> words(size);
    for (std::size_t i = 0; i < size; ++i) words[i] = word(i);
    return words;
  };
  const bool at_root = view.rank == view.root;
  switch (view.operation) {
    case Operation::barrier:
      return {};
    case Operation::bcast:
      return of(count, [&](auto i) { return word_of(i, view.root, seed); });
    case Operation::reduce:
      if (!at_root) return {};
      [[fallthrough]];
    case Operation::allreduce:
      return of(count, [&](auto i) { return sum_of(i, view.ranks, seed); });
    case Operation::gather:
      if (!at_root) return {};
      [[fallthrough]];
    case Operation::allgather:
      return of(ranks * count, [&](auto i) { return word_of(i % count, static_cast<int>(i / count), seed); });
    case Operation::scatter:
      return of(count, [&](auto i) { return word_of(mine + i, view.root, seed); });
    case Operation::alltoall:
    case Operation::alltoallv:
      return of(ranks * count, [&](auto i) { return word_of(mine + i % count, static_cast<int>(i / count), seed); });
    case Operation::reduce_scatter_block:
      return of(count, [&](auto i) { return sum_of(mine + i, view.ranks, seed); });
    case Operation::scan:
      return of(count, [&](auto i) { return sum_of(i, view.rank + 1, seed); });
    case Operation::exscan:  // MPI leaves the first rank's undefined
      return view.rank == 0 ? std::vector<Word>() : of(count, [&](auto i) { return sum_of(i, view.rank, seed); });
  }
  return {};
}

Difference compare(std::span<const Word> found, std::span<const Word> wanted, std::size_t offset) {
  Difference difference;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] == wanted[offset + i]) continue;
    if (difference.wrong++ == 0) difference.first = static_cast<std::int64_t>(offset + i);
  }
  return difference;
}

}  // namespace shakedown::collectives
