// The three arrays: placed, touched by the threads that use them, filled with known values and checked.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "common/memory.hpp"
#include "common/team.hpp"
#include "stream.hpp"

namespace shakedown::stream {

inline constexpr double kScalar = 3.0;   // as in STREAM
inline constexpr double kLimit = 1e-13;  // of the relative error of an element: STREAM's limit for doubles

/// What element i of a source holds: ten bits of a multiplicative hash, so that elements at any distance differ and a
/// loop that mixes them up is found; and a small multiple of 1/1024, so that every kernel's result, and a sum of 2^40
/// of them, is exact in a double.
inline double source_value(int array, std::size_t i) {
  static constexpr std::uint64_t kFactors[] = {0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xD6E8FEB86659FD93};  // odd
  const auto bits = static_cast<std::int64_t>((std::uint64_t{i} * kFactors[array]) >> 54);
  return 1.0 + array + static_cast<double>(bits) / 1024.0;
}

/// What element i of the kernel's target must hold after any number of passes: no kernel reads what it writes.
inline double expected_value(Kernel kernel, std::size_t i) {
  const auto& facts = facts_of(kernel);
  const double x = facts.x < 0 ? 0 : source_value(facts.x, i);
  const double y = facts.y < 0 ? 0 : source_value(facts.y, i);
  switch (kernel) {
    case Kernel::copy:
      return x;
    case Kernel::scale:
      return kScalar * x;
    case Kernel::add:
      return x + y;
    case Kernel::triad:
      return x + kScalar * y;
    case Kernel::read:
      return x;
    case Kernel::write:
      return kScalar;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

/// The larger error; NaN where either is one.
inline double worse(double a, double b) { return a >= b || std::isnan(a) ? a : b; }

/// |value - expected| over |expected|; NaN for a NaN.
inline double relative_error(double value, double expected) {
  return std::fabs(value - expected) / std::fabs(expected);
}

/// Where arrays go.
struct ArrayOptions {
  Pages pages = Pages::huge;
  Placement placement;
};

/// Throw "could not measure" where three arrays of that size do not fit. Pages of the reserved pool are not free
/// memory: there the allocation itself is the test.
inline void require_arrays(std::uint64_t bytes, Pages pages) {
  if (pages != Pages::hugetlb) require_memory(3 * bytes, "three arrays of " + shakedown::show_bytes(bytes));
}

/// Three arrays of `elements` doubles each, split into one chunk for each thread of a team.
class Arrays {
 public:
  /// Allocates; fill() touches. `elements` is a multiple of 8. Throws "could not measure" where memory does not
  /// suffice.
  Arrays(std::size_t elements, int threads, const ArrayOptions& options) : elements_(elements), threads_(threads) {
    const std::size_t bytes = elements * sizeof(double);
    require_arrays(bytes, options.pages);
    for (auto& buffer : buffers_) buffer = Buffer(bytes, options.pages, options.placement);
  }

  [[nodiscard]] std::size_t elements() const { return elements_; }
  [[nodiscard]] double* at(int array) { return array < 0 ? nullptr : static_cast<double*>(buffer(array).data()); }
  [[nodiscard]] const Buffer& buffer(int array) const { return buffers_[static_cast<std::size_t>(array)]; }

  /// First element and number of elements of a thread's chunk: whole lines, and whole pages where there are many.
  [[nodiscard]] std::pair<std::size_t, std::size_t> chunk(int thread) const {
    const auto count = static_cast<std::size_t>(threads_);
    const std::size_t grain = elements_ / count >= std::size_t{64} * 512 ? 512 : 8;
    const auto edge = [&](std::size_t t) { return t == count ? elements_ : elements_ / grain * t / count * grain; };
    const auto t = static_cast<std::size_t>(thread);
    return {edge(t), edge(t + 1) - edge(t)};
  }

  /// Sources to their values, by the threads that will read them.
  void fill(Team& team) {
    team.run([&](int thread) {
      const auto [begin, count] = chunk(thread);
      for (int array = 0; array < 3; ++array) {
        for (std::size_t i = begin; i < begin + count; ++i) at(array)[i] = source_value(array, i);
      }
    });
  }

  /// NaN into what the kernel writes, so that an element that it leaves out fails the check.
  void poison(Team& team, Kernel kernel) {
    if (facts_of(kernel).out < 0) return;
    team.run([&](int thread) {
      const auto [begin, count] = chunk(thread);
      std::fill_n(at(facts_of(kernel).out) + begin, count, std::numeric_limits<double>::quiet_NaN());
    });
  }

  /// The largest relative error of any element of the target and of the sources; NaN where one is NaN.
  double check(Team& team, Kernel kernel) {
    std::vector<double> worst(static_cast<std::size_t>(threads_), 0.0);
    team.run([&](int thread) {
      const auto [begin, count] = chunk(thread);
      const int out = facts_of(kernel).out;
      double error = 0;
      for (int array = 0; array < 3; ++array) {
        const double* values = at(array);
        for (std::size_t i = begin; i < begin + count; ++i) {
          const double expected = array == out ? expected_value(kernel, i) : source_value(array, i);
          error = worse(error, relative_error(values[i], expected));
        }
      }
      worst[static_cast<std::size_t>(thread)] = error;
    });
    double error = 0;
    for (const double one : worst) error = worse(error, one);
    return error;
  }

  /// Sources that a kernel wrote over, back to their values.
  void restore(Team& team, Kernel kernel) {
    const int out = facts_of(kernel).out;
    if (out < 0) return;
    team.run([&](int thread) {
      const auto [begin, count] = chunk(thread);
      for (std::size_t i = begin; i < begin + count; ++i) at(out)[i] = source_value(out, i);
    });
  }

  /// What a thread's chunk of array a sums up to, exactly.
  [[nodiscard]] double chunk_sum(int thread) const {
    const auto [begin, count] = chunk(thread);
    double sum = 0;
    for (std::size_t i = begin; i < begin + count; ++i) sum += source_value(0, i);
    return sum;
  }

 private:
  std::size_t elements_;
  int threads_;
  std::array<Buffer, 3> buffers_;
};

}  // namespace shakedown::stream
