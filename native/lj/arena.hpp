// Room for lists: blocks that are taken once and used again at every rebuild.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/memory.hpp"

namespace shakedown::lj {

class Arena {
 public:
  void reset() { block_ = used_ = 0; }
  /// `count` numbers, aligned to 64 bytes, until reset().
  template <class T>
  T* take(std::size_t count) {
    const std::size_t bytes = (count * sizeof(T) + 63) / 64 * 64;
    while (block_ < blocks_.size() && used_ + bytes > blocks_[block_].bytes()) {
      ++block_;
      used_ = 0;
    }
    if (block_ == blocks_.size()) {
      require_memory(std::max(bytes, kBlock), "lists of neighbours");
      blocks_.emplace_back(std::max(bytes, kBlock), Pages::huge);
    }
    auto* const at = reinterpret_cast<T*>(static_cast<char*>(blocks_[block_].data()) + used_);
    used_ += bytes;
    return at;
  }

 private:
  static constexpr std::size_t kBlock = std::size_t{8} << 20;
  std::vector<Buffer> blocks_;
  std::size_t block_ = 0, used_ = 0;
};

}  // namespace shakedown::lj
