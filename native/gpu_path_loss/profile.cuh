// S1 to S7 of ../radio/README.md over the profile of one link by the threads of a warp. R: the precision of the heights
// and of all sums; what decides by whole steps of the profile is in double, operation by operation as on the host.
#pragma once

#include "ground.cuh"
#include "radio/itm_variability.hpp"
#include "warp.cuh"

namespace shakedown::gpu_path_loss {

using radio::FitRange;
using radio::Geometry;
using radio::Line;
using radio::Part;
using radio::Prepared;

using Decides = Scalar<double>;

/// What the passes over a profile leave: all of the geometry but S7, which each thread does for a link of its own.
template <class R>
struct Found {
  Geometry<Scalar<R>> geometry;
  Scalar<R> above_line[2];  // the ground at the ends, above the line fitted there
  radio::Truth clear;       // the terrain does not decide the horizons
  bool sound;               // the radios stand apart
};

__device__ __forceinline__ float inverse(float x) { return reciprocal_estimate(x); }
__device__ __forceinline__ double inverse(double x) { return 1 / x; }

/// `begin` with `step` added so many times, one after the other as the reference does, with its roundings: they decide
/// where a range ends that ends on a step (S4 to S6). Between two powers of two every addition adds the same multiple
/// of the last bit; only the first may differ, whose tie may come from an odd place. So a few additions stand for all.
__device__ __forceinline__ double added_up(double begin, double step, int times) {
  Decides at = begin;
  const Decides each = step;
  while (times > 0) {
    const double before = at.v;
    at += each;
    if (--times == 0) break;
    int exponent = 0, exponent_before = 0;
    frexp(at.v, &exponent);
    frexp(before, &exponent_before);
    if (exponent != exponent_before) continue;
    const double change = ((at + each) - at).v;
    const double edge = ldexp(1.0, change > 0 ? exponent : exponent - 1);
    const double room = floor((edge - at.v) / change) - 1;  // one less: the quotient is rounded
    if (!(room >= 1)) continue;
    const int jump = room < times ? static_cast<int>(room) : times;
    at += Decides(change) * Decides(jump);  // exact: multiples of one last bit
    times -= jump;
  }
  return at.v;
}

/// Whether anything may be decided by the last bits of the distance of point i: tenths of it are whole steps.
__device__ __forceinline__ bool ends_on_a_step(int i, int intervals) { return i % 10 == 0 || intervals < 260; }

/// S3: the horizons of both ends. Distances are in double, elevations in R, compared above the line with this slope.
template <class R>
__device__ __forceinline__ void find_horizons(const R* heights, int intervals, double step, double slope,
                                              Found<R>& found, Geometry<Decides>& deciding) {
  const int lane = static_cast<int>(threadIdx.x % kWarp);
  Geometry<Scalar<R>>& geometry = found.geometry;
  const R half = geometry.curvature_per_m.v / 2, stride = static_cast<R>(step);
  const R distance = static_cast<R>(deciding.distance_m.v);
  const R tx = heights[0] + geometry.antenna_m[0].v, rx = heights[intervals] + geometry.antenna_m[1].v;
  Best<R> at_tx{-INFINITY, intervals}, at_rx{-INFINITY, intervals};
  for (int i = lane == 0 ? static_cast<int>(kWarp) : lane; i < intervals; i += kWarp) {
    const R z = heights[i], x = static_cast<R>(i) * stride, y = static_cast<R>(intervals - i) * stride;
    const R from_tx = (z - tx) * inverse(x) - x * half, from_rx = (z - rx) * inverse(y) - y * half;
    if (from_tx > at_tx.value) at_tx = {from_tx, i};
    if (from_rx > at_rx.value) at_rx = {from_rx, i};
  }
  at_tx = warp_best(at_tx);
  at_rx = warp_best(at_rx);
  const R direct_tx = (rx - tx) / distance - distance * half, direct_rx = (tx - rx) / distance - distance * half;
  deciding.horizon_m[0] = deciding.horizon_m[1] = deciding.distance_m;
  geometry.horizon_rad[0] = Scalar<R>::of(direct_tx);
  geometry.horizon_rad[1] = Scalar<R>::of(direct_rx);
  if (at_tx.value > direct_tx) {
    const int i = at_tx.at;
    const double x = ends_on_a_step(i, intervals) ? added_up(0, step, i) : i * step;
    deciding.horizon_m[0] = x;
    const R far = static_cast<R>(x);
    geometry.horizon_rad[0] = Scalar<R>::of(((heights[i] - tx) - far * far * half) / far);
  }
  if (at_rx.value > direct_rx) {
    const int i = at_rx.at;
    const bool exactly = ends_on_a_step(intervals - i, intervals);
    const double y = exactly ? added_up(deciding.distance_m.v, -step, i) : (intervals - i) * step;
    deciding.horizon_m[1] = y;
    const R far = static_cast<R>(y);
    geometry.horizon_rad[1] = Scalar<R>::of(((heights[i] - rx) - far * far * half) / far);
  }
  geometry.horizon_rad[0] += Scalar<R>(slope);
  geometry.horizon_rad[1] -= Scalar<R>(slope);
}

/// S6: a line through the points of a range.
template <class R>
__device__ __forceinline__ Line<Scalar<R>> fit(const R* heights, const FitRange<Decides>& range, int intervals) {
  using L = Scalar<R>;
  const int first = static_cast<int>(range.first.v), last = static_cast<int>(range.last.v);
  const R middle = static_cast<R>(range.middle.v);
  R sum = 0, moment = 0;
  for (int i = first + static_cast<int>(threadIdx.x % kWarp); i <= last; i += kWarp) {
    const R height = i == first || i == last ? heights[i] / 2 : heights[i];
    sum += height;
    moment += height * (static_cast<R>(i) - middle);
  }
  const FitRange<L> here{range.first.v, range.last.v, range.middle.v};
  return line_of_sums(here, L::of(warp_sum(sum)), L::of(warp_sum(moment)), L(intervals));
}

/// S5: 32 samples of the profile at a time, less the line through them; then those of the two ranks.
template <class R>
__device__ __forceinline__ Scalar<R> irregularity(const R* heights, int intervals, const Part<Decides>& part,
                                                  double step) {
  using L = Scalar<R>;
  const Decides begin = part.from_m / Decides(step), end = part.to_m / Decides(step), length = end - begin;
  if (!(length.v >= 2)) return 0;
  const int rank = static_cast<int>(radio::decile_rank(length).v), count = 10 * rank - 5, lane = threadIdx.x % kWarp;
  const R width = static_cast<R>(count - 1), middle = width / 2;
  // Positions in 2^-32 of a step.
  const auto first = static_cast<std::int64_t>(begin.v * 0x1p32);
  const auto stride = static_cast<std::int64_t>(length.v * 0x1p32 / (count - 1));
  R values[kEach], sum = 0, moment = 0;
  GPU_UNROLL(8)
  for (int k = 0; k < kEach; ++k) {
    const int j = k * static_cast<int>(kWarp) + lane;
    values[k] = 0;
    if (j >= count) continue;
    const std::int64_t at = first + stride * j;
    const int whole = static_cast<int>(at >> 32), cell = whole < intervals ? whole : intervals - 1;
    const R part_of_cell = static_cast<R>(at - (static_cast<std::int64_t>(cell) << 32)) * static_cast<R>(0x1p-32);
    const R z = heights[cell] + (heights[cell + 1] - heights[cell]) * part_of_cell;
    values[k] = z;
    const R counted = j == 0 || j == count - 1 ? z / 2 : z;
    sum += counted;
    moment += counted * (static_cast<R>(j) - middle);
  }
  const FitRange<L> all{0, static_cast<double>(count - 1), static_cast<double>(count - 1) / 2};
  const Line<L> line = line_of_sums(all, L::of(warp_sum(sum)), L::of(warp_sum(moment)), L::of(width));
  const R slope = (line.right.v - line.left.v) / width;
  GPU_UNROLL(8)
  for (int k = 0; k < kEach; ++k) {
    const int j = k * static_cast<int>(kWarp) + lane;
    values[k] = j < count ? values[k] - (line.left.v + slope * static_cast<R>(j)) : static_cast<R>(INFINITY);
  }
  warp_sort(values);
  const R decile = warp_ranked(values, count - rank) - warp_ranked(values, rank - 1);
  return whole_irregularity(L::of(decile), Part<L>{part.from_m.v, part.to_m.v});
}

/// S1 to S6, and what S7 needs of the profile. `heights` is the warp's own room for a profile in shared memory.
template <class R, class H>
__device__ __forceinline__ Found<R> examine(const Task<H>& task, Place from, Place to, R* heights) {
  using L = Scalar<R>;
  Found<R> found{};
  Geometry<L>& geometry = found.geometry;
  const int intervals = static_cast<int>(task.points) - 1, cut = static_cast<int>(0.1 * intervals);
  const Decides columns = to.column - from.column, rows = to.row - from.row;
  const Decides length = sqrt(columns * columns + rows * rows) * Decides(task.step_m);
  const Decides step = length / Decides(intervals);
  found.sound = step.v > 0;
  if (!found.sound) return found;
  R sum = 0;
  const Chord chord = sample_profile(task, from, to, heights, sum);
  const double mean = static_cast<double>(warp_sum(sum)) / (intervals - 2 * cut + 1) + chord.begin_m +
                      chord.per_point_m * intervals / 2;
  __syncwarp();  // the profile is there

  Geometry<Decides> deciding;
  deciding.distance_m = step * Decides(intervals);
  for (int end = 0; end < 2; ++end) {
    deciding.antenna_m[end] = task.antenna_m;
    geometry.antenna_m[end] = task.antenna_m;
  }
  geometry.distance_m = deciding.distance_m.v;
  geometry.surface_n = radio::surface_refractivity(task.prepared, L(mean));
  geometry.curvature_per_m = radio::curvature_of(geometry.surface_n);
  find_horizons(heights, intervals, step.v, chord.per_point_m / step.v, found, deciding);
  const Part<Decides> part = radio::trimmed(deciding);
  geometry.delta_h_m = irregularity(heights, intervals, part, step.v);
  FitRange<Decides> near_tx, near_rx;
  radio::fit_ranges(deciding, part, step, intervals, near_tx, near_rx);
  const Line<L> at_tx = fit(heights, near_tx, intervals);
  found.clear = radio::is_clear(deciding);
  const Line<L> at_rx = found.clear.is ? at_tx : fit(heights, near_rx, intervals);
  found.above_line[0] = L::of(heights[0]) - at_tx.left;
  found.above_line[1] = L::of(heights[intervals]) - at_rx.right;
  for (int end = 0; end < 2; ++end) geometry.horizon_m[end] = deciding.horizon_m[end].v;
  return found;
}

/// S7 to S13 of a link in each thread; what is not a number where the model gives none.
template <class R>
__device__ __forceinline__ float loss_db(Found<R>& found, const Prepared& prepared) {
  using L = Scalar<R>;
  Geometry<L>& geometry = found.geometry;
  if (!found.sound) return NAN;
  raise_antennas(geometry, found.clear, found.above_line[0], found.above_line[1]);
  const L loss = loss_of(geometry, prepared, 10).loss_db;
  const R radius = 1 / geometry.curvature_per_m.v, surface = geometry.surface_n.v;
  const bool known = surface >= 150 && surface <= 400 && radius >= 4'000'000 && radius <= 13'333'333;
  return known ? static_cast<float>(loss.v) : NAN;
}

}  // namespace shakedown::gpu_path_loss
