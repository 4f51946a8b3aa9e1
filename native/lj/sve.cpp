// The loops in SVE, for vectors of any length. Its registers have no size at compile time and can be no members, so the
// loop of loops.hpp is written out here; neighbours come by gathers. Lanes beyond the largest power of two stay idle,
// so that groups fit a chunk.
#include <arm_sve.h>

#include "loops.hpp"

namespace shakedown::lj {
namespace {

constexpr std::size_t kMostLanes = 64;

std::size_t floor_of_power(std::size_t lanes) {
  std::size_t power = 1;
  while (2 * power <= lanes && 2 * power <= kMostLanes) power *= 2;
  return power;
}

/// What differs between the precisions.
struct Single {
  using T = float;
  using V = svfloat32_t;
  using I = svint32_t;
  using P = svbool_t;
  static std::size_t lanes() { return floor_of_power(svcntw()); }
  SHAKEDOWN_INLINE static P all() { return svwhilelt_b32(std::uint64_t{0}, std::uint64_t{lanes()}); }
  SHAKEDOWN_INLINE static V set(T x) { return svdup_f32(x); }
  SHAKEDOWN_INLINE static svuint32_t offsets(P on, const Entry* list) {
    return svlsl_n_u32_x(on, svld1uh_u32(on, list), 3);
  }
  SHAKEDOWN_INLINE static I gather(P on, const std::int32_t* base, svuint32_t offset) {
    return svld1_gather_u32offset_s32(on, base, offset);
  }
  SHAKEDOWN_INLINE static V delta(P on, I a, I b) { return svcvt_f32_s32_x(on, svsub_s32_x(on, a, b)); }
};
struct Double {
  using T = double;
  using V = svfloat64_t;
  using I = svint64_t;
  using P = svbool_t;
  static std::size_t lanes() { return floor_of_power(svcntd()); }
  SHAKEDOWN_INLINE static P all() { return svwhilelt_b64(std::uint64_t{0}, std::uint64_t{lanes()}); }
  SHAKEDOWN_INLINE static V set(T x) { return svdup_f64(x); }
  SHAKEDOWN_INLINE static svuint64_t offsets(P on, const Entry* list) {
    return svlsl_n_u64_x(on, svld1uh_u64(on, list), 3);
  }
  SHAKEDOWN_INLINE static I gather(P on, const std::int64_t* base, svuint64_t offset) {
    return svld1_gather_u64offset_s64(on, base, offset);
  }
  SHAKEDOWN_INLINE static V delta(P on, I a, I b) { return svcvt_f64_s64_x(on, svsub_s64_x(on, a, b)); }
};

template <class S, bool WithSums>
SHAKEDOWN_INLINE void run(const Batch<typename S::T>& batch, Sums* sums) {
  using T = typename S::T;
  const std::size_t lanes = S::lanes();
  const svbool_t on = S::all();
  const auto unit2 = S::set(batch.scales.unit2), cutoff2 = S::set(batch.scales.cutoff2), one = S::set(1);
  const auto scale = S::set(48 * batch.scales.unit);
  const auto *bx = &batch.places->x, *by = &batch.places->y, *bz = &batch.places->z;
  const Entry* list = batch.list;
  for (std::size_t g = 0; g < batch.groups; ++g) {
    const auto own = S::offsets(on, list);
    const auto xi = S::gather(on, bx, own), yi = S::gather(on, by, own), zi = S::gather(on, bz, own);
    list += lanes;
    auto fx = S::set(0), fy = S::set(0), fz = S::set(0), potential = S::set(0), virial = S::set(0);
    const Entry* const end = list + batch.rows[g] * lanes;
    for (; list != end; list += lanes) {
      const auto offset = S::offsets(on, list);
      const auto dx = S::delta(on, xi, S::gather(on, bx, offset));
      const auto dy = S::delta(on, yi, S::gather(on, by, offset));
      const auto dz = S::delta(on, zi, S::gather(on, bz, offset));
      const auto r2 = svmul_x(on, svmla_x(on, svmla_x(on, svmul_x(on, dx, dx), dy, dy), dz, dz), unit2);
      const svbool_t near = svcmplt(on, r2, cutoff2);
      const auto s = svdiv_x(on, one, r2);
      const auto r6 = svmul_x(on, svmul_x(on, s, s), s);
      const auto f = svmul_z(near, svmul_x(on, r6, s), svsub_x(on, r6, S::set(T(0.5))));
      fx = svmla_m(near, fx, f, dx);
      fy = svmla_m(near, fy, f, dy);
      fz = svmla_m(near, fz, f, dz);
      if constexpr (WithSums) {
        potential = svmla_m(near, potential, r6, svsub_x(on, r6, one));
        virial = svmla_m(near, virial, f, r2);
        sums->pairs += static_cast<double>(svcntp_b8(svptrue_b8(), near));
      }
    }
    svst1(on, batch.fx + g * lanes, svmul_x(on, fx, scale));
    svst1(on, batch.fy + g * lanes, svmul_x(on, fy, scale));
    svst1(on, batch.fz + g * lanes, svmul_x(on, fz, scale));
    if constexpr (WithSums) {
      sums->potential += 4 * static_cast<double>(svaddv(on, potential));
      sums->virial += 48 * static_cast<double>(svaddv(on, virial));
    }
  }
}

template <class S>
void forces(const Batch<typename S::T>& batch) {
  run<S, false>(batch, nullptr);
}
template <class S>
void energies(const Batch<typename S::T>& batch, Sums& sums) {
  run<S, true>(batch, &sums);
}

/// Rows of as many entries as there are lanes.
template <class S>
void transpose(const std::uint32_t* const* from, const std::uint32_t* lengths, const std::uint32_t* pad,
               std::size_t rows, Entry* list) {
  const std::size_t lanes = S::lanes();
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    for (std::size_t row = 0; row < rows; ++row) {
      list[row * lanes + lane] = static_cast<Entry>(row < lengths[lane] ? from[lane][row] : pad[lane]);
    }
  }
}

template <class S>
Loops<typename S::T> loops() {
  using Rest = Scalar<typename S::T, 1>;
  return {S::lanes(), &forces<S>, &energies<S>, &Rest::collect, &Rest::select, &Rest::move, &transpose<S>};
}

}  // namespace

const Isa& sve_isa();
const Isa& sve_isa() {
  static const Isa isa = {"sve", loops<Single>(), loops<Double>()};
  return isa;
}
}  // namespace shakedown::lj
