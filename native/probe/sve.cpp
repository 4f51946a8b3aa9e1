// SVE's registers have no size at compile time, so they can be no members and no array elements: the loops of fma.hpp
// are written out here over named variables, by one macro for the list of accumulators.
#include <arm_sve.h>

#include "common/chain.hpp"
#include "probe.hpp"

namespace shakedown::probe {
namespace {

constexpr int kChains = 24;

// clang-format off
#define SHAKEDOWN_EACH(DO) \
  DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11) \
  DO(12) DO(13) DO(14) DO(15) DO(16) DO(17) DO(18) DO(19) DO(20) DO(21) DO(22) DO(23)
// clang-format on

inline svbool_t all(double) { return svptrue_b64(); }
inline svbool_t all(float) { return svptrue_b32(); }
inline std::uint64_t lanes(double) { return svcntd(); }
inline std::uint64_t lanes(float) { return svcntw(); }
inline svfloat64_t in_all(double x) { return svdup_f64(x); }
inline svfloat32_t in_all(float x) { return svdup_f32(x); }

template <int Adds, class T>
std::uint64_t run(std::int64_t blocks, const Factors<T>& factors, T* state) {
  const auto mask = all(T{});
  const auto width = lanes(T{});
  const auto p0 = in_all(factors.p[0]), p1 = in_all(factors.p[1]);
  const auto q0 = in_all(factors.q[0]), q1 = in_all(factors.q[1]);
  std::uint64_t sum = 0;
  const std::uint64_t one = opaque_one();
#define SHAKEDOWN_LOAD(I) auto x##I = svld1(mask, state + I * width);
#define SHAKEDOWN_UP(I)                                                       \
  x##I = svmla_x(mask, x##I, (I % 2) != 0 ? p1 : p0, (I % 2) != 0 ? q1 : q0); \
  add_times<(I + 1) * Adds / kChains - I * Adds / kChains>(sum, one);
#define SHAKEDOWN_DOWN(I)                                                     \
  x##I = svmls_x(mask, x##I, (I % 2) != 0 ? p1 : p0, (I % 2) != 0 ? q1 : q0); \
  add_times<(I + 1) * Adds / kChains - I * Adds / kChains>(sum, one);
#define SHAKEDOWN_STORE(I) svst1(mask, state + I * width, x##I);
  SHAKEDOWN_EACH(SHAKEDOWN_LOAD)
  for (std::int64_t block = 0; block < blocks; ++block) {
    for (int i = 0; i < kSteps; ++i) {
      SHAKEDOWN_EACH(SHAKEDOWN_UP)
    }
    for (int i = 0; i < kSteps; ++i) {
      SHAKEDOWN_EACH(SHAKEDOWN_DOWN)
    }
  }
  for (int i = 0; i < kSteps; ++i) {
    SHAKEDOWN_EACH(SHAKEDOWN_UP)
  }
  SHAKEDOWN_EACH(SHAKEDOWN_STORE)
  return sum;
}

constexpr int kAdds[kDensities] = {28, 14, 7};  // as fma.hpp's rule gives for 24 accumulators

void fma64(std::int64_t blocks, double* state) { run<0>(blocks, kFactors64, state); }
void fma32(std::int64_t blocks, float* state) { run<0>(blocks, kFactors32, state); }
std::uint64_t mixed(std::int64_t blocks, int density, double* state) {
  if (density == 0) return run<kAdds[0]>(blocks, kFactors64, state);
  if (density == 1) return run<kAdds[1]>(blocks, kFactors64, state);
  return run<kAdds[2]>(blocks, kFactors64, state);
}

}  // namespace

const Kernel& sve_kernel() {
  static const Kernel kernel = {"sve", static_cast<int>(svcntd()),    static_cast<int>(svcntw()), kChains, fma64, fma32,
                                mixed, {kAdds[0], kAdds[1], kAdds[2]}};
  return kernel;
}

}  // namespace shakedown::probe
