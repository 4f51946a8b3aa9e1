#include "checksum.hpp"

#include "coding.hpp"
#include "loops.hpp"

namespace shakedown::coding {
namespace {

const ChecksumLoops& checksum_here() noexcept {
  static const ChecksumLoops& loops = *checksum_loops().front();
  return loops;
}

}  // namespace

std::uint32_t crc32c(const void* from, std::size_t bytes, std::uint32_t before) noexcept {
  return ~checksum_here().checksum(~before, static_cast<const std::uint8_t*>(from), bytes);
}

std::uint32_t copy_crc32c(void* to, const void* from, std::size_t bytes, std::uint32_t before) noexcept {
  return ~checksum_here().copy(~before, static_cast<std::uint8_t*>(to), static_cast<const std::uint8_t*>(from), bytes);
}

std::uint32_t join_crc32c(std::uint32_t first, std::uint32_t second, std::uint64_t second_bytes) noexcept {
  auto power = checksum_power(second_bytes);
  for (int doubling = 0; doubling < 3; ++doubling) power = checksum_product(power, power);  // bytes to bits
  return checksum_product(power, first) ^ second;
}

std::string checksum_isa() { return checksum_here().name; }

}  // namespace shakedown::coding
