// The loops in the compiler's own vectors, for any architecture. It has no word for a store past the caches.
#include "loops.hpp"

namespace shakedown::stream {
namespace {
struct Plain {
  using T = double __attribute__((vector_size(16)));
  static constexpr std::size_t kDoubles = 2;
  SHAKEDOWN_INLINE static T fill(double q) { return T{q, q}; }
  SHAKEDOWN_INLINE static T load(const double* at) { return *reinterpret_cast<const T*>(at); }
  SHAKEDOWN_INLINE static T add(T x, T y) { return x + y; }
  SHAKEDOWN_INLINE static T multiply(T x, T y) { return x * y; }
  SHAKEDOWN_INLINE static T multiply_add(T x, T y, T z) { return x * y + z; }
  template <bool nt>
  SHAKEDOWN_INLINE static void store_line(double* at, const T (&line)[4]) {
    static_assert(!nt);
#pragma GCC unroll 4
    for (std::size_t v = 0; v < 4; ++v) *reinterpret_cast<T*>(at + 2 * v) = line[v];
  }
  SHAKEDOWN_INLINE static double total(T x) { return x[0] + x[1]; }
};
}  // namespace

extern const IsaLoops kPlainLoops;
const IsaLoops kPlainLoops = make_loops<Fixed<Plain>, false>("plain");
}  // namespace shakedown::stream
