#include "back.hpp"

namespace shakedown::hpl {

BackSubstitution::BackSubstitution(const Config& config, const Grid& grid, const Kernels& loops, const System& system,
                                   std::vector<double>& x)
    : config_(config),
      grid_(grid),
      loops_(loops),
      system_(system),
      x_(x),
      sums_(static_cast<std::size_t>(std::max<Index>(1, system.height))) {}

void BackSubstitution::run(Team& team, int thread) {
  if (system_.column_map.owner(config_.n) == grid_.column) {
    const Index b = system_.column_map.local(config_.n);
    for (Index i = thread; i < system_.height; i += team.size()) sums_[static_cast<std::size_t>(i)] = system_.row(i)[b];
  }
  for (Index k = (config_.n + config_.nb - 1) / config_.nb - 1; k >= 0; --k) {
    team.barrier();
    if (thread == 0) solve_block(k);
    team.barrier();
    if (k % config_.q == grid_.column) take_off(k, thread, team.size());
  }
  team.barrier();
  if (thread == 0 && config_.q > 1) {
    MPI_Allreduce(MPI_IN_PLACE, x_.data(), static_cast<int>(config_.n), MPI_DOUBLE, MPI_SUM, grid_.in_row);
  }
}

void BackSubstitution::solve_block(Index k) {
  const Index global = k * config_.nb;
  const auto columns = static_cast<int>(std::min(config_.nb, config_.n - global));
  const int row_owner = system_.row_map.owner(global);
  const int column_owner = system_.column_map.owner(global);
  double* x = x_.data() + global;
  if (grid_.row == row_owner) {
    const Index first = system_.row_map.local(global);
    double* sums = sums_.data() + first;
    if (config_.q > 1) {
      const bool root = grid_.column == column_owner;
      MPI_Reduce(root ? MPI_IN_PLACE : sums, root ? sums : nullptr, columns, MPI_DOUBLE, MPI_SUM, column_owner,
                 grid_.in_row);
    }
    if (grid_.column == column_owner) {
      const Index left = system_.column_map.local(global);
      double unused = 0;
      for (Index i = columns - 1; i >= 0; --i) {
        const double* u = system_.row(first + i) + left;
        x[i] = (sums[i] - loops_.dot(columns - 1 - i, u + i + 1, x + i + 1, &unused)) / u[i];
      }
    }
  }
  if (config_.p > 1 && grid_.column == column_owner) {
    MPI_Bcast(x, columns, MPI_DOUBLE, row_owner, grid_.in_column);
  }
}

void BackSubstitution::take_off(Index k, int thread, int threads) {
  const Index global = k * config_.nb;
  const Index columns = std::min(config_.nb, config_.n - global);
  const Index left = system_.column_map.local(global);
  const Index rows = system_.row_map.count(global, grid_.row);
  const auto edge = [&](int i) { return rows * i / threads; };
  const Index first = edge(thread);
  loops_.take_off(edge(thread + 1) - first, columns, system_.row(first) + left, system_.lda, x_.data() + global,
                  sums_.data() + first);
}

}  // namespace shakedown::hpl
