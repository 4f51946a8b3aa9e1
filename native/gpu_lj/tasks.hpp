// What the kernels work on, laid out alike for the host and the device. Plain C++17, for nvcc too.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shakedown::gpu_lj {

/// Where a particle is, in whole parts of the box: differences wrap round it by themselves (native/lj/README.md).
template <class T>
struct Place;
template <>
struct alignas(16) Place<float> {
  std::int32_t x, y, z, spare;
};
template <>
struct alignas(16) Place<double> {
  std::int64_t x, y, z, spare;
};

/// What outlasts a launch. Device memory; the host reads it after a launch.
struct Progress {
  std::int64_t steps = 0, rebuilds = 0;
  double moved = 0;  // the farthest that any particle can have moved since the lists were made; huge: there are none
  std::uint32_t side = 0, now = 0;  // the places and the columns that hold
  std::uint32_t longest = 0;        // list since load()
  std::uint32_t overflow = 0;       // a list had no room: nothing was done since, and nothing will be
};

/// What the blocks of one launch tell each other. Zero when it begins.
struct Control {
  std::uint64_t arrived = 0;      // blocks, at all their meetings
  std::uint32_t fastest[3] = {};  // the bits of the largest v^2 of a step; three steps take turns
  std::uint32_t longest = 0;      // list
};

/// Everything that stays the same over a launch. Columns are twofold, one set is read and the other written when
/// particles are sorted: component c of set k of `at` begins at (3 k + c) stride. Places are twofold too, step by step.
template <class T>
struct Task {
  std::int64_t* at;   // fractions of the box, 64 bits
  double* v;          // half a step behind
  std::uint32_t* id;  // in the order of load()
  Place<T>* places;
  std::size_t stride;
  std::uint32_t n, edge, cells;             // particles; cells along an edge of the box, and all
  std::uint32_t rows;                       // of 32 entries that the list of a warp has room for
  const std::uint32_t* rank;                // of the row of cells at y + edge z
  std::uint32_t *counts, *begins, *totals;  // of cells; of cells and one more; of the blocks' parts of the cells
  std::uint32_t *cell_of, *order;           // particles
  std::uint32_t *lengths, *list;
  std::uint32_t *costs, *shares;  // of groups; the first group of each block and one more
  T unit, unit2, cutoff2,
      range2;                    // length of one part of the box, its square; squares of cutoff and of the lists' reach
  double skin, dt, kick, drift;  // drift: parts of the box (64 bits) in a step at a speed of 1
  Progress* progress;
  Control* control;
};

/// What is read out at one instant; `sums` are seven of each block: potential, virial and pairs (each from both sides),
/// kinetic energy, momentum.
struct Reading {
  std::uint32_t side = 0, now = 0;
  double kick = 0;              // 0, or all velocities get so much of their force and nothing is read
  double half = 0, factor = 0;  // of a kick that brings velocities to the time of the places; of all forces
  std::uint32_t store = 0;      // velocities and forces go to the columns that do not hold
  double* sums = nullptr;
};
constexpr int kSums = 7;

/// The threads of a warp that share a particle.
constexpr int kLanes[] = {1, 2, 4, 8};
constexpr unsigned kWarp = 32;

}  // namespace shakedown::gpu_lj
