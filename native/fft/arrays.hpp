// What is measured in one case, and the arrays that it takes.
#pragma once

#include <algorithm>
#include <complex>
#include <cstdint>
#include <string>
#include <vector>

#include "common/affinity.hpp"
#include "common/memory.hpp"
#include "fft.hpp"

namespace shakedown::fft {

inline constexpr std::size_t kLine = 64;
/// Between the input and the output of one transform: large powers of two would else lie a multiple of 4 KiB apart, and
/// stores would seem to hit later loads.
inline constexpr std::size_t kStagger = 2048 + 3 * kLine;
/// Cold arrays together hold so many times the last cache.
inline constexpr std::uint64_t kColder = 4;

/// What is measured in one case.
struct Setting {
  Shape shape;
  int threads = 1;
  bool each = false, cold = false, in_double = true;

  [[nodiscard]] int owners() const { return each ? threads : 1; }  // of arrays
  [[nodiscard]] std::string words(const std::vector<int>& on) const {
    return shape.text() + (in_double ? " double, " : " single, ") + std::to_string(threads) +
           (threads == 1 ? " thread" : " threads") + (each ? " each its own" : "") + (cold ? ", cold" : "") +
           " on CPU " + format_cpu_list(on);
  }
};

/// The arrays of one case: for each owner `slots` pairs of input and output, in one buffer.
template <class T>
class Arrays {
 public:
  using Complex = std::complex<T>;
  Arrays(const Setting& setting, std::uint64_t last_cache, Pages pages) : owners_(setting.owners()) {
    const auto points = static_cast<std::size_t>(setting.shape.points());
    out_offset_ = round_up(points * sizeof(Complex)) + kStagger;
    stride_ = out_offset_ + round_up(points * sizeof(Complex)) + kStagger;
    if (setting.cold) {
      const std::uint64_t all = kColder * last_cache / static_cast<std::uint64_t>(owners_);
      slots_ = static_cast<int>(std::max<std::uint64_t>(2, all / stride_ + 1));
    }
    const std::uint64_t bytes = stride_ * static_cast<std::uint64_t>(slots_) * static_cast<std::uint64_t>(owners_);
    require_memory(bytes, "the arrays of " + setting.shape.text());
    buffer_ = Buffer(bytes, pages);
  }
  [[nodiscard]] int slots() const { return slots_; }
  [[nodiscard]] const Buffer& buffer() const { return buffer_; }
  [[nodiscard]] Complex* in(int owner, int slot) const { return at(owner, slot, 0); }
  [[nodiscard]] Complex* out(int owner, int slot) const { return at(owner, slot, out_offset_); }

 private:
  static std::size_t round_up(std::size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }
  [[nodiscard]] Complex* at(int owner, int slot, std::size_t offset) const {
    const auto index =
        static_cast<std::size_t>(owner) * static_cast<std::size_t>(slots_) + static_cast<std::size_t>(slot);
    return reinterpret_cast<Complex*>(static_cast<char*>(buffer_.data()) + index * stride_ + offset);
  }
  int owners_, slots_ = 1;
  std::size_t out_offset_ = 0, stride_ = 0;
  Buffer buffer_;
};

}  // namespace shakedown::fft
