#include "system.hpp"

#include <cmath>

namespace shakedown::hpl {
namespace {

/// Threads take the rows in turns of so many: what one first touches stays spread as the matrix shrinks.
constexpr Index kRowsInTurn = 64;

/// function(first local column, global column, count) for each block of columns below `end`.
template <class Function>
void each_block(const Cyclic& map, int me, Index end, Function&& function) {
  const Index count = map.count(end, me);
  for (Index local = 0; local < count; local += map.block) {
    function(local, map.global(local, me), std::min(map.block, count - local));
  }
}

/// A row's entries in the local columns, block by block; the generator steps over the columns of other ranks.
template <class Function>
void each_generated(const RowGenerator& generator, const Cyclic& map, int me, Index end, Index row,
                    Function&& function) {
  const Steps hop = generator.right(map.block * map.parts);
  std::uint64_t state = generator.state(row, map.global(0, me));
  each_block(map, me, end, [&](Index local, Index, Index count) {
    function(local, count, state);
    state = hop(state);
  });
}

std::size_t window_bytes(const Config& config, Index height) {
  return static_cast<std::size_t>(std::min(config.n, window_columns(config)) * padded(height)) * sizeof(double);
}

/// What the right side has at most: when the rest is divided anew, its part is rounded up by other columns.
Index right_columns(Index left, Index width) { return std::min(width, width - left + 8); }

}  // namespace

Index split_column(const Config& config, Index width) {
  if (config.p == 1) return width;  // no rows to exchange: one product is faster than two
  const auto second = static_cast<Index>(config.split * static_cast<double>(width));
  return std::clamp<Index>((width - second) / 8 * 8, 0, width);
}

std::uint64_t System::bytes(const Config& config) {
  constexpr Index kCounted = Index{1} << 27;  // from 128 PiB on the matrix alone is told: what follows fits 64 bits
  if (config.n > kCounted) {
    const auto n = static_cast<double>(config.n);
    return static_cast<std::uint64_t>(std::min(1.8e19, n * n * sizeof(double) / config.p / config.q));
  }
  const Index height = Cyclic{config.nb, config.p}.count(config.n, 0);
  const Index width = Cyclic{config.nb, config.q}.count(config.n + 1, 0);
  auto total = static_cast<std::uint64_t>(height * padded(width)) * sizeof(double);
  const auto slots = static_cast<std::uint64_t>(panel_slots(config));
  const Index nb = std::min(config.nb, config.n);
  if (config.q == 1) {
    total += slots * Panel::bytes_in_place(nb) + window_bytes(config, height);
  } else {
    total += slots * Panel::bytes(nb, height);
  }
  if (config.p > 1) {
    const Index left = split_column(config, width);
    for (const Index columns : {left, right_columns(left, width), config.nb})
      total += RowExchange::bytes(config.nb, columns);
  }
  return total;
}

std::uint64_t run_bytes(const Config& config, int threads) {
  constexpr Index kMostDepth = 1024;  // a BLAS cuts longer products
  const Index height = Cyclic{config.nb, config.p}.count(config.n, 0);
  const Index rows = std::min(height, most_rows_at_once(height));
  const Index packed = rows * std::min({config.nb, config.n, kMostDepth}) * static_cast<Index>(sizeof(double));
  return System::bytes(config) + static_cast<std::uint64_t>(threads) * static_cast<std::uint64_t>(packed);
}

System::System(const Config& config, const Grid& grid, Pages pages)
    : n(config.n),
      nb(config.nb),
      row_map{config.nb, config.p},
      column_map{config.nb, config.q},
      my_row(grid.row),
      my_column(grid.column),
      height(row_map.count(n, my_row)),
      width(column_map.count(n + 1, my_column)),
      lda(padded(width)),
      memory_(static_cast<std::size_t>(std::max<Index>(1, height) * lda) * sizeof(double), pages),
      a_(static_cast<double*>(memory_.data())) {
  memory_.trim();
  if (config.q == 1) {
    window_ = Buffer(window_bytes(config, height), pages);
    window_.trim();
  }
  for (int slot = 0; slot < panel_slots(config); ++slot) {
    if (config.q == 1) {
      panels.emplace_back(std::min(nb, n), static_cast<double*>(window_.data()), pages);
    } else {
      panels.emplace_back(std::min(nb, n), height, pages);
    }
  }
  if (config.p > 1) {
    const Index left = split_column(config, width);
    int slot = 0;
    for (const Index columns : {left, right_columns(left, width), nb})
      exchanges.emplace_back(nb, columns, slot++, pages);
  }
}

void System::generate(Team& team) {
  const RowGenerator generator(n);
  team.run([&](int thread) {
    const Index step = kRowsInTurn * team.size();
    for (Index begin = thread * kRowsInTurn; begin < height; begin += step) {
      for (Index i = begin; i < std::min(height, begin + kRowsInTurn); ++i) {
        each_generated(
            generator, column_map, my_column, n + 1, row_map.global(i, my_row),
            [&](Index local, Index count, std::uint64_t state) { generator.fill(state, count, row(i) + local); });
      }
    }
  });
}

Check System::check(Team& team, const Grid& grid, const Kernels& loops, const std::vector<double>& x) const {
  const RowGenerator generator(n);
  std::vector<double> x_local(static_cast<std::size_t>(std::max<Index>(1, width)));
  each_block(column_map, my_column, n, [&](Index local, Index column, Index count) {
    std::copy_n(x.begin() + column, count, x_local.begin() + local);
  });
  // Each row's A x, and sum of |a|; both are then added over the process row.
  std::vector<double> sums(2 * static_cast<std::size_t>(std::max<Index>(1, height)));
  team.run([&](int thread) {
    std::vector<double> entries(static_cast<std::size_t>(nb));
    for (Index i = thread; i < height; i += team.size()) {
      double sum = 0, absolute = 0;
      each_generated(generator, column_map, my_column, n, row_map.global(i, my_row),
                     [&](Index local, Index count, std::uint64_t state) {
                       generator.fill(state, count, entries.data());
                       sum += loops.dot(count, entries.data(), x_local.data() + local, &absolute);
                     });
      sums[2 * static_cast<std::size_t>(i)] = sum;
      sums[2 * static_cast<std::size_t>(i) + 1] = absolute;
    }
  });
  return finish_check(n, row_map, grid, sums, x, [&] { return largest_column(team, grid); });
}

double System::largest_column(Team& team, const Grid& grid) const {
  const RowGenerator generator(n);
  std::vector<std::vector<double>> sums(static_cast<std::size_t>(team.size()));
  team.run([&](int thread) {
    std::vector<double> entries(static_cast<std::size_t>(nb));
    auto& mine = sums[static_cast<std::size_t>(thread)];
    mine.resize(static_cast<std::size_t>(width));
    for (Index i = thread; i < height; i += team.size()) {
      each_generated(generator, column_map, my_column, n, row_map.global(i, my_row),
                     [&](Index local, Index count, std::uint64_t state) {
                       generator.fill(state, count, entries.data());
                       for (Index l = 0; l < count; ++l) {
                         mine[static_cast<std::size_t>(local + l)] += std::fabs(entries[static_cast<std::size_t>(l)]);
                       }
                     });
    }
  });
  auto& total = sums.front();
  for (std::size_t thread = 1; thread < sums.size(); ++thread) {
    for (std::size_t j = 0; j < total.size(); ++j) total[j] += sums[thread][j];
  }
  return largest_column_of(total, grid);
}

}  // namespace shakedown::hpl
