// Collective operations between GPUs as nccl-tests counts them: sizes, shares of ranks, bytes over links. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "content.hpp"

namespace shakedown::gpu_collectives {

enum class Operation : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  reduce,
  alltoall,
  gather,
  scatter,
  sendrecv
};
inline constexpr std::array<const char*, 9> kOperations = {
    "all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "alltoall", "gather", "scatter", "sendrecv"};
inline constexpr std::array<const char*, 2> kTypes = {"float", "uint64"};  // by the kernels' number of a type
inline const char* name_of(Operation operation) { return kOperations[static_cast<std::size_t>(operation)]; }
constexpr std::size_t element_bytes(int type) { return type == kFloat ? 4 : 8; }

/// One case. `bytes` is what was asked; whole_bytes() what is moved. The root, of those that have one, is rank 0.
struct Shape {
  Operation operation = Operation::all_reduce;
  int type = kFloat;
  std::size_t bytes = 0;
  int ranks = 1;
  bool in_place = false;
};

/// Whether each rank has a block of the bytes; else one vector.
bool is_of_blocks(Operation operation);
/// In place as nccl-tests has it: the same vector, or a rank's block where it lies in the whole.
bool can_be_in_place(Operation operation);
/// Whether the library does it as one call; else it is sends and receives in a group.
bool is_one_call(Operation operation);

/// Elements of the vector, or of each block: blocks are multiples of 16 bytes, as in nccl-tests. 0: nothing is moved.
std::size_t count_of(const Shape& shape);
/// What nccl-tests prints as the size.
std::size_t whole_bytes(const Shape& shape);
/// Elements that a rank sends from; 0 where it sends nothing.
std::size_t sent_count(const Shape& shape, int rank);
/// Elements that a rank has afterwards; 0 where it gets nothing.
std::size_t result_count(const Shape& shape, int rank);
/// Where a rank's result comes from.
Origin origin_of(const Shape& shape, int rank, Word seed);

/// Bus bandwidth over algorithm bandwidth: what a ring sends through each GPU's links, by the bytes of the operation
/// (nccl-tests, doc/PERFORMANCE.md).
double bus_factor(Operation operation, int ranks);

}  // namespace shakedown::gpu_collectives
