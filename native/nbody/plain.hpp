// The loops in ordinary C++ with the true square root: what a compiler makes of the formula.
#pragma once

#include <cmath>

#include "kernel.hpp"

namespace shakedown::nbody {
namespace {

constexpr std::size_t kBlock = 16;

template <class T, bool WithPotential>
void run(const Tile<T>& tile) {
  for (std::size_t i = 0; i < tile.targets; i += kBlock) {
    T ax[kBlock] = {}, ay[kBlock] = {}, az[kBlock] = {}, phi[kBlock] = {};
    for (std::size_t j = 0; j < tile.sources; ++j) {
      for (std::size_t k = 0; k < kBlock; ++k) {
        const T dx = tile.sx[j] - tile.tx[i + k], dy = tile.sy[j] - tile.ty[i + k], dz = tile.sz[j] - tile.tz[i + k];
        const T inverse = T{1} / std::sqrt(dx * dx + dy * dy + dz * dz + tile.eps2);
        const T f = tile.sm[j] * inverse * inverse * inverse;
        ax[k] += f * dx;
        ay[k] += f * dy;
        az[k] += f * dz;
        if constexpr (WithPotential) phi[k] += tile.sm[j] * inverse;
      }
    }
    for (std::size_t k = 0; k < kBlock; ++k) {
      tile.ax[i + k] += static_cast<double>(ax[k]);
      tile.ay[i + k] += static_cast<double>(ay[k]);
      tile.az[i + k] += static_cast<double>(az[k]);
      if constexpr (WithPotential) tile.phi[i + k] += static_cast<double>(phi[k]);
    }
  }
}

template <class T>
constexpr Loops<T> loops() {
  return {&run<T, false>, &run<T, true>, kBlock, 1, 0, 0, 1};
}

}  // namespace
}  // namespace shakedown::nbody
