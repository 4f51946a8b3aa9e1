// The loops, once for all instruction sets: a file named for one says how eight numbers are loaded, fetched by their
// columns and stored, and includes this. Everything here has internal linkage. Nothing is fused or reordered by the
// compiler (-ffp-contract=off), so that every instruction set gives the same bits.
#pragma once

#include "hpcg.hpp"

#define SHAKEDOWN_INLINE [[gnu::always_inline]] inline

namespace shakedown::hpcg {
namespace {

/// Eight numbers in vectors of I::kLanes, by the compiler's vector extension.
template <class I>
struct Eight {
  static constexpr int kParts = 8 / I::kLanes;
  typename I::V part[kParts];

  SHAKEDOWN_INLINE static Eight load(const double* from) {
    Eight x;
    for (int p = 0; p < kParts; ++p) x.part[p] = I::load(from + p * I::kLanes);
    return x;
  }
  SHAKEDOWN_INLINE static Eight set(double value) {
    Eight x;
    for (int p = 0; p < kParts; ++p) x.part[p] = value - typename I::V{};
    return x;
  }
  SHAKEDOWN_INLINE void store(double* to) const {
    for (int p = 0; p < kParts; ++p) I::store(to + p * I::kLanes, part[p]);
  }
  SHAKEDOWN_INLINE friend Eight operator+(Eight a, const Eight& b) {
    for (int p = 0; p < kParts; ++p) a.part[p] += b.part[p];
    return a;
  }
  SHAKEDOWN_INLINE friend Eight operator-(Eight a, const Eight& b) {
    for (int p = 0; p < kParts; ++p) a.part[p] -= b.part[p];
    return a;
  }
  SHAKEDOWN_INLINE friend Eight operator*(Eight a, const Eight& b) {
    for (int p = 0; p < kParts; ++p) a.part[p] *= b.part[p];
    return a;
  }
  SHAKEDOWN_INLINE friend Eight operator/(Eight a, const Eight& b) {
    for (int p = 0; p < kParts; ++p) a.part[p] /= b.part[p];
    return a;
  }
};

/// The numbers in these columns: where those stand side by side, which all eight are compared for, one load.
template <class I>
SHAKEDOWN_INLINE Eight<I> fetch(const double* x, const std::int32_t* columns) {
  if (__builtin_expect(I::consecutive(columns), 1)) return Eight<I>::load(x + columns[0]);
  Eight<I> found;
  for (int p = 0; p < Eight<I>::kParts; ++p) found.part[p] = I::gather(x, columns + p * I::kLanes);
  return found;
}

/// Asks for what a pass over slots will read so many of them later; an address past the end never faults.
inline constexpr std::int64_t kValuesAhead = 32, kColumnsAhead = 64;  // slots: 2 KiB of each
template <bool up>
SHAKEDOWN_INLINE void prefetch(const Part& part, std::int64_t s) {
  constexpr std::int64_t kValues = (up ? kValuesAhead : -kValuesAhead) * kRows,
                         kColumns = (up ? kColumnsAhead : -kColumnsAhead) * kRows;
  __builtin_prefetch(part.values + s * kRows + kValues);
  __builtin_prefetch(part.columns + s * kRows + kColumns);
}

/// sum + the slots [first, last) times x.
template <class I>
SHAKEDOWN_INLINE Eight<I> added(Eight<I> sum, const Part& part, std::int64_t first, std::int64_t last,
                                const double* x) {
  for (std::int64_t s = first; s < last; ++s) {
    prefetch<true>(part, s);
    sum = sum + Eight<I>::load(part.values + s * kRows) * fetch<I>(x, part.columns + s * kRows);
  }
  return sum;
}

/// The same from the last slot to the first: what goes backward through memory, prefetchers follow only step by step.
template <class I>
SHAKEDOWN_INLINE Eight<I> added_backward(Eight<I> sum, const Part& part, std::int64_t first, std::int64_t last,
                                         const double* x) {
  for (std::int64_t s = last - 1; s >= first; --s) {
    prefetch<false>(part, s);
    sum = sum + Eight<I>::load(part.values + s * kRows) * fetch<I>(x, part.columns + s * kRows);
  }
  return sum;
}

SHAKEDOWN_INLINE std::int64_t slots_of(std::uint8_t serial) { return serial & ~kChained; }

/// A x of one chunk.
template <class I>
SHAKEDOWN_INLINE Eight<I> product(const Matrix& a, const double* x, std::int64_t c) {
  auto sum = added<I>(Eight<I>::set(0), a.lower, a.lower.begin[c], a.lower.begin[c + 1], x);
  sum = sum + Eight<I>::load(a.diagonal + c * kRows) * Eight<I>::load(x + c * kRows);
  return added<I>(sum, a.upper, a.upper.begin[c], a.upper.begin[c + 1], x);
}

template <class I>
void multiply(const Matrix& a, const double* x, double* y, std::int64_t first, std::int64_t last) {
  for (std::int64_t c = first; c < last; ++c) product<I>(a, x, c).store(y + c * kRows);
}

/// Eight numbers moved d places on (`up`) or back; what comes in is `fill`.
template <class I, int d, bool up>
SHAKEDOWN_INLINE Eight<I> moved(const Eight<I>& x, double fill) {
  constexpr int kParts = Eight<I>::kParts, kWhole = d / I::kLanes;
  const typename I::V in = fill - typename I::V{};
  Eight<I> out;
  for (int p = 0; p < kParts; ++p) {
    const auto part = [&](int k) { return k < 0 || k >= kParts ? in : x.part[k]; };
    if constexpr (kWhole > 0) {
      out.part[p] = part(up ? p - kWhole : p + kWhole);
    } else if constexpr (up) {
      out.part[p] = I::template up<d>(part(p - 1), x.part[p]);
    } else {
      out.part[p] = I::template down<d>(x.part[p], part(p + 1));
    }
  }
  return out;
}

/// x of row i = start + factor times x of the row before (up) or behind, the first of these being `from`: as products
/// of the rows' steps, by doubling (H. S. Stone, Journal of the ACM 20, 27, 1973), so that only one step waits for
/// `from`.
template <class I, bool up>
SHAKEDOWN_INLINE Eight<I> chained(Eight<I> start, Eight<I> factor, double from) {
  start = start + factor * moved<I, 1, up>(start, 0);
  factor = factor * moved<I, 1, up>(factor, 1);
  start = start + factor * moved<I, 2, up>(start, 0);
  factor = factor * moved<I, 2, up>(factor, 1);
  start = start + factor * moved<I, 4, up>(start, 0);
  factor = factor * moved<I, 4, up>(factor, 1);
  return start + factor * Eight<I>::set(from);
}

/// Rows of a chunk whose own rows are in several slots, or out of line: one after the other.
template <bool up>
SHAKEDOWN_INLINE void serial_rows(const Part& part, std::int64_t first, std::int64_t last, const double* start,
                                  const double* inverse, double* all, std::int64_t row) {
  for (std::int64_t k = 0; k < kRows; ++k) {
    const std::int64_t i = up ? k : kRows - 1 - k;
    double sum = 0;
    for (std::int64_t s = first; s < last; ++s) sum += part.values[s * kRows + i] * all[part.columns[s * kRows + i]];
    all[row + i] = start[i] - sum * inverse[i];
  }
}

/// Of a chunk's serial slots [first, last): x = start - what they contribute over the diagonal, row after row.
template <class I, bool up>
SHAKEDOWN_INLINE void finish(const Part& part, std::int64_t first, std::int64_t last, std::uint8_t serial,
                             const Eight<I>& start, const Eight<I>& inverse, double* x, std::int64_t c) {
  if ((serial & kChained) != 0) {
    const double from = x[part.columns[first * kRows + (up ? 0 : kRows - 1)]];
    const auto factor = Eight<I>::set(0) - Eight<I>::load(part.values + first * kRows) * inverse;
    return chained<I, up>(start, factor, from).store(x + c * kRows);
  }
  if (first == last) return start.store(x + c * kRows);
  alignas(64) double begin[kRows], factor[kRows];
  start.store(begin);
  inverse.store(factor);
  serial_rows<up>(part, first, last, begin, factor, x, c * kRows);
}

template <class I>
SHAKEDOWN_INLINE Eight<I> inverse_of(const Matrix& a, std::int64_t c) {
  return Eight<I>::set(1) / Eight<I>::load(a.diagonal + c * kRows);
}

template <class I, bool kFromZero>
SHAKEDOWN_INLINE void sweep_back(const Matrix& a, const double* t, double* x, std::int64_t c) {
  const auto serial = a.serial_upper[c];
  const std::int64_t slot = a.upper.begin[c], end = slot + slots_of(serial);
  const auto sum = added_backward<I>(Eight<I>::set(0), a.upper, end, a.upper.begin[c + 1], x);
  const auto inverse = inverse_of<I>(a, c);
  const auto start =
      kFromZero ? Eight<I>::load(x + c * kRows) - sum * inverse : (Eight<I>::load(t + c * kRows) - sum) * inverse;
  finish<I, false>(a.upper, slot, end, serial, start, inverse, x, c);
}

template <class I>
void forward_from_zero(const Matrix& a, const double* r, double* x, std::int64_t first, std::int64_t last) {
  for (std::int64_t c = first; c < last; ++c) {
    const auto serial = a.serial_lower[c];
    const std::int64_t end = a.lower.begin[c + 1], slot = end - slots_of(serial);
    const auto sum = added<I>(Eight<I>::set(0), a.lower, a.lower.begin[c], slot, x);
    const auto inverse = inverse_of<I>(a, c);
    const auto start = (Eight<I>::load(r + c * kRows) - sum) * inverse;
    finish<I, true>(a.lower, slot, end, serial, start, inverse, x, c);
  }
}

template <class I>
void backward_from_zero(const Matrix& a, double* x, std::int64_t first, std::int64_t last) {
  for (std::int64_t c = last - 1; c >= first; --c) sweep_back<I, true>(a, nullptr, x, c);
}

template <class I>
void forward(const Matrix& a, const double* r, double* x, double* t, std::int64_t first, std::int64_t last) {
  for (std::int64_t c = first; c < last; ++c) {
    const auto serial = a.serial_lower[c];
    const std::int64_t end = a.lower.begin[c + 1], slot = end - slots_of(serial);
    auto low = Eight<I>::load(r + c * kRows) - added<I>(Eight<I>::set(0), a.lower, a.lower.begin[c], slot, x);
    const auto high = added<I>(Eight<I>::set(0), a.upper, a.upper.begin[c], a.upper.begin[c + 1], x);
    const auto inverse = inverse_of<I>(a, c);
    finish<I, true>(a.lower, slot, end, serial, (low - high) * inverse, inverse, x, c);
    // What of the lower part is of the chunk's own rows, now that they are known: x D = low - it - high.
    if (serial != 0) low = Eight<I>::load(x + c * kRows) * Eight<I>::load(a.diagonal + c * kRows) + high;
    low.store(t + c * kRows);
  }
}

template <class I>
void backward(const Matrix& a, const double* t, double* x, std::int64_t first, std::int64_t last) {
  for (std::int64_t c = last - 1; c >= first; --c) sweep_back<I, false>(a, t, x, c);
}

template <class I>
void restrict_residual(const Matrix& a, const double* r, const double* x, const std::int32_t* chunks,
                       const std::int32_t* rows, double* coarse, std::int64_t first, std::int64_t last) {
  for (std::int64_t k = first; k < last; ++k) {
    alignas(64) double found[kRows];
    const std::int64_t c = chunks[k];
    (Eight<I>::load(r + c * kRows) - product<I>(a, x, c)).store(found);
    for (std::int64_t i = 0; i < kRows; ++i) {
      const std::int32_t to = rows[k * kRows + i];
      if (to >= 0) coarse[to] = found[i];
    }
  }
}

/// The sum of eight, in one order for all.
template <class I>
SHAKEDOWN_INLINE double total(const Eight<I>& x) {
  alignas(64) double each[kRows];
  x.store(each);
  return ((each[0] + each[1]) + (each[2] + each[3])) + ((each[4] + each[5]) + (each[6] + each[7]));
}

template <class I>
double dot(const double* x, const double* y, std::int64_t n) {
  auto sum = Eight<I>::set(0);
  for (std::int64_t i = 0; i < n; i += kRows) sum = sum + Eight<I>::load(x + i) * Eight<I>::load(y + i);
  return total(sum);
}

template <class I>
void direction(const double* z, double beta, double* p, std::int64_t n) {
  const auto factor = Eight<I>::set(beta);
  for (std::int64_t i = 0; i < n; i += kRows) (Eight<I>::load(z + i) + factor * Eight<I>::load(p + i)).store(p + i);
}

template <class I>
double advance(const double* p, const double* ap, double alpha, double* x, double* r, std::int64_t n) {
  const auto factor = Eight<I>::set(alpha);
  auto sum = Eight<I>::set(0);
  for (std::int64_t i = 0; i < n; i += kRows) {
    (Eight<I>::load(x + i) + factor * Eight<I>::load(p + i)).store(x + i);
    const auto rest = Eight<I>::load(r + i) - factor * Eight<I>::load(ap + i);
    rest.store(r + i);
    sum = sum + rest * rest;
  }
  return total(sum);
}

template <class I>
constexpr Isa loops(const char* name) {
  return {name,         multiply<I>, forward_from_zero<I>, backward_from_zero<I>,
          forward<I>,   backward<I>, restrict_residual<I>, dot<I>,
          direction<I>, advance<I>};
}

}  // namespace
}  // namespace shakedown::hpcg
