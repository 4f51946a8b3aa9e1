// hpcg: conjugate gradients preconditioned by one V-cycle of a geometric multigrid, on a sparse matrix of 27 points.
// What the loops of every instruction set and the code around them share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/memory.hpp"

namespace shakedown::hpcg {

inline constexpr std::int64_t kRows = 8;  // rows of a chunk
inline constexpr int kLevels = 4;         // of the multigrid
inline constexpr int kReferenceIterations = 50;

inline constexpr std::int64_t round_up(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step * step;
}

/// Numbers in memory that nobody has touched: who writes first decides the NUMA node.
template <class T>
class Array {
 public:
  Array() = default;
  explicit Array(std::int64_t size)
      : memory_(static_cast<std::size_t>(size > 0 ? size : 1) * sizeof(T), Pages::huge), size_(size) {}
  [[nodiscard]] T* data() const { return static_cast<T*>(memory_.data()); }
  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] T& operator[](std::int64_t i) const { return data()[i]; }

 private:
  Buffer memory_;
  std::int64_t size_ = 0;
};

/// A rank's part of a vector: its rows, zeros up to a whole chunk, then what neighbours have beside it. Eight zeros lie
/// before and behind, since the matrix fills its slots with columns that may lie there.
class Vector {
 public:
  Vector() = default;
  Vector(std::int64_t rows, std::int64_t halo) : memory_(kRows + round_up(rows, kRows) + halo + kRows) {}
  [[nodiscard]] double* data() const { return memory_.data() + kRows; }
  [[nodiscard]] double& operator[](std::int64_t i) const { return data()[i]; }

 private:
  Array<double> memory_;
};

/// The entries on one side of the diagonal. A chunk is eight rows, a slot one entry of each of them: its values, then
/// its columns, side by side. A row without an entry there has a zero, in the column that stands in line with its
/// neighbours.
struct Part {
  const std::int64_t* begin;  // of each chunk, in slots; one more for the end
  const double* values;
  const std::int32_t* columns;
};

/// A rank's rows of a matrix as the loops read it.
struct Matrix {
  Part lower, upper;
  const double* diagonal;  // 1 in the rows that fill the last chunk
  /// Of each chunk, how many slots next to the diagonal (the last of lower, the first of upper) hold columns of the
  /// chunk's own rows: those wait for each other. kChained: one slot, whose rows each need the row before (behind)
  /// them.
  const std::uint8_t* serial_lower;
  const std::uint8_t* serial_upper;
};
inline constexpr std::uint8_t kChained = 0x80;

struct Isa {
  const char* name;
  /// Of chunks [first, last): y = A x.
  void (*multiply)(const Matrix& a, const double* x, double* y, std::int64_t first, std::int64_t last);
  /// One sweep of Gauss-Seidel forward from x = 0: x = (D + L)^-1 r.
  void (*forward_from_zero)(const Matrix& a, const double* r, double* x, std::int64_t first, std::int64_t last);
  /// And backward from there: what the lower part contributes is in x, since D x = r - L x.
  void (*backward_from_zero)(const Matrix& a, double* x, std::int64_t first, std::int64_t last);
  /// One sweep forward from any x; t becomes r - L x with the new x.
  void (*forward)(const Matrix& a, const double* r, double* x, double* t, std::int64_t first, std::int64_t last);
  /// And backward from there.
  void (*backward)(const Matrix& a, const double* t, double* x, std::int64_t first, std::int64_t last);
  /// coarse[k] = (r - A x)[row] where rows[8 c + row of the chunk] is k >= 0, for the c-th of `chunks`.
  void (*restrict_residual)(const Matrix& a, const double* r, const double* x, const std::int32_t* chunks,
                            const std::int32_t* rows, double* coarse, std::int64_t first, std::int64_t last);
  /// Of n numbers, a multiple of 8. The sum of x y.
  double (*dot)(const double* x, const double* y, std::int64_t n);
  /// p = z + beta p.
  void (*direction)(const double* z, double beta, double* p, std::int64_t n);
  /// x += alpha p, r -= alpha ap; the sum of r r.
  double (*advance)(const double* p, const double* ap, double alpha, double* x, double* r, std::int64_t n);
};

std::vector<std::string> isas_built();
const Isa& isa_of(const std::string& name);
std::vector<const Isa*> isas_here();

}  // namespace shakedown::hpcg
