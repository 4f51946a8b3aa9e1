// The loops behind Kernels, for vectors of kLanes doubles. Included by one source for each instruction set, which names
// its namespace and width first; the compiler's vector types become that set's registers.
#pragma once

#include <cmath>
#include <cstring>

#include "kernels.hpp"

namespace shakedown::hpl::SHAKEDOWN_ISA {
namespace {

constexpr Index kLanes = SHAKEDOWN_LANES;
using Vector [[gnu::vector_size(kLanes * 8)]] = double;
using Mask [[gnu::vector_size(kLanes * 8)]] = std::int64_t;

inline Vector load(const double* at) {
  Vector value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
inline void store(double* at, const Vector& value) { std::memcpy(at, &value, sizeof value); }
inline Vector all(double value) { return value - Vector{}; }

/// Keeps, lane by lane, the largest magnitude and the first row that had it.
struct Search {
  Vector best = all(-1);
  Mask rows = Mask{} - 1;
  Mask here;

  explicit Search(Index begin) {
    for (Index l = 0; l < kLanes; ++l) here[l] = begin + l;
  }
  void see(const Vector& y) {
    const Vector magnitude = y < 0 ? -y : y;
    const Mask larger = magnitude > best;
    best = larger ? magnitude : best;
    rows = larger ? here : rows;
    here += kLanes;
  }
  [[nodiscard]] Largest result() const {
    Largest largest;
    for (Index l = 0; l < kLanes; ++l) {
      if (rows[l] < 0) continue;
      if (best[l] > largest.magnitude || (best[l] == largest.magnitude && rows[l] < largest.row)) {
        largest = {best[l], rows[l]};
      }
    }
    return largest;
  }
};

Largest column(Index rows, Index columns, double* a, Index lda, const double* x, double scale, double* y) {
  Search search(0);
  const Index last = columns - 1;
  Index i = 0;
  for (; i + kLanes <= rows; i += kLanes) {
    Vector sum = load(y + i);
    Vector other{};  // two chains of sums hide the latency
    Index l = 0;
    for (; l + 1 < last; l += 2) {
      sum -= load(a + i + l * lda) * x[l];
      other -= load(a + i + (l + 1) * lda) * x[l + 1];
    }
    if (l < last) other -= load(a + i + l * lda) * x[l];
    if (last >= 0) {
      const Vector scaled = load(a + i + last * lda) * scale;
      store(a + i + last * lda, scaled);
      sum -= scaled * x[last];
    }
    sum += other;
    store(y + i, sum);
    search.see(sum);
  }
  Largest largest = search.result();
  for (; i < rows; ++i) {
    double sum = y[i];
    for (Index l = 0; l < last; ++l) sum -= a[i + l * lda] * x[l];
    if (last >= 0) {
      a[i + last * lda] *= scale;
      sum -= a[i + last * lda] * x[last];
    }
    y[i] = sum;
    if (std::fabs(sum) > largest.magnitude) largest = {std::fabs(sum), i};
  }
  return largest;
}

/// kVectors vectors of rows by kColumns columns of C stay in registers while the depth goes by.
template <int kVectors, int kColumns>
inline void block(Index depth, const double* a, Index lda, const double* b, Index ldb, double* c, Index ldc) {
  Vector sums[kColumns][kVectors] = {};
  for (Index l = 0; l < depth; ++l) {
    Vector left[kVectors];
    for (int v = 0; v < kVectors; ++v) left[v] = load(a + v * kLanes + l * lda);
    for (int j = 0; j < kColumns; ++j) {
      const double right = b[l + j * ldb];
      for (int v = 0; v < kVectors; ++v) sums[j][v] += left[v] * right;
    }
  }
  for (int j = 0; j < kColumns; ++j) {
    for (int v = 0; v < kVectors; ++v) {
      double* at = c + v * kLanes + j * ldc;
      store(at, load(at) - sums[j][v]);
    }
  }
}

template <int kVectors>
inline void strip(Index columns, Index depth, const double* a, Index lda, const double* b, Index ldb, double* c,
                  Index ldc) {
  constexpr int kWide = kLanes == 8 ? 8 : 4;
  Index j = 0;
  for (; j + kWide <= columns; j += kWide) block<kVectors, kWide>(depth, a, lda, b + j * ldb, ldb, c + j * ldc, ldc);
  for (; j + 4 <= columns; j += 4) block<kVectors, 4>(depth, a, lda, b + j * ldb, ldb, c + j * ldc, ldc);
  for (; j < columns; ++j) block<kVectors, 1>(depth, a, lda, b + j * ldb, ldb, c + j * ldc, ldc);
}

void update(Index rows, Index columns, Index depth, const double* a, Index lda, const double* b, Index ldb, double* c,
            Index ldc) {
  constexpr int kHigh = 3;
  Index i = 0;
  for (; i + kHigh * kLanes <= rows; i += kHigh * kLanes) strip<kHigh>(columns, depth, a + i, lda, b, ldb, c + i, ldc);
  for (; i + kLanes <= rows; i += kLanes) strip<1>(columns, depth, a + i, lda, b, ldb, c + i, ldc);
  for (; i < rows; ++i) {
    for (Index j = 0; j < columns; ++j) {
      double sum = 0;
      for (Index l = 0; l < depth; ++l) sum += a[i + l * lda] * b[l + j * ldb];
      c[i + j * ldc] -= sum;
    }
  }
}

void solve_unit(Index order, Index columns, const double* l, Index ldl, double* b, Index ldb) {
  // Blocks of the triangle's columns: within one the plain substitution, below it a product.
  constexpr Index kBlock = 16;
  for (Index at = 0; at < order; at += kBlock) {
    const Index width = std::min(kBlock, order - at);
    for (Index j = 0; j < columns; ++j) {
      double* x = b + at + j * ldb;
      for (Index k = 0; k < width; ++k) {
        const double* below = l + at + (at + k) * ldl;
        for (Index i = k + 1; i < width; ++i) x[i] -= below[i] * x[k];
      }
    }
    const Index end = at + width;
    update(order - end, columns, width, l + end + at * ldl, ldl, b + at, ldb, b + end, ldb);
  }
}

/// Lane l of the result is lane order[l] of a and b, one after the other.
inline Vector shuffle(const Vector& a, const Vector& b, const Mask& order) {
#if defined(__clang__)
  Vector result;
  for (Index l = 0; l < kLanes; ++l) result[l] = order[l] < kLanes ? a[order[l]] : b[order[l] - kLanes];
  return result;
#else
  return __builtin_shuffle(a, b, order);
#endif
}

/// A square of kLanes x kLanes: pairs of vectors exchange halves, then quarters, and so on.
inline void transpose_square(const double* from, Index ldf, double* to, Index ldt) {
  Vector row[kLanes];
  for (Index r = 0; r < kLanes; ++r) row[r] = load(from + r * ldf);
  for (Index width = 1; width < kLanes; width *= 2) {
    Mask low, high;  // lanes of the pair that make its new lower and upper vector
    for (Index l = 0; l < kLanes; ++l) {
      low[l] = (l & width) != 0 ? l - width + kLanes : l;
      high[l] = (l & width) != 0 ? l + kLanes : l + width;
    }
    for (Index r = 0; r < kLanes; ++r) {
      if ((r & width) != 0) continue;
      const Vector a = row[r], b = row[r + width];
      row[r] = shuffle(a, b, low);
      row[r + width] = shuffle(a, b, high);
    }
  }
  for (Index r = 0; r < kLanes; ++r) store(to + r * ldt, row[r]);
}

void transpose(Index rows, Index columns, const double* from, Index ldf, double* to, Index ldt) {
  constexpr Index kAhead = 16;  // rows: the pieces of a row are too short for the hardware to see them coming
  Index i = 0;
  for (; i + kLanes <= rows; i += kLanes) {
    Index j = 0;
    for (; j + kLanes <= columns; j += kLanes) {
      if (i + kAhead + kLanes <= rows) {
        for (Index r = 0; r < kLanes; ++r) __builtin_prefetch(from + (i + kAhead + r) * ldf + j);
      }
      transpose_square(from + i * ldf + j, ldf, to + i + j * ldt, ldt);
    }
    for (; j < columns; ++j) {
      for (Index r = 0; r < kLanes; ++r) to[i + r + j * ldt] = from[(i + r) * ldf + j];
    }
  }
  for (; i < rows; ++i) {
    for (Index j = 0; j < columns; ++j) to[i + j * ldt] = from[i * ldf + j];
  }
}

void take_off(Index rows, Index columns, const double* a, Index lda, const double* x, double* y) {
  constexpr Index kRows = 4;  // that share the loads of x, and hide each other's latency
  Index i = 0;
  for (; i + kRows <= rows; i += kRows) {
    Vector sums[kRows] = {};
    Index j = 0;
    for (; j + kLanes <= columns; j += kLanes) {
      const Vector value = load(x + j);
      for (Index r = 0; r < kRows; ++r) {
        const double* at = a + (i + r) * lda + j;
        __builtin_prefetch(at + kRows * lda);
        sums[r] += load(at) * value;
      }
    }
    for (Index r = 0; r < kRows; ++r) {
      double sum = 0;
      for (Index l = 0; l < kLanes; ++l) sum += sums[r][l];
      for (Index c = j; c < columns; ++c) sum += a[(i + r) * lda + c] * x[c];
      y[i + r] -= sum;
    }
  }
  for (; i < rows; ++i) {
    double sum = 0;
    for (Index j = 0; j < columns; ++j) sum += a[i * lda + j] * x[j];
    y[i] -= sum;
  }
}

double dot(Index length, const double* a, const double* x, double* absolute) {
  Vector sums[2] = {}, sizes[2] = {};
  Index i = 0;
  for (; i + 2 * kLanes <= length; i += 2 * kLanes) {
    for (int v = 0; v < 2; ++v) {
      const Vector value = load(a + i + v * kLanes);
      sums[v] += value * load(x + i + v * kLanes);
      sizes[v] += value < 0 ? -value : value;
    }
  }
  const Vector sum = sums[0] + sums[1], size = sizes[0] + sizes[1];
  double total = 0, weight = 0;
  for (Index l = 0; l < kLanes; ++l) {
    total += sum[l];
    weight += size[l];
  }
  for (; i < length; ++i) {
    total += a[i] * x[i];
    weight += std::fabs(a[i]);
  }
  *absolute += weight;
  return total;
}

}  // namespace

extern const Kernels kKernels;
const Kernels kKernels{SHAKEDOWN_ISA_NAME, column, update, solve_unit, transpose, take_off, dot};

}  // namespace shakedown::hpl::SHAKEDOWN_ISA
