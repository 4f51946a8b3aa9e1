#include "product.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "fft/random.hpp"

namespace shakedown::burnin {
namespace {

constexpr std::int64_t kRowsWanted = 192, kColumnsWanted = 128;

/// Entry `index` of matrix `matrix`: all 52 bits of the mantissa random, magnitude in [0.5, 1), sign random.
double operand(std::uint64_t seed, std::uint64_t matrix, std::int64_t index) {
  const std::uint64_t random = mixed(seed ^ (matrix << 60) ^ static_cast<std::uint64_t>(index));
  constexpr std::uint64_t kHalf = std::uint64_t{1022} << 52;  // the exponent of [0.5, 1)
  return std::bit_cast<double>((random & (std::uint64_t{1} << 63)) | kHalf | (random & ((std::uint64_t{1} << 52) - 1)));
}

}  // namespace

Product::Product(const Kernel& kernel)
    : kernel_(&kernel),
      row_tiles_((kRowsWanted + kernel.rows - 1) / kernel.rows),
      column_tiles_((kColumnsWanted + kernel.columns - 1) / kernel.columns) {
  const auto a = static_cast<std::size_t>(rows() * kDepth), b = static_cast<std::size_t>(columns() * kDepth);
  const auto c = static_cast<std::size_t>(rows() * columns());
  memory_ = Buffer((a + kOthers * b + c) * sizeof(double), Pages::huge);
  a_ = memory_.as<double>().data();
  b_[0] = a_ + a;
  b_[1] = b_[0] + b;
  c_ = b_[1] + b;
}

double Product::flop() const { return 2.0 * static_cast<double>(rows() * columns() * kDepth); }

double* Product::left(std::int64_t row_tile) const { return a_ + row_tile * kernel_->rows * kDepth; }
double* Product::right(int which, std::int64_t column_tile) const {
  return b_[which] + column_tile * kernel_->columns * kDepth;
}
double* Product::tile(std::int64_t row_tile, std::int64_t column_tile) const {
  return c_ + (column_tile * row_tiles_ + row_tile) * kernel_->rows * kernel_->columns;
}

void Product::multiply_tile(std::int64_t row_tile, std::int64_t column_tile) const {
  kernel_->multiply(kDepth, left(row_tile), right(which_, column_tile), tile(row_tile, column_tile));
}

/// One entry of C by scalar operations in the same order, from the operands as they were written: what must be there.
std::uint64_t Product::entry_bits(int which, std::int64_t row, std::int64_t column) const {
  const std::int64_t panel_a = row / kernel_->rows * kernel_->rows * kDepth + row % kernel_->rows;
  const std::int64_t panel_b = column / kernel_->columns * kernel_->columns * kDepth + column % kernel_->columns;
  double sum = 0;
  for (std::int64_t k = 0; k < kDepth; ++k) {
    const double x = operand(seed_, 0, panel_a + k * kernel_->rows);
    const double y = operand(seed_, 1 + static_cast<std::uint64_t>(which), panel_b + k * kernel_->columns);
    if (kernel_->fused) {
      sum = std::fma(x, y, sum);
    } else {
      const double term = x * y;
      sum += term;
    }
  }
  return std::bit_cast<std::uint64_t>(sum);
}

bool Product::renew(std::uint64_t seed, bool (*stop)()) {
  seed_ = seed;
  for (std::int64_t i = 0; i < rows() * kDepth; ++i) a_[i] = operand(seed, 0, i);
  for (int which = 0; which < kOthers; ++which) {
    for (std::int64_t i = 0; i < columns() * kDepth; ++i)
      b_[which][i] = operand(seed, 1 + static_cast<std::uint64_t>(which), i);
    Sums& sums = expected_[which];
    sums = {std::vector<std::uint64_t>(static_cast<std::size_t>(rows())),
            std::vector<std::uint64_t>(static_cast<std::size_t>(columns()))};
    for (std::int64_t row = 0; row < rows(); ++row) {
      if (stop()) return false;
      for (std::int64_t column = 0; column < columns(); ++column) {
        const std::uint64_t bits = entry_bits(which, row, column);
        sums.rows[static_cast<std::size_t>(row)] += bits;
        sums.columns[static_cast<std::size_t>(column)] += bits;
      }
    }
  }
  return true;
}

void Product::multiply() {
  which_ = 1 - which_;
  for (std::int64_t j = 0; j < column_tiles_; ++j) {
    for (std::int64_t i = 0; i < row_tiles_; ++i) multiply_tile(i, j);
  }
  apply_drill();
}

void Product::apply_drill() {
  constexpr std::uint64_t kBit = std::uint64_t{1} << 21;
  if (drill_ == Drill::none) return;
  double& target = drill_ == Drill::operand ? left(row_tiles_ / 2)[17] : tile(row_tiles_ / 2, column_tiles_ / 2)[5];
  target = std::bit_cast<double>(std::bit_cast<std::uint64_t>(target) ^ kBit);
  if (drill_ == Drill::operand) {  // as a flip in a cache would: the products that follow are wrong
    const auto row_tile = row_tiles_ / 2;
    for (std::int64_t j = 0; j < column_tiles_; ++j) multiply_tile(row_tile, j);
  }
  if (drill_ != Drill::result_always) drill_ = Drill::none;
}

Product::Sums Product::sums() const {
  Sums found{std::vector<std::uint64_t>(static_cast<std::size_t>(rows())),
             std::vector<std::uint64_t>(static_cast<std::size_t>(columns()))};
  for (std::int64_t j = 0; j < column_tiles_; ++j) {
    for (std::int64_t i = 0; i < row_tiles_; ++i)
      kernel_->sums(tile(i, j), found.rows.data() + i * kernel_->rows, found.columns.data() + j * kernel_->columns);
  }
  return found;
}

Defects Product::check() {
  Defects defects;
  const Sums found = sums();
  const Sums& expected = expected_[which_];
  if (found == expected) return defects;
  check_operands(defects);
  const auto differs = [](const std::vector<std::uint64_t>& one, const std::vector<std::uint64_t>& other, auto begin,
                          int count) {
    return !std::equal(one.begin() + begin, one.begin() + begin + count, other.begin() + begin);
  };
  for (std::int64_t j = 0; j < column_tiles_; ++j) {
    const bool column = differs(found.columns, expected.columns, j * kernel_->columns, kernel_->columns);
    for (std::int64_t i = 0; i < row_tiles_; ++i) {
      if (column && differs(found.rows, expected.rows, i * kernel_->rows, kernel_->rows)) check_tile(i, j, defects);
    }
  }
  if (defects.count == 0) ++defects.count;  // sums differ and every entry is right: the sums themselves went wrong
  return defects;
}

/// Operands that changed since they were written are put right again; a changed one makes whole rows of C wrong.
void Product::check_operands(Defects& defects) {
  const auto scan = [&](Wrong::Where where, double* matrix, std::uint64_t number, std::int64_t size, int width) {
    for (std::int64_t i = 0; i < size; ++i) {
      const auto expected = std::bit_cast<std::uint64_t>(operand(seed_, number, i));
      const auto seen = std::bit_cast<std::uint64_t>(matrix[i]);
      if (seen == expected) continue;
      const std::int64_t panel = i / (width * kDepth), k = i / width % kDepth, across = panel * width + i % width;
      const bool in_a = where == Wrong::Where::left;
      auto* volatile word = matrix + i;
      *word = std::bit_cast<double>(expected);
      const bool hard = std::bit_cast<std::uint64_t>(*word) != expected;
      defects.add(
          {where, in_a ? across : k, in_a ? k : across, in_a ? panel : 0, in_a ? 0 : panel, expected, seen, hard});
    }
  };
  scan(Wrong::Where::left, a_, 0, rows() * kDepth, kernel_->rows);
  scan(Wrong::Where::right, b_[which_], 1 + static_cast<std::uint64_t>(which_), columns() * kDepth, kernel_->columns);
}

/// Compare a tile with what must be there; where it is wrong, compute it once more on this core.
void Product::check_tile(std::int64_t row_tile, std::int64_t column_tile, Defects& defects) {
  const int rows = kernel_->rows, columns = kernel_->columns;
  double* const c = tile(row_tile, column_tile);
  const std::vector<double> before(c, c + static_cast<std::ptrdiff_t>(rows) * columns);
  multiply_tile(row_tile, column_tile);
  if (drill_ == Drill::result_always && row_tile == row_tiles_ / 2 && column_tile == column_tiles_ / 2)
    c[5] = before[5];  // the drill of a core that is always wrong
  for (int at = 0; at < rows * columns; ++at) {
    const std::int64_t row = row_tile * rows + at % rows, column = column_tile * columns + at / rows;
    const std::uint64_t expected = entry_bits(which_, row, column);
    const auto found = std::bit_cast<std::uint64_t>(before[static_cast<std::size_t>(at)]);
    if (found == expected) continue;
    const bool hard = std::bit_cast<std::uint64_t>(c[at]) != expected;
    // An operand that changed explains its rows: it is one fault, not hundreds.
    if (!defects.located.empty() && defects.located.front().where != Wrong::Where::result && !hard) continue;
    defects.add({Wrong::Where::result, row, column, row_tile, column_tile, expected, found, hard});
  }
}

}  // namespace shakedown::burnin
