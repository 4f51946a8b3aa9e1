// The interface of hpl_gpu on one screen: what a run is told beyond hpl's Config, and what it gives.
#pragma once

#include "geometry.hpp"
#include "gpu/gpu.hpp"
#include "hpl/hpl.hpp"

namespace shakedown::hpl_gpu {

using hpl::Grid;  // of ranks; that of a launch is gpu::Grid

/// One factorization, every parameter resolved. Of `base` the depth is 1, and what concerns panels, solving and threads
/// has no meaning here.
struct Setup {
  hpl::Config base;
  Index tail_nb = 0;          // columns of a panel in the tail; 0: as everywhere
  double tail_share = 0.25;   // of N, the part that is the tail
  bool staged = true;         // messages start and end in memory of the host
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
