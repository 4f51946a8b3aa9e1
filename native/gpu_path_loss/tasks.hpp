// What the kernels work on, laid out alike for the host and the device. Plain C++17, for nvcc too.
#pragma once

#include <cstddef>
#include <cstdint>

#include "radio/itm_prepared.hpp"

namespace shakedown::gpu_path_loss {

constexpr unsigned kWarp = 32;
constexpr unsigned kTile = 4;  // cells of the grid along a side of what lies together in memory

/// The four corners of a cell of the grid, in the numbers of the ground: one read.
template <class H>
struct alignas(4 * sizeof(H)) Cell {
  H here, right;              // of its row
  H next_row, right_of_next;  // of the row behind
};

/// Where a radio stands, in steps of the grid.
struct Place {
  double column, row;
};

/// All losses of a placement, or those of radios that moved. Radios have a number, which the result goes by, and a rank
/// along a curve over the ground: links of neighbouring ranks run beside each other.
template <class H>
struct Task {
  const Cell<H>* cells;  // in tiles of kTile x kTile, row by row of tiles
  unsigned tiles_in_a_row;
  double scale_m, offset_m;  // of the heights' numbers
  double step_m;             // between the crossings of the grid
  double last_column, last_row;

  const Place* places;           // by rank
  const std::uint32_t* numbers;  // by rank
  const std::uint32_t* moved;    // ranks of radios that moved; none: all links are asked for
  const std::uint8_t* is_moved;  // by rank
  std::uint32_t radios, moved_radios;
  std::uint64_t links;  // that are counted through: those of two radios that moved come twice, the second is left out

  float* loss_db;  // rows of the upper triangle one behind the other, by number
  std::uint32_t points;
  double antenna_m;  // of every radio, above ground
  radio::Prepared prepared;
};

}  // namespace shakedown::gpu_path_loss
