// What the fft program does, in one screen: complex transforms of one shape, their work, their data.
#pragma once

#include <charconv>
#include <cmath>
#include <complex>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/error.hpp"
#include "random.hpp"

namespace shakedown::fft {

/// The lengths of one transform, slowest dimension first; data are in row-major order.
struct Shape {
  std::vector<int> lengths;

  [[nodiscard]] std::int64_t points() const {
    std::int64_t n = 1;
    for (const int length : lengths) n *= length;
    return n;
  }
  /// "1048576", "1024x1024".
  [[nodiscard]] std::string text() const {
    std::string out;
    for (const int length : lengths) {
      if (!out.empty()) out += 'x';
      out += std::to_string(length);
    }
    return out;
  }
  /// Floating-point operations of one transform by convention: 5 N log2 N, for any number of dimensions (Frigo and
  /// Johnson, Proc. IEEE 93, 2005, section V). What a library really does is less.
  [[nodiscard]] double flop() const {
    const auto n = static_cast<double>(points());
    return 5 * n * std::log2(n);
  }
};

/// "4096" or "128x128x128": lengths of at least 1 and below 2^31 (FFTW counts in int), at least 2 points and at most
/// 2^40, at most three dimensions.
inline Shape parse_shape(const std::string& word) {
  constexpr std::int64_t kMostPoints = std::int64_t{1} << 40;
  Shape shape;
  std::int64_t points = 1;
  for (std::size_t begin = 0; begin <= word.size();) {
    const auto cross = std::min(word.find('x', begin), word.size());
    int length = 0;
    const char* const last = word.data() + cross;
    const auto [end, error] = std::from_chars(word.data() + begin, last, length);
    const bool number = end == last && end != word.data() + begin && word[begin] != '-';
    if (number && (error == std::errc::result_out_of_range || (length > 0 && points > kMostPoints / length)))
      throw usage("--sizes: '" + word + "' is too large for a transform",
                  "lengths up to 2147483647, and 1099511627776 (2^40) points in all");
    if (error != std::errc{} || !number || length < 1)
      throw usage("--sizes: '" + word + "' is not a valid shape of a transform",
                  "write lengths such as 4096 or 128x128x128");
    points *= length;
    shape.lengths.push_back(length);
    begin = cross + 1;
  }
  if (points < 2 || shape.lengths.size() > 3)
    throw usage("--sizes: '" + word + "' is not a valid transform", "1 to 3 dimensions, at least 2 points");
  return shape;
}

/// Point `index` of the timed data: both parts uniform in [-0.5, 0.5), a function of the place alone, so that any
/// thread can make any part and the check can make it again.
template <class T>
std::complex<T> entry(std::int64_t index) {
  const auto part = [](std::uint64_t x) {
    if constexpr (sizeof(T) == 4) return static_cast<T>(mixed(x) >> 40) * 0x1p-24F - 0.5F;
    return static_cast<T>(mixed(x) >> 11) * T{0x1p-53} - T{0.5};
  };
  const auto at = static_cast<std::uint64_t>(index);
  return {part(2 * at), part(2 * at + 1)};
}

/// The points that a thread of a team takes, [first, last): equal parts.
inline std::pair<std::int64_t, std::int64_t> part(std::int64_t count, int thread, int threads) {
  return {count * thread / threads, count * (thread + 1) / threads};
}

}  // namespace shakedown::fft
