// The interface of hpl_gpu on one screen: what a run is told beyond hpl's Config, and what it gives. hpl_mxp's setups
// begin alike.
#pragma once

#include "geometry.hpp"
#include "gpu/gpu.hpp"
#include "hpl/hpl.hpp"

namespace shakedown::hpl_gpu {

using hpl::Grid;  // of ranks; that of a launch is gpu::Grid

/// What a run with a rank for each GPU is told, whatever is solved. Of `base` what concerns threads has no meaning.
struct BaseSetup {
  hpl::Config base;
  Index tail_nb = 0;         // columns of a panel in the tail; 0: as everywhere
  double tail_share = 0.25;  // of N, the part that is the tail
  bool staged = true;        // messages start and end in memory of the host
  bool shared = false;       // other ranks have the same device
};

/// How the matrix is dealt: A alone, without row exchanges that hide behind one another.
inline Distribution distribution_of(const BaseSetup& setup) {
  const auto& c = setup.base;
  const auto tail_from = static_cast<Index>((1 - setup.tail_share) * static_cast<double>(c.n));
  return {c.n, c.n, c.nb, c.p, c.q, setup.tail_nb, tail_from, 0};
}

/// One factorization, every parameter resolved. Of `base` the depth is 1, and what concerns panels and solving has no
/// meaning here.
struct Setup : BaseSetup {
  unsigned panel_blocks = 0;  // of the device, at most, for the panel's kernel; 0: chosen from the device
};

/// This rank's part of the matrix, and its panels.
Geometry geometry_of(const Setup& setup, int row, int column);

struct Result {
  double seconds = 0;         // this rank's
  hpl::Shares shares;         // of these seconds; see timeline.hpp
  double panel_busy = 0;      // part of them in which a panel was factored, beside the update or not
  std::vector<double> x;      // on every rank
  std::vector<Index> pivots;  // global rows
};

}  // namespace shakedown::hpl_gpu
