#include "operations.hpp"

namespace shakedown::gpu_collectives {

bool is_of_blocks(Operation operation) {
  switch (operation) {
    case Operation::all_gather:
    case Operation::reduce_scatter:
    case Operation::alltoall:
    case Operation::gather:
    case Operation::scatter:
      return true;
    default:
      return false;
  }
}

bool can_be_in_place(Operation operation) {
  return operation != Operation::alltoall && operation != Operation::gather && operation != Operation::scatter &&
         operation != Operation::sendrecv;
}

bool is_one_call(Operation operation) {
  return can_be_in_place(operation);  // those of the first NCCL, the others came as sends and receives
}

std::size_t count_of(const Shape& shape) {
  constexpr std::size_t kBlock = 16;
  if (!is_of_blocks(shape.operation)) return shape.bytes / element_bytes(shape.type);
  return shape.bytes / static_cast<std::size_t>(shape.ranks) / kBlock * kBlock / element_bytes(shape.type);
}

std::size_t whole_bytes(const Shape& shape) {
  const std::size_t blocks = is_of_blocks(shape.operation) ? static_cast<std::size_t>(shape.ranks) : 1;
  return count_of(shape) * element_bytes(shape.type) * blocks;
}

std::size_t sent_count(const Shape& shape, int rank) {
  const std::size_t count = count_of(shape), all = count * static_cast<std::size_t>(shape.ranks);
  switch (shape.operation) {
    case Operation::reduce_scatter:
    case Operation::alltoall:
      return all;
    case Operation::scatter:
      return rank == 0 ? all : 0;
    case Operation::broadcast:
      return rank == 0 ? count : 0;
    default:
      return count;
  }
}

std::size_t result_count(const Shape& shape, int rank) {
  const std::size_t count = count_of(shape), all = count * static_cast<std::size_t>(shape.ranks);
  switch (shape.operation) {
    case Operation::all_gather:
    case Operation::alltoall:
      return all;
    case Operation::gather:
      return rank == 0 ? all : 0;
    case Operation::reduce:
      return rank == 0 ? count : 0;
    default:
      return count;
  }
}

Origin origin_of(const Shape& shape, int rank, Word seed) {
  const Word count = count_of(shape), mine = count * static_cast<Word>(rank);
  Origin from{seed, 0, count > 0 ? count : 1, shape.type, 0, 0};
  switch (shape.operation) {
    case Operation::all_reduce:
    case Operation::reduce:
      from.ranks = shape.ranks;
      break;
    case Operation::reduce_scatter:
      from.ranks = shape.ranks;
      from.base = mine;
      break;
    case Operation::alltoall:
    case Operation::scatter:
      from.base = mine;
      break;
    case Operation::sendrecv:
      from.first = (rank + shape.ranks - 1) % shape.ranks;
      break;
    case Operation::all_gather:
    case Operation::gather:
    case Operation::broadcast:
      break;
  }
  return from;
}

double bus_factor(Operation operation, int ranks) {
  if (operation == Operation::all_reduce) return 2.0 * (ranks - 1) / ranks;
  return is_of_blocks(operation) ? static_cast<double>(ranks - 1) / ranks : ranks > 1 ? 1.0 : 0.0;
}

}  // namespace shakedown::gpu_collectives
