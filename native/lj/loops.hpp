// The loops over one vector type. A source for an instruction set brings the type and includes this.
//
// `Vector` has: T, V (numbers), I (fixed-point numbers), M (mask), kLanes, gather (places at kLanes offsets -> three
// I), delta (a - b, wrapped, as numbers), set, add, mul, fma (a b + c), fnma (c - a b), reciprocal (to full precision),
// below (a < b), keep (x where the mask is set, else 0), store, total (of the lanes), count (of a mask's lanes).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernel.hpp"

#define SHAKEDOWN_INLINE [[gnu::always_inline]] inline

namespace shakedown::lj {
namespace {

template <class Vector>
struct Pairs {
  using T = typename Vector::T;
  using V = typename Vector::V;
  using I = typename Vector::I;
  using M = typename Vector::M;

  static constexpr std::size_t kAhead =
      512;  // entries: 2 KiB of the list, which comes from the last cache or from memory

  /// f / r = 48 r^-2 r^-6 (r^-6 - 1/2): the factor 48 and the unit of the differences come in at the end of a group.
  template <bool WithSums>
  SHAKEDOWN_INLINE static void run(const Batch<T>& batch, Sums* sums) {
    const V unit2 = Vector::set(batch.scales.unit2), cutoff2 = Vector::set(batch.scales.cutoff2);
    const V minus_half = Vector::set(T(-0.5)), scale = Vector::set(48 * batch.scales.unit);
    const Entry* list = batch.list;
    for (std::size_t g = 0; g < batch.groups; ++g) {
      I xi, yi, zi;
      Vector::gather(batch.places, list, xi, yi, zi);
      list += Vector::kLanes;
      V fx = Vector::set(T{0}), fy = fx, fz = fx, potential = fx, virial = fx;
      std::size_t pairs = 0;
      const Entry* const end = list + batch.rows[g] * Vector::kLanes;
      I xj, yj, zj;
      Vector::gather(batch.places, list, xj, yj, zj);
      while (list != end) {
        const V dx = Vector::delta(xi, xj), dy = Vector::delta(yi, yj), dz = Vector::delta(zi, zj);
        // The next row's places are loaded ahead of this row's arithmetic, whose chain is long.
        list += Vector::kLanes;
        __builtin_prefetch(list + kAhead);
        Vector::gather(batch.places, list, xj, yj, zj);
        const V r2 = Vector::mul(Vector::fma(dz, dz, Vector::fma(dy, dy, Vector::mul(dx, dx))), unit2);
        const M near = Vector::below(r2, cutoff2);
        const V s = Vector::reciprocal(r2);
        const V r6 = Vector::mul(Vector::mul(s, s), s);
        const V f = Vector::keep(near, Vector::mul(Vector::mul(r6, s), Vector::add(r6, minus_half)));
        fx = Vector::fma(f, dx, fx);
        fy = Vector::fma(f, dy, fy);
        fz = Vector::fma(f, dz, fz);
        if constexpr (WithSums) {
          potential = Vector::add(potential, Vector::keep(near, Vector::mul(r6, Vector::add(r6, Vector::set(T{-1})))));
          virial = Vector::fma(f, r2, virial);
          pairs += Vector::count(near);
        }
      }
      Vector::store(batch.fx + g * Vector::kLanes, Vector::mul(fx, scale));
      Vector::store(batch.fy + g * Vector::kLanes, Vector::mul(fy, scale));
      Vector::store(batch.fz + g * Vector::kLanes, Vector::mul(fz, scale));
      if constexpr (WithSums) {
        sums->potential += 4 * Vector::total(potential);
        sums->virial += 48 * Vector::total(virial);
        sums->pairs += static_cast<double>(pairs);
      }
    }
  }
  static void forces(const Batch<T>& batch) { run<false>(batch, nullptr); }
  static void energies(const Batch<T>& batch, Sums& sums) { run<true>(batch, &sums); }
};

/// What the compiler's own vectors do well, in whatever instruction set a source is compiled for.
template <class T, std::size_t kLanes>
struct Scalar {
  static void collect(const Run<T>& run, const Middle<T>& middle, Candidates<T>& found) {
    using U = std::make_unsigned_t<Fixed<T>>;
    const auto minus = [](Fixed<T> a, Fixed<T> b) {
      return static_cast<T>(static_cast<Fixed<T>>(static_cast<U>(a) - static_cast<U>(b)));
    };
    std::size_t count = found.count;
    for (std::size_t i = 0; i < run.count; ++i) {
      const auto& place = run.first[i];
      const T x = minus(place.x, middle.at.x) * middle.unit, y = minus(place.y, middle.at.y) * middle.unit,
              z = minus(place.z, middle.at.z) * middle.unit;
      const T dx = std::max(std::abs(x) - middle.half, T{0}), dy = std::max(std::abs(y) - middle.half, T{0}),
              dz = std::max(std::abs(z) - middle.half, T{0});
      found.x[count] = x;
      found.y[count] = y;
      found.z[count] = z;
      found.entry[count] = run.entry + static_cast<std::uint32_t>(i) * kStep<T>;
      count += dx * dx + dy * dy + dz * dz < middle.range2 ? 1 : 0;
    }
    found.count = count;
  }

