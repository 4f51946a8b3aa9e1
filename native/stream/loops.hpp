// The loops, once for all instruction sets. A file named for an instruction set defines its vector operations and
// includes this. Everything here has internal linkage and uses nothing from the standard library: a function compiled
// for AVX-512 that the linker shared with other files would fault on a CPU without it.
#pragma once

#include "stream.hpp"

#define SHAKEDOWN_INLINE [[gnu::always_inline]] inline

namespace shakedown::stream {
namespace {

inline constexpr std::size_t kLine = 8;  // doubles in 64 bytes

/// How a loop walks: `streams` runs of `gap` bytes side by side, so that more pages are open and more hardware
/// prefetchers at work; `lines` lines of each in turn; software prefetch `ahead` bytes, 0 for none, into cache level
/// `into`.
template <int streams, std::size_t gap, int lines, std::size_t ahead, int into = 2>
struct Shape {
  static constexpr int kStreams = streams;
  static constexpr std::size_t kGap = gap / 8;  // in doubles from here on
  static constexpr int kLines = lines;
  static constexpr std::size_t kAhead = ahead / 8;
  static constexpr int kLocality = 4 - into;  // of __builtin_prefetch: 3 for the first level, 2 for the second
  static constexpr std::size_t kStep = static_cast<std::size_t>(lines) * kLine;
  static constexpr std::size_t kBlock = streams == 1 ? kStep : static_cast<std::size_t>(streams) * kGap;
};

/// Call visit(offset, slot) for every line of n doubles in the order of the shape; slot counts the lines within a turn.
template <class S, class Visit>
SHAKEDOWN_INLINE void walk(std::size_t n, Visit visit) {
  std::size_t at = 0;
  for (; at + S::kBlock <= n; at += S::kBlock) {
    for (std::size_t i = 0; i < (S::kStreams == 1 ? S::kStep : S::kGap); i += S::kStep) {
#pragma GCC unroll 16
      for (int s = 0; s < S::kStreams; ++s) {
#pragma GCC unroll 16
        for (int l = 0; l < S::kLines; ++l) {
          visit(at + static_cast<std::size_t>(s) * S::kGap + i + static_cast<std::size_t>(l) * kLine,
                s * S::kLines + l);
        }
      }
    }
  }
  for (; at < n; at += kLine) visit(at, 0);
}

template <class S>
SHAKEDOWN_INLINE void prefetch(const double* at) {
  if constexpr (S::kAhead > 0)
    __builtin_prefetch(at + S::kAhead, 0, S::kLocality);  // past the end: a prefetch never faults
}

/// The line operations of an instruction set with vectors of a fixed width V::T of V::kDoubles.
template <class V>
struct Fixed {
  static constexpr std::size_t kVectors = kLine / V::kDoubles;

  template <Kernel K, bool nt>
  SHAKEDOWN_INLINE static void line(double* out, const double* x, const double* y, typename V::T q) {
    typename V::T result[kVectors];
#pragma GCC unroll 8
    for (std::size_t v = 0; v < kVectors; ++v) {
      const std::size_t i = v * V::kDoubles;
      if constexpr (K == Kernel::copy) result[v] = V::load(x + i);
      if constexpr (K == Kernel::scale) result[v] = V::multiply(q, V::load(x + i));
      if constexpr (K == Kernel::add) result[v] = V::add(V::load(x + i), V::load(y + i));
      if constexpr (K == Kernel::triad) result[v] = V::multiply_add(q, V::load(y + i), V::load(x + i));
      if constexpr (K == Kernel::write) result[v] = q;
    }
    V::template store_line<nt>(out, result);
  }

