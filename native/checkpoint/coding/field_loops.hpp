// The loop of the field, once for all instruction sets. A file named for an instruction set defines its vector and
// includes this. Everything here has internal linkage and uses no function of the standard library: one compiled for
// AVX-512 that the linker shared with other files would fault on a CPU without it.
//
// A step takes two vectors of every source in turn and keeps the sums of up to kRows outputs in registers: sources are
// read once for those rows. Where there are more rows, or more sources than tables fit, blocks are walked by tiles that
// stay in the first-level cache between the passes.
#pragma once

#include "field.hpp"
#include "loops.hpp"

#define SHAKEDOWN_INLINE [[gnu::always_inline]] inline

namespace shakedown::coding {
namespace {

inline constexpr int kMostSources = 32;                           // of one pass: their tables are on the stack
inline constexpr std::size_t kTileBytes = std::size_t{16} << 10;  // of all sources together, for several passes

/// The rows `from[0]`, ... of one pass over `sources` blocks.
template <class V>
struct Pass {
  typename V::Factor factors[kMostSources * V::kRows];
  const std::uint8_t* from[kMostSources];
  std::uint8_t* into[V::kRows];
  int sources;
};

template <class V, int rows, bool add, int vectors>
SHAKEDOWN_INLINE void step(const Pass<V>& pass, std::size_t at) {
  typename V::T sums[rows][vectors];
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) {
      sums[r][v] = add ? V::load(pass.into[r] + at + static_cast<std::size_t>(v) * V::kBytes) : V::zero();
    }
  }
  const auto* factor = pass.factors;
  for (int s = 0; s < pass.sources; ++s) {
    typename V::Operand operands[vectors];
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) {
      operands[v] = V::operand(V::load(pass.from[s] + at + static_cast<std::size_t>(v) * V::kBytes));
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
      const auto table = V::table(factor[r]);
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) sums[r][v] = V::add_product(sums[r][v], table, operands[v]);
    }
    factor += rows;
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) {
      V::store(pass.into[r] + at + static_cast<std::size_t>(v) * V::kBytes, sums[r][v]);
    }
  }
}

/// The last bytes, fewer than a vector has: through copies that are whole vectors.
template <class V, int rows, bool add>
void last_step(const Pass<V>& pass, std::size_t at, std::size_t bytes) {
  alignas(64) std::uint8_t ends[(kMostSources + V::kRows) * V::kBytes] = {};
  Pass<V> copy = pass;
  const auto take = [&](std::size_t slot, const std::uint8_t* from) {
    std::uint8_t* const to = ends + slot * V::kBytes;
    for (std::size_t i = 0; i < bytes; ++i) to[i] = from[at + i];
    return to;
  };
  for (int s = 0; s < pass.sources; ++s) copy.from[s] = take(static_cast<std::size_t>(s), pass.from[s]);
  for (int r = 0; r < rows; ++r) copy.into[r] = take(kMostSources + static_cast<std::size_t>(r), pass.into[r]);
  step<V, rows, add, 1>(copy, 0);
  for (int r = 0; r < rows; ++r) {
    for (std::size_t i = 0; i < bytes; ++i) pass.into[r][at + i] = copy.into[r][i];
  }
}

template <class V, int rows, bool add>
void walk(const Pass<V>& pass, std::size_t bytes) {
  std::size_t at = 0;
  for (; at + 2 * V::kBytes <= bytes; at += 2 * V::kBytes) step<V, rows, add, 2>(pass, at);
  if (at + V::kBytes <= bytes) {
    step<V, rows, add, 1>(pass, at);
    at += V::kBytes;
  }
  if (at < bytes) last_step<V, rows, add>(pass, at, bytes - at);
}

template <class V, int rows>
void walk_rows(const Pass<V>& pass, int left, bool add, std::size_t bytes) {
  if constexpr (rows > 1) {
    if (left < rows) return walk_rows<V, rows - 1>(pass, left, add, bytes);
  }
  add ? walk<V, rows, true>(pass, bytes) : walk<V, rows, false>(pass, bytes);
}

/// One pass: rows `row` to row + rows - 1 of the sources `source` to source + sources - 1, from byte `at` on.
template <class V>
void run_pass(const Products& all, int row, int rows, int source, int sources, std::size_t at, std::size_t bytes) {
  Pass<V> pass;  // NOLINT(cppcoreguidelines-pro-type-member-init): what is used is set here
  pass.sources = sources;
  for (int s = 0; s < sources; ++s) {
    pass.from[s] = all.from[source + s] + at;
    for (int r = 0; r < rows; ++r) {
      pass.factors[s * rows + r] = V::factor(all.factors[(row + r) * all.sources + source + s]);
    }
  }
  for (int r = 0; r < rows; ++r) pass.into[r] = all.into[row + r] + at;
  walk_rows<V, V::kRows>(pass, rows, all.add || source > 0, bytes);
}

template <class V>
void combine(const Products& all) {
  const bool one_pass = all.rows <= V::kRows && all.sources <= kMostSources;
  const int together = all.sources < kMostSources ? all.sources : kMostSources;
  std::size_t tile = kTileBytes / static_cast<std::size_t>(together < 1 ? 1 : together) / 64 * 64;
  if (one_pass) tile = all.bytes;
  for (std::size_t at = 0; at < all.bytes; at += tile) {
    const std::size_t bytes = all.bytes - at < tile ? all.bytes - at : tile;
    for (int source = 0; source < all.sources; source += kMostSources) {
      const int sources = all.sources - source < kMostSources ? all.sources - source : kMostSources;
      for (int row = 0; row < all.rows; row += V::kRows) {
        run_pass<V>(all, row, all.rows - row < V::kRows ? all.rows - row : V::kRows, source, sources, at, bytes);
      }
    }
  }
}

}  // namespace
}  // namespace shakedown::coding
