// The copy of the state from which a checkpoint is written while the application computes on.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "boxes.hpp"
#include "manifest.hpp"
#include "outcome.hpp"

namespace shakedown::checkpoint {

/// Memory of its own pages, aligned for any device; touched once when it is made, so that no checkpoint waits for
/// pages.
class Buffer {
 public:
  /// Nothing where there is not so much memory.
  static std::shared_ptr<Buffer> of(std::uint64_t bytes, bool touched);
  /// Over memory that was mapped so, which it then owns.
  static std::shared_ptr<Buffer> over(std::uint8_t* mapped, std::uint64_t bytes);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  [[nodiscard]] std::uint8_t* data() const { return data_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  Buffer(std::uint8_t* data, std::uint64_t bytes) : data_(data), bytes_(bytes) {}
  std::uint8_t* data_;
  std::uint64_t bytes_;
};

/// One rank's state as it was when it was staged.
struct Staged {
  std::shared_ptr<Buffer> buffer;  // null where there was no memory for it
  Manifest manifest;               // of Kind::kRank
  [[nodiscard]] std::span<const std::uint8_t> block(std::uint64_t index) const {
    return {buffer->data() + index * kBlockBytes, block_bytes(manifest.data_bytes, index)};
  }
};

/// Where each part lies in the data.
std::vector<Region> layout(const std::vector<Protected>& parts, std::uint64_t& bytes);

/// Copies the parts into the buffer, in their order, with a checksum for each block: one pass over memory. An error of
/// the GPU where a part lies on one.
Outcome stage(const std::vector<Protected>& parts, std::uint8_t* into, std::uint64_t bytes,
              std::vector<std::uint32_t>& checksums);

/// Copies one part from where its elements lie together into the application's memory.
Outcome unstage(const Protected& part, const std::uint8_t* from);

}  // namespace shakedown::checkpoint
