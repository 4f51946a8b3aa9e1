// What ranks send in a collective operation and what each must have afterwards: 64-bit words, added modulo 2^64. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace shakedown::collectives {

using Word = std::uint64_t;

enum class Operation : std::uint8_t {
  barrier,
  bcast,
  reduce,
  allreduce,
  gather,
  scatter,
  allgather,
  alltoall,
  alltoallv,
  reduce_scatter_block,
  scan,
  exscan
};
inline constexpr int kOperations = 12;
const char* name_of(Operation operation);

bool has_root(Operation operation);
bool can_be_in_place(Operation operation);
/// Whether a rank's data are a block for each rank; else one vector.
bool is_of_blocks(Operation operation);

/// One operation of so many ranks, as one rank sees it.
struct View {
  Operation operation = Operation::barrier;
  int ranks = 1;
  int rank = 0;
  int root = 0;
  std::size_t count = 0;  // words of the vector, or of each block
};

/// How many words a buffer needs, so that mock-ups can cut a vector into equal blocks, one for each rank.
std::size_t buffer_words(const View& view);

/// What a rank sends. Each word is unlike that of any other rank and place: what is lost, doubled or swapped shows in
/// every sum. `seed` makes other data.
void fill_input(std::span<Word> words, int rank, Word seed);

/// Words that no result holds, but by a chance of 2^-64 each.
void poison(std::span<Word> words);

/// What a rank's receive buffer must begin with; empty where it gets nothing.
std::vector<Word> expected(const View& view, Word seed);

/// How many words differ, and the first one.
struct Difference {
  std::int64_t wrong = 0;
  std::int64_t first = -1;
};
/// Of `found` from word `offset` on, against the same words of `wanted`.
Difference compare(std::span<const Word> found, std::span<const Word> wanted, std::size_t offset = 0);

}  // namespace shakedown::collectives
