// The broadcasts: every rank of a row is reached once; and panels and rows really on their way between ranks that are
// threads, one after another from changing roots, in pieces of any size.
#include <set>

#include "broadcast.hpp"
#include "exchange.hpp"
#include "gang.hpp"
#include "hpl/testing/reference.hpp"
#include "testing/check.hpp"
#include "testing/sanitized.hpp"

namespace {

using namespace shakedown;
using namespace shakedown::hpl;

constexpr Broadcast kAll[] = {Broadcast::ring,      Broadcast::ring_modified,
                              Broadcast::two_rings, Broadcast::two_rings_modified,
                              Broadcast::spread,    Broadcast::spread_modified};

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

void routes(Checks& checks) {
  for (const auto broadcast : kAll) {
    for (int size = 1; size <= 17; ++size) {
      const std::string where = std::string(name_of(broadcast)) + " among " + std::to_string(size);
      std::vector<int> reached(at(size));
      std::vector<Route> all;
      all.reserve(at(size));
      for (int d = 0; d < size; ++d) all.push_back(route_of(broadcast, d, size));
      checks.equal(all[0].parent, -1, where + ": the root has no parent");
      for (int d = 0; d < size; ++d) {
        for (const int child : all[at(d)].children) {
          checks.that(child > d && child < size, where + ": onward, so there is no circle");
          checks.equal(all[at(child)].parent, d, where + ": a child knows its parent");
          ++reached[at(child)];
        }
        if (d > 0 && all[at(d)].pool.empty()) checks.equal(reached[at(d)], 1, where + ": reached once");
        if (d > 0 && !all[at(d)].pool.empty()) checks.equal(reached[at(d)], 0, where + ": by the pool alone");
      }
      std::set<int> pool(all[0].pool.begin(), all[0].pool.end());
      checks.equal(pool.size(), all[0].pool.size(), where + ": a pool of different ranks");
      for (int d = 0; d < size; ++d) {
        const bool in = pool.count(d) > 0;
        checks.that(all[at(d)].pool == (in ? all[0].pool : std::vector<int>()), where + ": who is in it knows all");
        checks.that(d == 0 || in == (reached[at(d)] == 0), where + ": the pool or a chain");
      }
      checks.that(pool.empty() || *pool.begin() == 0, where + ": the root begins");
    }
  }
  checks.equal(route_of(Broadcast::ring_modified, 1, 5).children.size(), 0U, "who factors next passes nothing on");
  checks.equal(route_of(Broadcast::ring_modified, 0, 5).children.front(), 1, "and is served first");
  checks.equal(route_of(Broadcast::ring, 0, 5).children.size(), 1U, "one ring");
  checks.equal(route_of(Broadcast::two_rings, 0, 5).children.size(), 2U, "two rings");
}

/// Panels from root after root. A rank takes the next one only once the last is there, as the factorization does, and
/// overwrites its memory as soon as that is said to be free.
void panels_arrive(Checks& checks, Broadcast broadcast, int size, Index doubles, Index segment, std::size_t eager) {
  constexpr int kSlots = 3, kPanels = 9;
  std::vector<int> wrong(at(size));
  ranks_in_threads::start(
      size,
      [&](int rank) {
        Grid grid;
        grid.q = size;
        grid.column = rank;
        MPI_Comm_dup(MPI_COMM_WORLD, &grid.in_row);
        std::vector<PanelBroadcast> broadcasts(kSlots);
        std::vector<std::vector<double>> memory(kSlots, std::vector<double>(at(doubles)));
        const auto value = [](int k, Index i) { return 1000.0 * k + static_cast<double>(i); };
        Patience patience;
        const auto poll = [&] {
          for (auto& one : broadcasts) one.poll();
          patience.wait();
        };
        for (int k = 0; k < kPanels; ++k) {
          auto& one = broadcasts[at(k % kSlots)];
          auto& mine = memory[at(k % kSlots)];
          while (!one.settled()) poll();
          for (Index i = 0; i < doubles; ++i) mine[at(i)] = k % size == rank ? value(k, i) : -1;
          one.start(broadcast, k % size, grid, mine.data(), doubles, segment);
          while (!one.received()) poll();
          for (Index i = 0; i < doubles; ++i) wrong[at(rank)] += mine[at(i)] == value(k, i) ? 0 : 1;
        }
        for (auto& one : broadcasts) {
          while (!one.settled()) poll();
        }
        MPI_Comm_free(&grid.in_row);
      },
      eager);
  for (const int count : wrong) {
    checks.equal(count, 0,
                 std::string(name_of(broadcast)) + " among " + std::to_string(size) + ", " + std::to_string(doubles) +
                     " doubles by " + std::to_string(segment));
  }
}

/// A range of columns whose rows are exchanged again and again, as the factorization does with a side.
class SideOfRows {
 public:
  static constexpr Index kWidth = 5;

