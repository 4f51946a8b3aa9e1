// Where the blocks of a group's members and their parity lie: the rotated layout of coding.hpp, repeated every g
// stripes.
#pragma once

#include <cstdint>
#include <vector>

namespace shakedown::checkpoint {

class StripePlan {
 public:
  /// Members with so many bytes of data each, of which `losses` may be lost.
  StripePlan(std::vector<std::uint64_t> member_bytes, int losses);

  [[nodiscard]] int members() const { return static_cast<int>(bytes_.size()); }
  [[nodiscard]] int data_blocks() const { return members() - losses_; }
  [[nodiscard]] int losses() const { return losses_; }
  [[nodiscard]] std::uint64_t stripes() const { return stripes_; }

  /// Bytes of each block of the stripe: those of its longest; shorter ones count as filled up with zeros.
  [[nodiscard]] std::uint64_t length(std::uint64_t stripe) const;
  /// Which block of the stripe a member holds: data 0 to data_blocks() - 1, then parity; and the other way round.
  [[nodiscard]] int block_of(std::uint64_t stripe, int member) const;
  [[nodiscard]] int member_of(std::uint64_t stripe, int block) const;
  /// The number among its own data blocks of the one that a member has in the stripe.
  [[nodiscard]] std::uint64_t index_of(std::uint64_t stripe, int member) const;
  /// The stripe of a member's data block.
  [[nodiscard]] std::uint64_t stripe_of(int member, std::uint64_t index) const;
  /// Bytes of the data block that a member has in the stripe.
  [[nodiscard]] std::uint64_t data_bytes(std::uint64_t stripe, int member) const;

  /// A parity block of a member, in the order of its file.
  struct Parity {
    std::uint64_t stripe = 0;
    std::uint64_t at = 0;
    std::uint64_t bytes = 0;
  };
  [[nodiscard]] std::vector<Parity> parity_of(int member) const;

 private:
  std::vector<std::uint64_t> bytes_;
  int losses_;
  std::uint64_t stripes_ = 0;
  std::vector<int> segment_;  // [member x g + stripe of the period]: which segment of the member, or -1: parity
};

}  // namespace shakedown::checkpoint
