// The loops in SVE, for vectors of any length. Its registers have no size at compile time and can be no array elements,
// so the loop of loops.hpp is written out here with two rows of targets. FRSQRTE gives 8 bits; a Newton step (FRSQRTS)
// makes 1.5 x 2^-16 of it, and the polynomials are those of loops.hpp.
#include <arm_sve.h>

#include <algorithm>

#include "loops.hpp"

namespace shakedown::nbody {
namespace {

constexpr std::size_t kBlock = 128;  // two rows of the longest vectors

struct Single {
  using T = float;
  static constexpr int kDegree = 1;
  static std::uint64_t lanes() { return svcntw(); }
  SHAKEDOWN_INLINE static svbool_t from(std::uint64_t i, std::uint64_t n) { return svwhilelt_b32(i, n); }
  SHAKEDOWN_INLINE static svfloat32_t set(T x) { return svdup_f32(x); }
};
struct Double {
  using T = double;
  static constexpr int kDegree = 3;
  static std::uint64_t lanes() { return svcntd(); }
  SHAKEDOWN_INLINE static svbool_t from(std::uint64_t i, std::uint64_t n) { return svwhilelt_b64(i, n); }
  SHAKEDOWN_INLINE static svfloat64_t set(T x) { return svdup_f64(x); }
};

template <class S>
struct Powers {
  using T = typename S::T;
  static constexpr Series kForce = series(-1.5, S::kDegree, 0x1.8p-15);
  static constexpr Series kPotential = series(-0.5, S::kDegree, 0x1.8p-15);
};

/// The polynomial over powers of e, its leading coefficient `lead`.
template <class S, class V>
SHAKEDOWN_INLINE V polynomial(svbool_t on, V e, const Series& terms, double lead) {
  using T = typename S::T;
  V p = S::set(static_cast<T>(lead));
  for (int k = S::kDegree - 1; k >= 0; --k) p = svmad_x(on, p, e, S::set(static_cast<T>(terms.q[k] * lead)));
  return p;
}

template <class S, bool WithPotential>
void run(const Tile<typename S::T>& tile) {
  using T = typename S::T;
  T out[4][kBlock];
  for (std::size_t i = 0; i < tile.targets; i += S::lanes()) {
    const svbool_t on = S::from(i, tile.targets);
    const auto x = svld1(on, tile.tx + i), y = svld1(on, tile.ty + i), z = svld1(on, tile.tz + i);
    auto ax = S::set(0), ay = S::set(0), az = S::set(0), phi = S::set(0);
    for (std::size_t j = 0; j < tile.sources; ++j) {
      const auto dx = svsubr_x(on, x, tile.sx[j]), dy = svsubr_x(on, y, tile.sy[j]), dz = svsubr_x(on, z, tile.sz[j]);
      const auto s = svmla_x(on, svmla_x(on, svmla_x(on, S::set(tile.eps2), dx, dx), dy, dy), dz, dz);
      auto root = svrsqrte(s);
      root = svmul_x(on, root, svrsqrts(svmul_x(on, s, root), root));
      const auto w = svmul_x(on, root, root), e = svmls_x(on, S::set(1), s, w);
      const auto m = svmul_x(on, root, tile.sm[j]);
      const auto f = svmul_x(on, svmul_x(on, m, w), polynomial<S>(on, e, Powers<S>::kForce, Powers<S>::kForce.lead));
      ax = svmla_x(on, ax, f, dx);
      ay = svmla_x(on, ay, f, dy);
      az = svmla_x(on, az, f, dz);
      if constexpr (WithPotential) {
        phi = svmla_x(on, phi, m, polynomial<S>(on, e, Powers<S>::kPotential, Powers<S>::kPotential.lead));
      }
    }
    svst1(on, out[0], ax);
    svst1(on, out[1], ay);
    svst1(on, out[2], az);
    if constexpr (WithPotential) svst1(on, out[3], phi);
    const std::size_t count = std::min<std::size_t>(S::lanes(), tile.targets - i);
    for (std::size_t k = 0; k < count; ++k) {
      tile.ax[i + k] += static_cast<double>(out[0][k]);
      tile.ay[i + k] += static_cast<double>(out[1][k]);
      tile.az[i + k] += static_cast<double>(out[2][k]);
      if constexpr (WithPotential) tile.phi[i + k] += static_cast<double>(out[3][k]);
    }
  }
}

template <class S>
Loops<typename S::T> loops() {
  // Three squares, four for the root, y^2 and e, the polynomial, three products, three sums; and three differences.
  constexpr double kMultiplies = 3 + 4 + 2 + S::kDegree + 3 + 3;
  return {&run<S, false>, &run<S, true>, 1, 1, kMultiplies + 3, kMultiplies, S::lanes()};
}

}  // namespace

const Isa& sve_isa();
const Isa& sve_isa() {
  static const Isa isa = {"sve", loops<Single>(), loops<Double>()};
  return isa;
}
}  // namespace shakedown::nbody
