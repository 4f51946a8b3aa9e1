#include "avx512.hpp"
#include "peers.hpp"

namespace shakedown::nbody {
namespace {

template <class Vector>
void run(const Tile<typename Vector::T>& tile) {
  using V = typename Vector::V;
  constexpr int kRows = Vector::kRows;
  constexpr std::size_t kBlock = kRows * Vector::kLanes;
  const V eps2 = Vector::set(tile.eps2);
  V x[kRows], y[kRows], z[kRows], ax[kRows], ay[kRows], az[kRows];
  for (int r = 0; r < kRows; ++r) {
    const auto at = static_cast<std::size_t>(r) * Vector::kLanes;
    x[r] = Vector::load(tile.tx + at), y[r] = Vector::load(tile.ty + at), z[r] = Vector::load(tile.tz + at);
    ax[r] = ay[r] = az[r] = Vector::set(0);
  }
  V sx = Vector::set(tile.sx[0]), sy = Vector::set(tile.sy[0]), sz = Vector::set(tile.sz[0]),
    m = Vector::set(tile.sm[0]);
  for (std::size_t j = 0; j < tile.targets / kBlock * tile.sources; ++j) {
    asm volatile("" : "+v"(sx), "+v"(sy), "+v"(sz), "+v"(m));  // as if they were new
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const V dx = Vector::sub(sx, x[r]), dy = Vector::sub(sy, y[r]), dz = Vector::sub(sz, z[r]);
      const V s = Vector::fma(dz, dz, Vector::fma(dy, dy, Vector::fma(dx, dx, eps2)));
      const V f = Inner<Vector>::inverse_cube(s, Vector::estimate(s), m);
      ax[r] = Vector::fma(f, dx, ax[r]);
      ay[r] = Vector::fma(f, dy, ay[r]);
      az[r] = Vector::fma(f, dz, az[r]);
    }
  }
  for (int r = 0; r < kRows; ++r) Vector::total(Vector::add(Vector::add(ax[r], ay[r]), az[r]), tile.ax);
}

template <class Vector>
std::size_t multiply_adds(std::size_t count) {
  using V = typename Vector::V;
  constexpr int kChains = 12;
  V sums[kChains];
  for (auto& sum : sums) sum = Vector::set(1);
  const V p = Vector::set(typename Vector::T(0.5)), q = Vector::set(typename Vector::T(0.25));
  for (std::size_t i = 0; i < count; i += kChains) {
#pragma GCC unroll 12
    for (auto& sum : sums) {
      sum = Vector::fma(sum, p, q);
      asm volatile("" : "+v"(sum));
    }
  }
  return Vector::kLanes;
}

}  // namespace

const Isa kRegisters = {"registers",
                        {&run<Single>, nullptr, 1, 1, 0, 0, Single::kLanes},
                        {&run<Double>, nullptr, 1, 1, 0, 0, Double::kLanes}};
std::size_t fma32(std::size_t count) { return multiply_adds<Single>(count); }
std::size_t fma64(std::size_t count) { return multiply_adds<Double>(count); }
}  // namespace shakedown::nbody
