// The loops in SVE, for vectors of any length: a line of 64 bytes is one vector or several, under a predicate.
#include <arm_sve.h>

#include "loops.hpp"

namespace shakedown::stream {
namespace {
struct Sve {
  SHAKEDOWN_INLINE static double fill(double q) { return q; }  // a vector of unknown length has no place in a struct
  SHAKEDOWN_INLINE static void fence() { asm volatile("dmb ishst" : : : "memory"); }

  template <Kernel K, bool nt>
  SHAKEDOWN_INLINE static void line(double* out, const double* x, const double* y, double q) {
    for (std::size_t i = 0; i < kLine; i += svcntd()) {
      const svbool_t on = svwhilelt_b64(i, kLine);
      svfloat64_t result = svdup_f64(q);
      if constexpr (K == Kernel::copy) result = svld1_f64(on, x + i);
      if constexpr (K == Kernel::scale) result = svmul_n_f64_x(on, svld1_f64(on, x + i), q);
      if constexpr (K == Kernel::add) result = svadd_f64_x(on, svld1_f64(on, x + i), svld1_f64(on, y + i));
      if constexpr (K == Kernel::triad) result = svmla_n_f64_x(on, svld1_f64(on, x + i), svld1_f64(on, y + i), q);
      nt ? svstnt1_f64(on, out + i, result) : svst1_f64(on, out + i, result);
    }
  }

  template <class S>
  SHAKEDOWN_INLINE static double read(const double* x, std::size_t n) {
    svfloat64_t even = svdup_f64(0), odd = svdup_f64(0);
    walk<S>(n, [&](std::size_t at, int slot) {
      prefetch<S>(x + at);
      for (std::size_t i = 0; i < kLine; i += svcntd()) {
        const svbool_t on = svwhilelt_b64(i, kLine);
        auto& sum = slot % 2 == 0 ? even : odd;
        sum = svadd_f64_m(on, sum, svld1_f64(on, x + at + i));
      }
    });
    return svaddv_f64(svptrue_b64(), svadd_f64_x(svptrue_b64(), even, odd));
  }
};
}  // namespace

extern const IsaLoops kSveLoops;
const IsaLoops kSveLoops = make_loops<Sve, true>("sve");
}  // namespace shakedown::stream