  static std::size_t select(const Candidates<T>& from, T x, T y, T z, T range2, std::uint32_t* out) {
    std::size_t count = 0;
    for (std::size_t j = 0; j < from.count; ++j) {
      const T dx = from.x[j] - x, dy = from.y[j] - y, dz = from.z[j] - z;
      const T r2 = dx * dx + dy * dy + dz * dz;
      out[count] = from.entry[j];
      count += r2 < range2 && r2 > 0 ? 1 : 0;
    }
    return count;
  }

  static double move(const Motion& motion, const T* fx, const T* fy, const T* fz, double kick, double drift,
                     Place<T>* places) {
    double fastest = 0;
    for (std::size_t i = 0; i < motion.count; ++i) {
      const double vx = motion.vx[i] + kick * static_cast<double>(fx[i]);
      const double vy = motion.vy[i] + kick * static_cast<double>(fy[i]);
      const double vz = motion.vz[i] + kick * static_cast<double>(fz[i]);
      motion.vx[i] = vx;
      motion.vy[i] = vy;
      motion.vz[i] = vz;
      const double v2 = vx * vx + vy * vy + vz * vz;
      fastest = v2 > fastest ? v2 : fastest;
    }
    advance(motion.x, motion.vx, drift, motion.count);
    advance(motion.y, motion.vy, drift, motion.count);
    advance(motion.z, motion.vz, drift, motion.count);
    place(motion, places);
    return fastest;
  }

  /// x += drift v, in parts of the box, wrapping.
  SHAKEDOWN_INLINE static void advance(std::int64_t* x, const double* v, double drift, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto by = static_cast<std::int64_t>(v[i] * drift);
      x[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(x[i]) + static_cast<std::uint64_t>(by));
    }
  }

  SHAKEDOWN_INLINE static void place(const Motion& motion, Place<T>* places) {
    constexpr int kShift = 64 - 8 * sizeof(T);
    for (std::size_t i = 0; i < motion.count; ++i) {
      places[motion.slot[i]] = {static_cast<Fixed<T>>(motion.x[i] >> kShift),
                                static_cast<Fixed<T>>(motion.y[i] >> kShift),
                                static_cast<Fixed<T>>(motion.z[i] >> kShift), 0};
    }
  }

  static void transpose(const std::uint32_t* const* from, const std::uint32_t* lengths, const std::uint32_t* pad,
                        std::size_t rows, Entry* list) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      Entry* to = list + lane;
      const std::size_t length = lengths[lane];
      for (std::size_t row = 0; row < length; ++row) to[row * kLanes] = static_cast<Entry>(from[lane][row]);
      for (std::size_t row = length; row < rows; ++row) to[row * kLanes] = static_cast<Entry>(pad[lane]);
    }
  }
};

/// `Own` has the functions of Scalar, better ones where it hides them.
template <class Vector, class Own = Scalar<typename Vector::T, Vector::kLanes>>
constexpr Loops<typename Vector::T> make_loops() {
  return {Vector::kLanes, &Pairs<Vector>::forces, &Pairs<Vector>::energies, &Own::collect, &Own::select,
          &Own::move,     &Own::transpose};
}

template <class T>
SHAKEDOWN_INLINE const Place<T>* at(const Place<T>* places, Entry entry) {
  return reinterpret_cast<const Place<T>*>(reinterpret_cast<const char*>(places) + std::size_t{8} * entry);
}

}  // namespace
}  // namespace shakedown::lj
