#include "refine.hpp"

#include <algorithm>
#include <cmath>

#include "hpl/matrix.hpp"

namespace shakedown::hpl_mxp {
namespace {

constexpr std::size_t kDouble = sizeof(double);
constexpr double kEps = 0x1p-53;
constexpr double kEnough = 0.5;  // a step that leaves more of the residual is the last

/// Of the local rows: A x and the sums of |a| over all columns, of the matrix with the dominant diagonal.
struct Rows {
  std::vector<double> product, absolute, diagonal;
};

/// Column `column` of [A b], or with -1 netlib's diagonal, along the local rows.
std::vector<double> netlib_entries(const Part& part, Index column) {
  std::vector<double> entries;
  for (Index i = 0; i < part.height; ++i) {
    const Index row = part.rows.global(i, part.row);
    entries.push_back(hpl::entry(part.n, row, column < 0 ? row : column));
  }
  return entries;
}

/// `x`: the local columns' entries; `own`: netlib's diagonal. The diagonal is the sum of |a| over the row's other
/// columns, so that the sum of all is twice that; what netlib's diagonal gave is taken back.
Rows rows_of(const Grid& grid, const Part& part, Store& store, const Calls& calls, const gpu::Stream& stream,
             const std::vector<double>& own, const std::vector<double>& x) {
  auto& device = calls.device();
  const auto width = static_cast<std::size_t>(part.width), height = static_cast<std::size_t>(part.height);
  std::copy(x.begin(), x.end(), store.host_columns());
  device.copy(store.by_column(), store.host_columns(), width * kDouble, stream);
  calls.row_sums(part, store.by_column(), store.chunks(), store.sums(), stream);
  device.copy(store.host_rows(), store.sums(), 2 * height * kDouble, stream);
  stream.wait();
  // Of the entries of x that belong to the diagonal each is on one rank of the process row.
  std::vector<double> sums(3 * height);
  for (std::size_t i = 0; i < height; ++i) {
    const Index row = part.rows.global(static_cast<Index>(i), part.row);
    sums[3 * i] = store.host_rows()[2 * i];
    sums[3 * i + 1] = store.host_rows()[2 * i + 1];
    if (part.columns.owner(row) == part.column) sums[3 * i + 2] = x[static_cast<std::size_t>(part.columns.local(row))];
  }
  if (grid.q > 1)
    MPI_Allreduce(MPI_IN_PLACE, sums.data(), static_cast<int>(sums.size()), MPI_DOUBLE, MPI_SUM, grid.in_row);
  Rows rows;
  for (std::size_t i = 0; i < height; ++i) {
    const double diagonal = sums[3 * i + 1] - std::fabs(own[i]);
    rows.product.push_back(sums[3 * i] + (diagonal - own[i]) * sums[3 * i + 2]);
    rows.absolute.push_back(2 * diagonal);
    rows.diagonal.push_back(diagonal);
  }
  return rows;
}

}  // namespace

void generate(const Grid& grid, const Geometry& geometry, Store& store, const Calls& calls, const gpu::Stream& stream) {
  const Part& part = geometry.part;
  calls.generate(part, store.a(0, 0), store.lda, stream);
  const std::vector<double> nothing(static_cast<std::size_t>(part.width));
  const auto rows = rows_of(grid, part, store, calls, stream, netlib_entries(part, -1), nothing);
  std::copy(rows.diagonal.begin(), rows.diagonal.end(), store.host_rows());
  calls.device().copy(store.by_row(0), store.host_rows(), rows.diagonal.size() * kDouble, stream);
  calls.diagonal(part, store.by_row(0), store.a(0, 0), store.lda, stream);
  stream.wait();
}

Refinement::Refinement(const Setup& setup, const Grid& grid, const Geometry& geometry, Store& store, const Calls& calls,
                       const gpu::Stream& stream, Index enlarged)
    : setup_(setup),
      grid_(grid),
      part_(geometry.part),
      store_(store),
      calls_(calls),
      stream_(stream),
      move_{grid, calls.device(), stream, store.host_block()},
      enlarged_(enlarged),
      b_(netlib_entries(part_, part_.n)),
      own_(netlib_entries(part_, -1)) {}

void Refinement::run(Result& result) {
  std::vector<double> x(static_cast<std::size_t>(part_.width)), r = b_;
  for (int step = 0; step <= setup_.refinements; ++step) {
    const auto more = correction(r);
    auto next = x;
    for (std::size_t j = 0; j < x.size(); ++j) next[j] += more[j];
    auto found = distance(next);
    const double before = step > 0 ? result.residuals.back() : HUGE_VAL;
    result.residuals.push_back(found.scaled);
    if (step == 0 || found.scaled < before) x = std::move(next);  // else what was better stays
    result.converged = found.scaled <= setup_.accuracy;
    if (result.converged || !(found.scaled <= kEnough * before)) break;
    r = std::move(found.r);
  }
  result.x = std::move(x);
}

Distance Refinement::distance(const std::vector<double>& x) {
  auto rows = rows_of(grid_, part_, store_, calls_, stream_, own_, x);
  if (enlarged_ >= 0 && part_.rows.owner(enlarged_) == part_.row) {  // the system that is solved is then another
    double there = 0;
    if (part_.columns.owner(enlarged_) == part_.column)
      there = x[static_cast<std::size_t>(part_.columns.local(enlarged_))];
    if (grid_.q > 1) MPI_Allreduce(MPI_IN_PLACE, &there, 1, MPI_DOUBLE, MPI_SUM, grid_.in_row);
    const auto i = static_cast<std::size_t>(part_.rows.local(enlarged_));
    rows.product[i] += kEnlarged * rows.diagonal[i] * there;
  }
  Distance found;
  double all[5] = {0, 0, 0, 0, 0};  // |r|, ||A||, |b|, |x|, and whether anything is not finite: MPI_MAX may drop NaN
  const auto largest = [&](int at, double value) {
    all[at] = std::max(all[at], std::fabs(value));
    if (!std::isfinite(value)) all[4] = 1;
  };
  for (std::size_t i = 0; i < b_.size(); ++i) {
    found.r.push_back(b_[i] - rows.product[i]);
    largest(0, found.r.back());
    largest(1, rows.absolute[i]);
    largest(2, b_[i]);
  }
  for (const double value : x) largest(3, value);
  MPI_Allreduce(MPI_IN_PLACE, all, 5, MPI_DOUBLE, MPI_MAX, grid_.all);
  found.scaled =
      all[4] != 0 ? std::nan("") : all[0] / (kEps * (all[1] * all[3] + all[2]) * static_cast<double>(part_.n));
  return found;
}

/// (L U)^-1 r, the local columns' entries. Right sides lie along the rows: the sum over a process row is what counts.
std::vector<double> Refinement::correction(const std::vector<double>& r) {
  auto& device = calls_.device();
  const auto rows = r.size() * kDouble;
  device.fill(store_.by_row(0), 0, rows, stream_);
  device.fill(store_.by_row(1), 0, rows, stream_);
  if (grid_.column == 0) {
    std::copy(r.begin(), r.end(), store_.host_rows());
    device.copy(store_.by_row(0), store_.host_rows(), rows, stream_);
  }
  triangle(true);
  triangle(false);
  const auto width = static_cast<std::size_t>(part_.width);
  device.copy(store_.host_columns(), store_.by_column(), width * kDouble, stream_);
  stream_.wait();
  return {store_.host_columns(), store_.host_columns() + width};
}

/// Block by block, from the first of L or the last of U: the sums of a process row meet at the owner of the diagonal
/// block, which solves; its part of the solution goes down the process column, whose other rows then take it off their
/// sums. What L gives is at once the right side for U. On one rank all stays in the stream.
void Refinement::triangle(bool lower) {
  const Index blocks = (part_.n + setup_.base.nb - 1) / setup_.base.nb;
  for (Index k = 0; k < blocks; ++k) block(lower ? k : blocks - 1 - k, lower);
}

void Refinement::block(Index k, bool lower) {
  const Index begin = k * setup_.base.nb, width = std::min(setup_.base.nb, part_.n - begin), end = begin + width;
  const int row_owner = part_.rows.owner(begin), column_owner = part_.columns.owner(begin);
  const bool row = row_owner == grid_.row, column = column_owner == grid_.column;
  double* sums = store_.by_row(lower ? 0 : 1);
  const Index first = part_.rows.count(begin, grid_.row), after = part_.rows.count(end, grid_.row);
  if (row && grid_.q > 1) hpl_gpu::collect_block(move_, sums + first, width, column_owner);
  if (!column) return;
  const Index at = part_.columns.local(begin);
  double* x = store_.by_column() + at;
  if (row) {
    const float* square = store_.a(first, at);
    if (lower) {
      calls_.solve_lower(square, store_.lda, width, sums + first, x, stream_);
      calls_.device().copy(store_.by_row(1) + first, x, static_cast<std::size_t>(width) * kDouble, stream_);
    } else {
      calls_.solve_upper(square, store_.lda, width, sums + first, x, stream_);
    }
  }
  if (grid_.p > 1) hpl_gpu::spread_block(move_, x, width, row_owner);
  const Index from = lower ? after : 0, to = lower ? part_.height : first;
  calls_.take_off(store_.a(from, at), store_.lda, to - from, width, x, sums + from, stream_);
}

hpl::Check check(const Grid& grid, const Geometry& geometry, Store& store, const Calls& calls,
                 const gpu::Stream& stream, const std::vector<double>& x) {
  const Part& part = geometry.part;
  const auto rows = rows_of(grid, part, store, calls, stream, netlib_entries(part, -1), x);
  // The norms and the formula are hpl's, which adds over the process row: the first rank brings what all have.
  std::vector<double> sums(2 * rows.product.size());
  for (std::size_t i = 0; grid.column == 0 && i < rows.product.size(); ++i) {
    sums[2 * i] = rows.product[i];
    sums[2 * i + 1] = rows.absolute[i];
  }
  // Of x it asks for its largest entry alone: the part of this process column's, and what is not finite.
  return hpl::finish_check(part.n, part.rows, grid, sums, x, [] { return 0.0; });
}

}  // namespace shakedown::hpl_mxp
