// Profiles of the ground: where the points of a link lie in the grid, and their heights.
#pragma once

#include "gpu/kernel.hpp"
//
#include "radio/scalar.hpp"
#include "tasks.hpp"

namespace shakedown::gpu_path_loss {

using radio::Scalar;

/// Where a point lies: its cell, and how far in it.
template <class R>
struct Spot {
  unsigned column, row;
  R right, up;
};

/// One coordinate of the points first, first + 32, ... of a link. Single precision: in 2^-32 of a step of the grid, so
/// that a point 10,000 steps away is found as well as one nearby.
template <class R>
struct Coordinate;
template <>
struct Coordinate<float> {
  std::int64_t at, stride;
  __device__ __forceinline__ Coordinate(double begin, double end, double last, int intervals, unsigned first) {
    // A millionth of a step from the edges, and every point between the ends has a cell.
    const double from = inside(begin, last), to = inside(end, last);
    const auto step = static_cast<std::int64_t>((to - from) / intervals * 0x1p32);
    at = static_cast<std::int64_t>(from * 0x1p32) + step * static_cast<std::int64_t>(first);
    stride = step * kWarp;
  }
  __device__ __forceinline__ unsigned cell() const { return static_cast<unsigned>(at >> 32); }
  __device__ __forceinline__ float within() const {
    return static_cast<float>(static_cast<std::uint32_t>(at)) * 0x1p-32f;
  }
  __device__ __forceinline__ void go_on() { at += stride; }

 private:
  __device__ __forceinline__ static double inside(double at, double last) {
    const double least = 1e-6;
    return at < least ? least : at > last - least ? last - least : at;
  }
};
template <>
struct Coordinate<double> {
  Scalar<double> begin, step;
  double last_cell;
  unsigned index;
  __device__ __forceinline__ Coordinate(double from, double to, double last, int intervals, unsigned first)
      : begin(from), step(Scalar<double>(to - from) / Scalar<double>(intervals)), last_cell(last - 1), index(first) {}
  __device__ __forceinline__ double at() const { return (begin + step * Scalar<double>(index)).v; }
  __device__ __forceinline__ unsigned cell() const {
    const double here = at();
    return static_cast<unsigned>(here < 0 ? 0 : here > last_cell ? last_cell : here);
  }
  __device__ __forceinline__ double within() const { return at() - static_cast<double>(cell()); }
  __device__ __forceinline__ void go_on() { index += kWarp; }
};

template <class H>
__device__ __forceinline__ Cell<H> cell_at(const Task<H>& task, unsigned column, unsigned row) {
  const std::size_t tile = static_cast<std::size_t>(row / kTile) * task.tiles_in_a_row + column / kTile;
  return task.cells[tile * static_cast<std::size_t>(kTile * kTile) +
                    static_cast<std::size_t>((row % kTile) * kTile + column % kTile)];
}

/// A straight line under a profile, from near the ground at one end to near that at the other: heights above it are
/// small numbers, which single precision tells apart. Nothing in S3, S5 and S6 asks for more than a line's slope.
struct Chord {
  double begin_m, per_point_m;
};

/// The line in 2^-32 of the ground's numbers, at the points first, first + 32, ...; in double precision there is none.
template <class R>
struct Level {
  std::int64_t at = 0, stride = 0;
  double begin = 0, step = 0;
  template <class H>
  __device__ __forceinline__ Level(H from, H to, int intervals, unsigned first) {
    if constexpr (sizeof(R) == 4) {
      const auto each =
          static_cast<std::int64_t>((static_cast<double>(to) - static_cast<double>(from)) / intervals * 0x1p32);
      at = static_cast<std::int64_t>(static_cast<double>(from) * 0x1p32);
      begin = static_cast<double>(at) * 0x1p-32;
      step = static_cast<double>(each) * 0x1p-32;
      at += each * static_cast<std::int64_t>(first);
      stride = each * kWarp;
    }
  }
  __device__ __forceinline__ R whole() const { return static_cast<R>(static_cast<std::int32_t>(at >> 32)); }
  __device__ __forceinline__ R part() const {
    return static_cast<R>(static_cast<std::uint32_t>(at)) * static_cast<R>(0x1p-32);
  }
  __device__ __forceinline__ void go_on() { at += stride; }
};

/// The heights of all points of a link above the line that is returned into `heights`, in m; each thread takes every
/// 32nd. `inner_sum`: of those of this thread that are not in the tenths at the ends.
template <class R, class H>
__device__ __forceinline__ Chord sample_profile(const Task<H>& task, Place from, Place to, R* heights, R& inner_sum) {
  const unsigned lane = threadIdx.x % kWarp;
  const int intervals = static_cast<int>(task.points) - 1, cut = static_cast<int>(0.1 * intervals);
  const auto end_of = [&](Place place) {
    const Coordinate<R> column(place.column, place.column, task.last_column, 1, 0);
    const Coordinate<R> row(place.row, place.row, task.last_row, 1, 0);
    return cell_at(task, column.cell(), row.cell()).here;
  };
  Level<R> level(end_of(from), end_of(to), intervals, lane);
  Coordinate<R> column(from.column, to.column, task.last_column, intervals, lane);
  Coordinate<R> row(from.row, to.row, task.last_row, intervals, lane);
  const R scale = static_cast<R>(task.scale_m);
  R sum = 0;
  for (int i = static_cast<int>(lane); i <= intervals; i += kWarp) {
    const Cell<H> cell = cell_at(task, column.cell(), row.cell());
    const R right = column.within(), up = row.within();
    const R here = static_cast<R>(cell.here), next = static_cast<R>(cell.next_row);
    const R near = (here - level.whole()) + (static_cast<R>(cell.right) - here) * right;
    const R far = (next - level.whole()) + (static_cast<R>(cell.right_of_next) - next) * right;
    const R height = (near + (far - near) * up - level.part()) * scale;
    heights[i] = height;
    if (i >= cut && i <= intervals - cut) sum += height;
    column.go_on();
    row.go_on();
    level.go_on();
  }
  inner_sum = sum;
  return {level.begin * task.scale_m + task.offset_m, level.step * task.scale_m};
}

}  // namespace shakedown::gpu_path_loss
