// Around the factorization: the matrix before it, the back substitution and the check after it.
#include <algorithm>

#include "blocks.hpp"
#include "factor.hpp"

namespace shakedown::hpl_gpu {
namespace {

constexpr std::size_t kDouble = sizeof(double);

/// Blocks of the distribution, whatever panels they were factored in.
struct Blocks {
  Index n, nb;
  [[nodiscard]] Index count() const { return (n + nb - 1) / nb; }
  [[nodiscard]] Index width(Index k) const { return std::min(nb, n - k * nb); }
};

/// Block by block from the last: the sums of a process row meet at the owner of the diagonal block, which solves; its
/// part of x goes down the process column, whose rows above then take it off their sums. On one rank all stays in the
/// stream.
class Back {
 public:
  Back(const Setup& setup, const Grid& grid, const Geometry& geometry, Store& store, const Calls& calls,
       const gpu::Stream& stream)
      : grid_(grid),
        part_(geometry.part),
        store_(store),
        calls_(calls),
        stream_(stream),
        move_{grid, calls.device(), stream, store.host_block()},
        blocks_{setup.base.n, setup.base.nb} {}

  std::vector<double> run() {
    auto& device = calls_.device();
    device.fill(store_.by_row(), 0, static_cast<std::size_t>(part_.height) * kDouble, stream_);
    device.fill(store_.by_column(), 0, static_cast<std::size_t>(part_.width) * kDouble, stream_);
    if (part_.columns.owner(part_.n) == grid_.column) {
      const Index b = part_.columns.local(part_.n);
      device.copy(store_.by_row(), store_.a(0, b), static_cast<std::size_t>(part_.height) * kDouble, stream_);
    }
    for (Index k = blocks_.count() - 1; k >= 0; --k) block(k);
    return gather();
  }

 private:
  void block(Index k) {
    const Index begin = k * blocks_.nb, width = blocks_.width(k);
    const bool row = part_.rows.owner(begin) == grid_.row, column = part_.columns.owner(begin) == grid_.column;
    if (row && grid_.q > 1)
      collect_block(move_, store_.by_row() + part_.rows.local(begin), width, part_.columns.owner(begin));
    if (!column) return;
    double* x = store_.by_column() + part_.columns.local(begin);
    if (row) {
      const Index first = part_.rows.local(begin);
      calls_.solve_upper(store_.a(first, part_.columns.local(begin)), store_.lda, width, store_.by_row() + first, x,
                         stream_);
    }
    if (grid_.p > 1) spread_block(move_, x, width, part_.rows.owner(begin));
    calls_.take_off(store_.a(0, part_.columns.local(begin)), store_.lda, part_.rows.count(begin, grid_.row), width, x,
                    store_.by_row(), stream_);
  }

  std::vector<double> gather() {
    std::vector<double> local(static_cast<std::size_t>(std::max<Index>(1, part_.width)));
    calls_.device().copy(local.data(), store_.by_column(), static_cast<std::size_t>(part_.width) * kDouble, stream_);
    stream_.wait();
    std::vector<double> x(static_cast<std::size_t>(blocks_.n));
    for (Index j = 0; j < part_.width; ++j) {
      const Index column = part_.columns.global(j, grid_.column);
      if (column < blocks_.n) x[static_cast<std::size_t>(column)] = local[static_cast<std::size_t>(j)];
    }
    if (grid_.q > 1)
      MPI_Allreduce(MPI_IN_PLACE, x.data(), static_cast<int>(blocks_.n), MPI_DOUBLE, MPI_SUM, grid_.in_row);
    return x;
  }

  const Grid& grid_;
  const Part& part_;
  Store& store_;
  const Calls& calls_;
  const gpu::Stream& stream_;
  BlockMove move_;
  Blocks blocks_;
};

}  // namespace

Geometry geometry_of(const Setup& setup, int row, int column) {
  Distribution dealt = distribution_of(setup);
  dealt.columns = setup.base.n + 1;  // b's too
  dealt.split = setup.base.split;
  return geometry_of(dealt, row, column);
}

std::vector<double> solve_back(const Setup& setup, const Grid& grid, const Geometry& geometry, Store& store,
                               const Calls& calls, const gpu::Stream& stream) {
  return Back(setup, grid, geometry, store, calls, stream).run();
}

void generate(const Geometry& geometry, Store& store, const Calls& calls, const gpu::Stream& stream) {
  calls.generate(geometry.part, store.a(0, 0), store.lda, stream);
  stream.wait();
}

hpl::Check check(const Grid& grid, const Geometry& geometry, Store& store, const Calls& calls,
                 const gpu::Stream& stream, const std::vector<double>& x) {
  const Part& part = geometry.part;
  auto& device = calls.device();
  std::vector<double> local(static_cast<std::size_t>(std::max<Index>(1, part.width)));
  for (Index j = 0; j < part.width; ++j) {
    const Index column = part.columns.global(j, part.column);
    if (column < part.n) local[static_cast<std::size_t>(j)] = x[static_cast<std::size_t>(column)];
  }
  device.copy(store.by_column(), local.data(), static_cast<std::size_t>(part.width) * kDouble, stream);
  calls.row_sums(part, store.by_column(), store.sums(), Store::kChunks, stream);
  const auto height = static_cast<std::size_t>(part.height);
  std::vector<double> chunks(2 * height * Store::kChunks), sums(2 * height);
  device.copy(chunks.data(), store.sums(), chunks.size() * kDouble, stream);
  stream.wait();
  for (std::size_t i = 0; i < chunks.size(); ++i) sums[i % (2 * height)] += chunks[i];
  return hpl::finish_check(part.n, part.rows, grid, sums, x, [&] {
    calls.column_sums(part, store.sums(), stream);
    std::vector<double> columns(static_cast<std::size_t>(part.width));
    device.copy(columns.data(), store.sums(), columns.size() * kDouble, stream);
    stream.wait();
    return hpl::largest_column_of(columns, grid);
  });
}

}  // namespace shakedown::hpl_gpu
