// Two checks of a transform: known modes, whose transform is known exactly, and there and back again on the timed data.
//
// Both give the relative error in the Euclidean norm over all points, in units of eps sqrt(log2 N), to which rounding
// grows on the mean in any fast algorithm (Gentleman and Sande 1966; Schatzman, SIAM J. Sci. Comput. 17, 1996). Good
// libraries give 0.2 to 0.7. One wrong point of ordinary size among N gives 1 / (eps sqrt(N log2 N)), beyond 1e10 in
// double precision for any N that fits a memory.
#pragma once

#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <vector>

#include "common/team.hpp"
#include "fft.hpp"

namespace shakedown::fft {

inline constexpr double kLimit = 16;
inline constexpr int kModes = 3;

/// exp(2 pi i p / n) for whole p, to the precision of long double: two tables of about sqrt(n) entries.
class Roots {
 public:
  explicit Roots(std::int64_t n) : n_(n), step_(1) {
    while (step_ * step_ < n) step_ *= 2;
    for (std::int64_t p = 0; p < step_; ++p) fine_.push_back(root(p));
    for (std::int64_t p = 0; p < n; p += step_) coarse_.push_back(root(p));
  }
  [[nodiscard]] std::complex<long double> operator()(std::int64_t p) const {
    const auto a = coarse_[static_cast<std::size_t>(p / step_)], b = fine_[static_cast<std::size_t>(p % step_)];
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  }
  [[nodiscard]] std::int64_t size() const { return n_; }

 private:
  [[nodiscard]] std::complex<long double> root(std::int64_t p) const {
    constexpr long double kTurn = 6.283185307179586476925286766559L;
    const long double angle = kTurn * static_cast<long double>(p) / static_cast<long double>(n_);
    return {std::cos(angle), std::sin(angle)};
  }
  std::int64_t n_, step_;
  std::vector<std::complex<long double>> fine_, coarse_;
};

/// A sum of plane waves x(j) = sum over m of a_m exp(2 pi i sum over d of k_md j_d / n_d). Its transform is N a_m at
/// k_m and zero elsewhere.
struct Modes {
  struct Mode {
    std::vector<std::int64_t> wave;  // k of each dimension
    std::complex<double> amplitude;
    std::int64_t at = 0;  // the place of k in row-major order
  };
  std::vector<Mode> modes;
  std::vector<Roots> roots;  // of each dimension
  std::int64_t points = 1;

  Modes(const Shape& shape, std::uint64_t seed) : points(shape.points()) {
    for (const int length : shape.lengths) roots.emplace_back(length);
    for (std::uint64_t draw = 0; modes.size() < static_cast<std::size_t>(std::min<std::int64_t>(kModes, points));
         ++draw) {
      Mode mode;
      for (std::size_t d = 0; d < roots.size(); ++d) {
        const auto n = static_cast<std::uint64_t>(roots[d].size());
        mode.wave.push_back(static_cast<std::int64_t>(mixed(seed * 1000 + draw * 8 + d) % n));
        mode.at = mode.at * roots[d].size() + mode.wave.back();
      }
      bool taken = false;
      for (const auto& other : modes) taken = taken || other.at == mode.at;
      if (taken) continue;
      const auto count = static_cast<double>(modes.size());
      mode.amplitude = {1 - 0.25 * count, 0.5 + 0.125 * count};
      modes.push_back(mode);
    }
  }

  template <class T>
  [[nodiscard]] std::complex<T> input(std::int64_t index) const {
    std::complex<long double> sum = 0;
    for (const auto& mode : modes) {
      std::complex<long double> wave(mode.amplitude.real(), mode.amplitude.imag());
      auto rest = index;
      for (std::size_t d = roots.size(); d-- > 0;) {
        const auto n = roots[d].size();
        // k j < n^2 < 2^62: every length is an int.
        wave *= roots[d](mode.wave[d] * (rest % n) % n);
        rest /= n;
      }
      sum += wave;
    }
    return {static_cast<T>(sum.real()), static_cast<T>(sum.imag())};
  }
  [[nodiscard]] std::complex<double> output(std::int64_t index) const {
    for (const auto& mode : modes) {
      if (mode.at == index) return mode.amplitude * static_cast<double>(points);
    }
    return 0;
  }
};

/// The relative error of `got(i)` against `want(i)` over all points, in units of eps sqrt(log2 N).
template <class T, class Got, class Want>
double distance(int thread_count, std::int64_t points, Team* team, Got&& got, Want&& want) {
  std::vector<std::array<double, 16>> sums(static_cast<std::size_t>(thread_count));  // a cache line or two for each
  const auto add = [&](int thread) {
    double error = 0, size = 0;
    const auto [first, last] = part(points, thread, thread_count);
    for (auto i = first; i < last; ++i) {
      const std::complex<double> wanted(want(i));
      error += std::norm(std::complex<double>(got(i)) - wanted);
      size += std::norm(wanted);
    }
    sums[static_cast<std::size_t>(thread)] = {error, size};
  };
  if (team != nullptr) {
    team->run(add);
  } else {
    add(0);
  }
  double error = 0, size = 0;
  for (const auto& one : sums) {
    error += one[0];
    size += one[1];
  }
  const double unit = std::numeric_limits<T>::epsilon() * std::sqrt(std::log2(static_cast<double>(points)));
  return std::sqrt(error / size) / unit;
}

}  // namespace shakedown::fft
