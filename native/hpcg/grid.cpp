#include "grid.hpp"

#include <limits>

namespace shakedown::hpcg {
namespace {

/// 0, 1, 2 for what lies before, within and behind.
int third(std::int64_t i, std::int64_t n) { return i < 0 ? 0 : i < n ? 1 : 2; }
int side_of(int x, int y, int z) { return x + 3 * (y + 3 * z); }

}  // namespace

Triple divided(int size, const Triple& n) {
  Triple best{size, 1, 1};
  double least = std::numeric_limits<double>::infinity();
  for (std::int64_t z = 1; z <= size; ++z) {
    for (std::int64_t y = 1; z * y <= size; ++y) {
      if (size % (z * y) != 0) continue;
      const std::int64_t x = size / (z * y);
      const auto a = static_cast<double>(x * n.x), b = static_cast<double>(y * n.y), c = static_cast<double>(z * n.z);
      const double surface = a * b + b * c + a * c;
      if (surface < least) least = surface, best = {x, y, z};
    }
  }
  return best;
}

Grid grid_of(MPI_Comm comm, const Triple& n) {
  Grid g;
  int size = 1;
  g.comm = comm;
  MPI_Comm_rank(comm, &g.rank);
  MPI_Comm_size(comm, &size);
  g.n = n;
  g.ranks = divided(size, n);
  g.at = {g.rank % g.ranks.x, g.rank / g.ranks.x % g.ranks.y, g.rank / (g.ranks.x * g.ranks.y)};
  return g;
}

Halo::Halo(const Grid& grid) : grid_(grid), first_(round_up(grid.rows(), kRows)) {
  const std::array<std::int64_t, 3> n{grid.n.x, grid.n.y, grid.n.z}, at{grid.at.x, grid.at.y, grid.at.z},
      ranks{grid.ranks.x, grid.ranks.y, grid.ranks.z};
  for (int number = 0; number < 27; ++number) {
    const std::array<int, 3> step{number % 3 - 1, number / 3 % 3 - 1, number / 9 - 1};
    auto& side = sides_[static_cast<std::size_t>(number)];
    side.begin = size_;
    std::array<std::int64_t, 3> there{};
    bool exists = number != side_of(1, 1, 1);
    std::int64_t count = 1;
    for (std::size_t d = 0; d < 3; ++d) {
      there[d] = at[d] + step[d];
      exists = exists && there[d] >= 0 && there[d] < ranks[d];
      side.count[d] = step[d] == 0 ? n[d] : 1;
      side.low[d] = step[d] > 0 ? n[d] - 1 : 0;
      count *= side.count[d];
    }
    if (!exists) continue;
    side.peer = static_cast<int>(there[0] + ranks[0] * (there[1] + ranks[1] * there[2]));
    side.size = count;
    side.out.resize(static_cast<std::size_t>(count));
    size_ += count;
  }
}

std::int64_t Halo::column(std::int64_t i, std::int64_t j, std::int64_t k) const {
  const auto& side =
      sides_[static_cast<std::size_t>(side_of(third(i, grid_.n.x), third(j, grid_.n.y), third(k, grid_.n.z)))];
  if (side.peer < 0) return -1;
  const auto within = [](std::int64_t at, std::int64_t n) { return at < 0 || at >= n ? 0 : at; };
  return first_ + side.begin + within(i, grid_.n.x) +
         side.count[0] * (within(j, grid_.n.y) + side.count[1] * within(k, grid_.n.z));
}

void Halo::exchange(double* x) {
  if (size_ == 0) return;
  std::array<MPI_Request, 54> requests;
  int count = 0;
  for (int number = 0; number < 27; ++number) {
    auto& side = sides_[static_cast<std::size_t>(number)];
    if (side.peer < 0) continue;
    // The peer calls this side by the opposite number.
    MPI_Irecv(x + first_ + side.begin, static_cast<int>(side.size), MPI_DOUBLE, side.peer, 26 - number, grid_.comm,
              &requests[static_cast<std::size_t>(count++)]);
  }
  for (int number = 0; number < 27; ++number) {
    auto& side = sides_[static_cast<std::size_t>(number)];
    if (side.peer < 0) continue;
    double* out = side.out.data();
    for (std::int64_t k = side.low[2]; k < side.low[2] + side.count[2]; ++k) {
      for (std::int64_t j = side.low[1]; j < side.low[1] + side.count[1]; ++j) {
        const double* const from = x + grid_.row(side.low[0], j, k);
        for (std::int64_t i = 0; i < side.count[0]; ++i) *out++ = from[i];
      }
    }
    MPI_Isend(side.out.data(), static_cast<int>(side.size), MPI_DOUBLE, side.peer, number, grid_.comm,
              &requests[static_cast<std::size_t>(count++)]);
  }
  MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE);
}

}  // namespace shakedown::hpcg
