// Which bytes of which file each writer's transfers are: pure, so that any rank knows what any other wrote.
#pragma once

#include <cstdint>

namespace shakedown::storage {

enum class Files { own, shared };
enum class Order { sequential, strided, random };

/// The part of each of `writers` is `transfers` transfers of `transfer` bytes, in `segments` segments: in a shared file
/// segments are dealt to the writers in turn, one segment each, again and again.
struct Layout {
  Files files = Files::own;
  Order order = Order::sequential;
  std::uint64_t transfer = 0;   // bytes
  std::uint64_t transfers = 0;  // of each writer
  std::uint64_t segments = 1;   // a divisor of transfers
  std::uint64_t writers = 1;    // of one shared file
};

/// What `segments` is where it was not given (0): of a strided shared file every transfer is one, so that writers
/// alternate; of a strided own file there are up to 16.
std::uint64_t segments_of(const Layout& layout, std::uint64_t given);

/// The offset of the index-th transfer that a writer makes, in the order in which it makes them. Over all indices below
/// `transfers` and all writers of a file each transfer's place is had once.
///
///   sequential   one after another
///   strided      shared: as the segments lie; own: the first transfer of each segment, then the second of each ...
///   random       in a random order: of a shared file among the places of all writers
std::uint64_t offset_of(const Layout& layout, std::uint64_t writer, std::uint64_t index);

/// A permutation of the numbers below `count`, another for each key: four rounds of a Feistel network over the next
/// power of four, walked on until a number is below `count` (Black and Rogaway, 2002).
std::uint64_t permuted(std::uint64_t number, std::uint64_t count, std::uint64_t key);

}  // namespace shakedown::storage
