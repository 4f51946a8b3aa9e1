#include "collective.hpp"

#include <algorithm>

namespace shakedown::checkpoint {

std::vector<Bytes> gather(const shakedown_ckpt_comm& comm, const Bytes& mine) {
  if (comm.size == 1) return {mine};
  const auto ranks = static_cast<std::size_t>(comm.size);
  const std::uint64_t length = mine.size();
  std::vector<std::uint64_t> lengths(ranks);
  if (comm.allgather(comm.context, &length, lengths.data(), sizeof length) != 0) return {};
  const std::uint64_t longest = *std::max_element(lengths.begin(), lengths.end());
  // In parts, for callbacks that count in 32 bits.
  const std::uint64_t part = std::max<std::uint64_t>(64, (std::uint64_t{1} << 28) / ranks);
  std::vector<Bytes> all(ranks);
  Bytes sent;
  Bytes got;
  for (std::uint64_t at = 0; at < longest; at += part) {
    const std::uint64_t count = std::min(part, longest - at);
    sent.assign(count, 0);
    if (at < length)
      std::copy_n(mine.begin() + static_cast<std::ptrdiff_t>(at), std::min(count, length - at), sent.begin());
    got.resize(count * ranks);
    if (comm.allgather(comm.context, sent.data(), got.data(), count) != 0) return {};
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      if (at >= lengths[rank]) continue;
      const auto from = got.begin() + static_cast<std::ptrdiff_t>(rank * count);
      all[rank].insert(all[rank].end(), from, from + static_cast<std::ptrdiff_t>(std::min(count, lengths[rank] - at)));
    }
  }
  return all;
}

}  // namespace shakedown::checkpoint