  template <class S>
  SHAKEDOWN_INLINE static double read(const double* x, std::size_t n) {
    constexpr std::size_t kSums = 8;  // enough to hide the latency of the additions
    typename V::T sums[kSums];
    for (auto& sum : sums) sum = V::fill(0.0);
    walk<S>(n, [&](std::size_t at, int slot) {
      prefetch<S>(x + at);
#pragma GCC unroll 8
      for (std::size_t v = 0; v < kVectors; ++v) {
        auto& sum = sums[(static_cast<std::size_t>(slot) * kVectors + v) % kSums];
        sum = V::add(sum, V::load(x + at + v * V::kDoubles));
      }
    });
    typename V::T total = sums[0];
    for (std::size_t k = 1; k < kSums; ++k) total = V::add(total, sums[k]);
    return V::total(total);
  }

  SHAKEDOWN_INLINE static typename V::T fill(double q) { return V::fill(q); }
  SHAKEDOWN_INLINE static void fence() { V::fence(); }
};

template <class I, Kernel K, bool nt, class S>
double run_loop(double* out, const double* x, const double* y, double q, std::size_t n) {
  if constexpr (K == Kernel::read) {
    return I::template read<S>(x, n);
  } else {
    const auto scalar = I::fill(q);
    walk<S>(n, [&](std::size_t at, int) {
      if constexpr (facts_of(K).x >= 0) prefetch<S>(x + at);
      if constexpr (facts_of(K).y >= 0) prefetch<S>(y + at);
      I::template line<K, nt>(out + at, x + at, y + at, scalar);
    });
    if constexpr (nt) I::fence();
    return 0;
  }
}

template <class I, Kernel K, bool nt, class S>
constexpr LoopChoice choice(const char* name) {
  return {name, S::kBlock * 8, &run_loop<I, K, nt, S>};
}

// The candidates: README.md has the measurements behind them. `write` has nothing to prefetch: it takes those without.
inline constexpr std::size_t kWithoutPrefetch = 5;
inline constexpr std::size_t kKi = 1024;
template <class I, Kernel K, bool nt>
struct Choices {
  static constexpr LoopChoice kList[] = {
      choice<I, K, nt, Shape<1, 0, 4, 0>>("u4"),
      choice<I, K, nt, Shape<1, 0, 8, 0>>("u8"),
      choice<I, K, nt, Shape<1, 0, 2, 0>>("u2"),
      choice<I, K, nt, Shape<4, 64 * kKi, 1, 0>>("s4u1"),
      choice<I, K, nt, Shape<4, 64 * kKi, 2, 0>>("s4u2"),
      choice<I, K, nt, Shape<1, 0, 2, kKi>>("u2p1k"),
      choice<I, K, nt, Shape<1, 0, 1, 4 * kKi>>("u1p4k"),
      choice<I, K, nt, Shape<4, 64 * kKi, 2, kKi / 2>>("s4u2p512"),
      choice<I, K, nt, Shape<2, 64 * kKi, 2, kKi / 2>>("s2u2p512"),
      choice<I, K, nt, Shape<2, 64 * kKi, 4, kKi / 2, 1>>("s2u4p512"),
  };
  static constexpr LoopList list() {
    return {kList, K == Kernel::write ? kWithoutPrefetch : sizeof kList / sizeof kList[0]};
  }
};

template <class I, bool nt>
constexpr void fill_lists(LoopList (&lists)[6]) {
  lists[0] = Choices<I, Kernel::copy, nt>::list();
  lists[1] = Choices<I, Kernel::scale, nt>::list();
  lists[2] = Choices<I, Kernel::add, nt>::list();
  lists[3] = Choices<I, Kernel::triad, nt>::list();
  lists[4] = Choices<I, Kernel::read, false>::list();
  lists[5] = Choices<I, Kernel::write, nt>::list();
}

template <class I, bool has_nt>
constexpr IsaLoops make_loops(const char* name) {
  IsaLoops loops{};
  loops.name = name;
  fill_lists<I, false>(loops.cached);
  if constexpr (has_nt) fill_lists<I, true>(loops.non_temporal);
  return loops;
}

}  // namespace
}  // namespace shakedown::stream
