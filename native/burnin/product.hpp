// C = A B on one core, every bit of it known: how it is computed, checked, and how a wrong entry is found.
//
// All entries of A and B are random in all bits of their mantissas (constant data draw less power). The bits of every
// entry of C follow from the operands alone, since the order of its sum is fixed, so the check is exact: sums over rows
// and over columns of C, as whole numbers modulo 2^64, against those of a product that was computed one number at a
// time by other instructions. (Checksums of rows and columns: Huang and Abraham, IEEE Trans. Comput. C-33, 1984. There
// they are computed along with the product and compared within rounding; here nothing needs to be allowed for.)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/memory.hpp"

namespace shakedown::burnin {

/// The loops of one instruction set over one tile of `rows` x `columns` entries, column by column in one piece.
struct Kernel {
  const char* isa;
  int rows, columns;
  bool fused;  // multiply-adds are rounded once
  void (*multiply)(std::int64_t depth, const double* a, const double* b, double* c);
  void (*sums)(const double* c, std::uint64_t* rows, std::uint64_t* columns);
};

/// The names of the kernels that were built in, widest first, and the one of that name.
std::vector<std::string> kernel_names();
const Kernel& kernel(const std::string& isa);

/// One entry that is not as it must be.
struct Wrong {
  enum class Where { result, left, right } where = Where::result;  // C; or A or B, which were right when written
  std::int64_t row = 0, column = 0;                                // of C; of A (row, k); of B (k, column)
  std::int64_t tile_row = 0, tile_column = 0;                      // which tile of C, or which panel of A or B
  std::uint64_t expected = 0, found = 0;
  bool hard = false;  // wrong again when it was computed (result) or written (operand) once more
};

/// What one check found: the entries that were located, at most `kMostLocated`, and how many are wrong.
struct Defects {
  static constexpr std::size_t kMostLocated = 16;
  std::vector<Wrong> located;
  std::int64_t count = 0;
  void add(const Wrong& one) {
    ++count;
    if (located.size() < kMostLocated) located.push_back(one);
  }
};

/// A product of about 200 x 128 entries with sums of 256 terms: A lies in the second cache, a panel of B in the first.
class Product {
 public:
  /// Injected faults of a drill: a bit of C after each or after one product, a bit of A once.
  enum class Drill { none, result, result_always, operand };

  explicit Product(const Kernel& kernel);

  /// New operands from `seed`, and their product one number at a time; false where `stop` said so meanwhile.
  bool renew(std::uint64_t seed, bool (*stop)());
  /// C = A B, of one of two B in turn, so that a C that was not written is wrong.
  void multiply();
  /// Check the last product; where the sums differ, find the entries, and do them once more.
  Defects check();

  [[nodiscard]] double flop() const;  // of one product: 2 m n k
  [[nodiscard]] std::int64_t rows() const { return row_tiles_ * kernel_->rows; }
  [[nodiscard]] std::int64_t columns() const { return column_tiles_ * kernel_->columns; }
  [[nodiscard]] std::string isa() const { return kernel_->isa; }
  void drill(Drill kind) { drill_ = kind; }

 private:
  static constexpr std::int64_t kDepth = 256;
  static constexpr int kOthers = 2;  // B
  struct Sums {
    std::vector<std::uint64_t> rows, columns;
    bool operator==(const Sums&) const = default;
  };
  [[nodiscard]] double* tile(std::int64_t row_tile, std::int64_t column_tile) const;
  [[nodiscard]] double* left(std::int64_t row_tile) const;
  [[nodiscard]] double* right(int which, std::int64_t column_tile) const;
  void multiply_tile(std::int64_t row_tile, std::int64_t column_tile) const;
  [[nodiscard]] Sums sums() const;
  [[nodiscard]] std::uint64_t entry_bits(int which, std::int64_t row, std::int64_t column) const;
  void check_operands(Defects& defects);
  void check_tile(std::int64_t row_tile, std::int64_t column_tile, Defects& defects);
  void apply_drill();

  const Kernel* kernel_;
  std::int64_t row_tiles_, column_tiles_;
  Buffer memory_;
  double *a_, *b_[kOthers], *c_;
  std::uint64_t seed_ = 0;
  int which_ = 0;  // B of the last product
  Sums expected_[kOthers];
  Drill drill_ = Drill::none;
};

}  // namespace shakedown::burnin
