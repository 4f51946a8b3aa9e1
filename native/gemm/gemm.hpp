// What the gemm program does, in one screen: the operation, its data, its check.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/blas.hpp"
#include "common/memory.hpp"
#include "common/team.hpp"

namespace shakedown::gemm {

/// C = alpha A B + beta C on square column-major matrices of order n, nothing transposed.
struct Problem {
  std::int64_t n = 0;
  double alpha = 1;
  double beta = 0;
  /// Floating-point operations of one call: 2 n^3, a multiplication and an addition for each term of each sum.
  [[nodiscard]] double flop() const {
    const auto order = static_cast<double>(n);
    return 2 * order * order * order;
  }
};

enum class Matrix : std::uint64_t { a = 1, b = 2, c = 3 };

/// Entry (row, column) of the matrix of that name: uniform in [-0.5, 0.5), a function of its place alone (splitmix64's
/// finaliser over a counter), so that any thread can make any part, and the check can make it again.
template <class T>
T entry(Matrix matrix, std::int64_t row, std::int64_t column) {
  auto x = (static_cast<std::uint64_t>(matrix) << 62) ^ (static_cast<std::uint64_t>(column) << 31) ^
           static_cast<std::uint64_t>(row);
  x = (x + 1) * 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  x ^= x >> 31;
  if constexpr (sizeof(T) == 4) return static_cast<T>(x >> 40) * 0x1p-24F - 0.5F;
  return static_cast<T>(x >> 11) * T{0x1p-53} - T{0.5};
}

/// The columns that a thread of a team fills, [first, last): equal parts.
inline std::pair<std::int64_t, std::int64_t> part(std::int64_t count, int thread, int threads) {
  return {count * thread / threads, count * (thread + 1) / threads};
}

/// Write a matrix of order n, its columns dealt out over the team: who writes first places the page.
template <class T>
void fill(Team& team, Matrix matrix, std::int64_t n, T* out) {
  team.run([&](int thread) {
    const auto [first, last] = part(n, thread, team.size());
    for (auto j = first; j < last; ++j) {
      for (std::int64_t i = 0; i < n; ++i) out[i + j * n] = entry<T>(matrix, i, j);
    }
  });
}

/// Fill with NaN: with beta = 0 the library must write every entry and read none.
template <class T>
void fill_nan(Team& team, std::int64_t n, T* out) {
  team.run([&](int thread) {
    const auto [first, last] = part(n, thread, team.size());
    std::fill(out + first * n, out + last * n, std::numeric_limits<T>::quiet_NaN());
  });
}

}  // namespace shakedown::gemm