  SideOfRows(const Grid& grid, int slot, bool binary, Index begin, Index end)
      : grid_(grid),
        block_(std::max(6, 2 * grid.p)),
        map_{block_, grid.p},
        n_(block_ * grid.p * 2 - 3),
        binary_(binary),
        begin_(begin),
        end_(end),
        dice_(static_cast<std::uint32_t>(11 + slot)),
        exchange_(block_, end - begin, slot, Pages::base) {
    const Index height = map_.count(n_, grid.row);
    matrix_.resize(at(std::max<Index>(1, height * kWidth)));
    for (Index i = 0; i < height; ++i) {
      for (Index j = 0; j < kWidth; ++j) matrix_[at(i * kWidth + j)] = value(map_.global(i, grid.row), j);
    }
  }

  void begin() {
    const Index first = dice_.below(n_ / block_) * block_;
    std::vector<Index> pivots;
    for (Index i = 0; i < block_; ++i) pivots.push_back(dice_.between(first + i, n_ - 1));
    plan_ = plan_rows(first, pivots);
    shares_ = share_rows(plan_, map_, grid_.row);
    exchange_.begin(shares_, grid_, binary_, begin_, end_);
    for (Index j = begin_; j < end_; ++j) exchange_.pack(matrix_.data(), kWidth, j, j + 1);
    exchange_.start();
  }

  bool poll() { return exchange_.poll(); }

  /// Values that are not where the plan says.
  [[nodiscard]] int wrong() const {
    int count = 0;
    std::vector<Index> received;
    for (const auto& move : plan_.displaced) {
      if (map_.owner(move.to) == grid_.row && map_.owner(move.from) != grid_.row) received.push_back(move.from);
    }
    for (Index j = begin_; j < end_; ++j) {
      for (Index g = 0; g < block_; ++g) {
        count += *exchange_.gathered(g, j) == value(plan_.source[at(shares_.order[at(g)])], j) ? 0 : 1;
      }
      for (std::size_t r = 0; r < received.size(); ++r) {
        count += *exchange_.arrived(static_cast<Index>(r), j) == value(received[r], j) ? 0 : 1;
      }
    }
    return count;
  }

 private:
  static double value(Index row, Index column) { return static_cast<double>(row * kWidth + column); }

  const Grid& grid_;
  Index block_;  // so many rows that every rank has some to send
  Cyclic map_;
  Index n_;
  bool binary_;
  Index begin_, end_;
  testing::Dice dice_;
  RowExchange exchange_;
  std::vector<double> matrix_;
  RowPlan plan_;
  RowShares shares_;
};

/// Rows exchanged among `p` ranks in two slots, of which one goes ahead of the other.
void rows_arrive(Checks& checks, int p, bool binary, std::size_t eager) {
  constexpr int kRounds = 4;
  std::vector<int> wrong(at(p));
  ranks_in_threads::start(
      p,
      [&](int rank) {
        Grid grid;
        grid.p = p;
        grid.row = rank;
        MPI_Comm_dup(MPI_COMM_WORLD, &grid.in_column);
        {
          SideOfRows sides[2] = {{grid, 0, binary, 0, 2}, {grid, 1, binary, 2, SideOfRows::kWidth}};
          int left[2] = {kRounds, kRounds};
          for (auto& side : sides) side.begin();
          Patience patience;
          for (int turn = 0; left[0] + left[1] > 0; ++turn, patience.wait()) {
            const int s = turn % 4 == 0 ? 0 : 1;
            if (left[s] == 0 || !sides[s].poll()) continue;
            wrong[at(rank)] += sides[s].wrong();
            if (--left[s] > 0) sides[s].begin();
          }
        }
        MPI_Comm_free(&grid.in_column);
      },
      eager);
  for (const int count : wrong) {
    checks.equal(count, 0, std::string(binary ? "binary" : "long") + " exchange among " + std::to_string(p));
  }
}

}  // namespace

int main() {
  Checks checks;
  routes(checks);
  for (const auto broadcast : kAll) {
    for (const int size : {1, 2, 3, 4, 5, 8}) {
      for (const auto& [doubles, segment] : {std::pair<Index, Index>{1, 1}, {2, 100}, {97, 10}, {64, 8}}) {
        for (const std::size_t eager : {std::size_t{0}, std::size_t{1} << 20, std::size_t{100}}) {
          if (kSanitized && (eager == 100 || size == 4)) continue;
          panels_arrive(checks, broadcast, size, doubles, segment, eager);
        }
      }
    }
  }
  for (const bool binary : {true, false}) {
    for (const int p : {1, 2, 3, 4, 5, 6, 7, 8}) {
      for (const std::size_t eager : {std::size_t{0}, std::size_t{1} << 20}) rows_arrive(checks, p, binary, eager);
    }
    rows_arrive(checks, 70, binary, std::size_t{1} << 20);  // more than a tag's steps
  }
  return checks.end();
}
