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

/// sum + the slots [first, last) times x.
template <class I>
SHAKEDOWN_INLINE Eight<I> added(Eight<I> sum, const Part& part, std::int64_t first, std::int64_t last,
                                const double* x) {
  for (std::int64_t s = first; s < last; ++s) {
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

/// Rows of a chunk in their order: x = start - scaled x of the row before.
SHAKEDOWN_INLINE void chain_up(const double* start, const double* scaled, double before, double* x) {
#pragma GCC unroll 8
  for (std::int64_t i = 0; i < kRows; ++i) x[i] = before = start[i] - scaled[i] * before;
}
SHAKEDOWN_INLINE void chain_down(const double* start, const double* scaled, double behind, double* x) {
#pragma GCC unroll 8
  for (std::int64_t i = kRows - 1; i >= 0; --i) x[i] = behind = start[i] - scaled[i] * behind;
}

/// Rows of a chunk whose own rows are in several slots, or out of line.
SHAKEDOWN_INLINE void serial_up(const Part& part, std::int64_t first, std::int64_t last, const double* start,
                                const double* inverse, double* all, std::int64_t row) {
  for (std::int64_t i = 0; i < kRows; ++i) {
    double sum = 0;
    for (std::int64_t s = first; s < last; ++s) sum += part.values[s * kRows + i] * all[part.columns[s * kRows + i]];
    all[row + i] = start[i] - sum * inverse[i];
  }
}
SHAKEDOWN_INLINE void serial_down(const Part& part, std::int64_t first, std::int64_t last, const double* start,
                                  const double* inverse, double* all, std::int64_t row) {
  for (std::int64_t i = kRows - 1; i >= 0; --i) {
    double sum = 0;
    for (std::int64_t s = first; s < last; ++s) sum += part.values[s * kRows + i] * all[part.columns[s * kRows + i]];
    all[row + i] = start[i] - sum * inverse[i];
  }
}

/// The last step of a sweep forward in chunk c: `sum` lacks the chunk's own rows, and becomes x / inverse without them.
template <class I>
SHAKEDOWN_INLINE void finish_forward(const Matrix& a, std::int64_t c, const Eight<I>& sum, double* x) {
  const auto inverse = Eight<I>::set(1) / Eight<I>::load(a.diagonal + c * kRows);
  const auto start = sum * inverse;
  const auto serial = a.serial_lower[c];
  if (serial == 0) return start.store(x + c * kRows);
  alignas(64) double from[kRows], factor[kRows];
  start.store(from);
  const std::int64_t end = a.lower.begin[c + 1], slot = end - slots_of(serial);
  if ((serial & kChained) != 0) {
    (Eight<I>::load(a.lower.values + slot * kRows) * inverse).store(factor);
    return chain_up(from, factor, x[a.lower.columns[slot * kRows]], x + c * kRows);
  }
  inverse.store(factor);
  serial_up(a.lower, slot, end, from, factor, x, c * kRows);
}

/// And backward: x = start - the upper part over the diagonal.
template <class I, bool kFromZero>
SHAKEDOWN_INLINE void sweep_back(const Matrix& a, const double* t, double* x, std::int64_t c) {
  const auto serial = a.serial_upper[c];
  const std::int64_t slot = a.upper.begin[c], end = slot + slots_of(serial);
  const auto sum = added<I>(Eight<I>::set(0), a.upper, end, a.upper.begin[c + 1], x);
  const auto inverse = Eight<I>::set(1) / Eight<I>::load(a.diagonal + c * kRows);
  const auto start = kFromZero ? Eight<I>::load(x + c * kRows) - sum * inverse
                               : (Eight<I>::load(t + c * kRows) - sum) * inverse;
  if (serial == 0) return start.store(x + c * kRows);
  alignas(64) double from[kRows], factor[kRows];
  start.store(from);
  if ((serial & kChained) != 0) {
    (Eight<I>::load(a.upper.values + slot * kRows) * inverse).store(factor);
    return chain_down(from, factor, x[a.upper.columns[slot * kRows + kRows - 1]], x + c * kRows);
  }
  inverse.store(factor);
  serial_down(a.upper, slot, end, from, factor, x, c * kRows);
}

template <class I>
void forward_from_zero(const Matrix& a, const double* r, double* x, std::int64_t first, std::int64_t last) {
  for (std::int64_t c = first; c < last; ++c) {
    const std::int64_t end = a.lower.begin[c + 1] - slots_of(a.serial_lower[c]);
    const auto sum = added<I>(Eight<I>::set(0), a.lower, a.lower.begin[c], end, x);
    finish_forward<I>(a, c, Eight<I>::load(r + c * kRows) - sum, x);
  }
}

template <class I>
void backward_from_zero(const Matrix& a, double* x, std::int64_t first, std::int64_t last) {
  for (std::int64_t c = last - 1; c >= first; --c) sweep_back<I, true>(a, nullptr, x, c);
}

template <class I>
void forward(const Matrix& a, const double* r, double* x, double* t, std::int64_t first, std::int64_t last) {
  for (std::int64_t c = first; c < last; ++c) {
    const std::int64_t slot = a.lower.begin[c + 1] - slots_of(a.serial_lower[c]);
    const auto low = Eight<I>::load(r + c * kRows) - added<I>(Eight<I>::set(0), a.lower, a.lower.begin[c], slot, x);
    const auto high = added<I>(Eight<I>::set(0), a.upper, a.upper.begin[c], a.upper.begin[c + 1], x);
    finish_forward<I>(a, c, low - high, x);
    // What of the lower part is of the chunk's own rows, now that they are known.
    alignas(64) double own[kRows];
    low.store(own);
    for (std::int64_t s = slot; s < a.lower.begin[c + 1]; ++s) {
      for (std::int64_t i = 0; i < kRows; ++i) {
        own[i] -= a.lower.values[s * kRows + i] * x[a.lower.columns[s * kRows + i]];
      }
    }
    Eight<I>::load(own).store(t + c * kRows);
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
  return {name,        multiply<I>,          forward_from_zero<I>, backward_from_zero<I>, forward<I>,
          backward<I>, restrict_residual<I>, dot<I>,               direction<I>,          advance<I>};
}

}  // namespace
}  // namespace shakedown::hpcg
