#include "ceiling.hpp"

#include <algorithm>
#include <utility>

#include "common/clock.hpp"

namespace shakedown::hpl {

namespace {
constexpr int kSamples = 3;
constexpr int kWarm = 1;
// In one product: large enough. By rows its factors stay in the caches; by columns a BLAS packs all the rows of it at
// once, in memory that a large N needs for the matrix.
constexpr Index kRowsAtOnce[2] = {4096, 1024};
constexpr double kEnoughSeconds = 6;
}  // namespace

Ceiling measure_ceiling(const Grid& grid, const Blas& blas, Team& team, System& system, int first_thread) {
  Panel& panel = system.panels.front();
  const Index depth = std::min(system.nb, system.n);
  panel.shape(0, depth, system.height, 0);
  const RowGenerator generator(system.n);
  team.run([&](int thread) {  // any random left factor
    for (Index j = thread; j < depth; j += team.size()) {
      generator.fill(generator.state(0, j), system.height, panel.local() + j * panel.ld);
    }
  });
  const int workers = team.size() - first_thread;
  const Index rows = system.height - std::min(depth, system.height);
  Ceiling ceiling;
  ceiling.flop = 2.0 * static_cast<double>(rows * system.width * depth);
  if (rows == 0) ceiling.flop = 0;
  // Two ways to share the product: each thread some columns of all rows, or some rows of all columns. A BLAS has a
  // faster and a slower one; what counts is the faster.
  std::vector<double> seconds[2];
  std::vector<TimeSpan> spans[2];
  double total = 0;
  for (int sample = 0; sample < kWarm + kSamples && (sample <= kWarm || total < kEnoughSeconds); ++sample) {
    for (int way = 0; way < 2; ++way) {
      MPI_Barrier(grid.all);
      const std::int64_t begin_ns = unix_ns();
      const double begin = now_s();
      team.run([&](int thread) {
        const int worker = thread - first_thread;
        if (worker < 0 || rows == 0) return;
        const auto range = [&](Index all) {
          const auto edge = [&](int i) { return i == workers ? all : all * i / workers / 8 * 8; };
          return std::pair{edge(worker), edge(worker + 1)};
        };
        const auto [left, right] = way == 0 ? range(system.width) : std::pair<Index, Index>{0, system.width};
        const auto [top, bottom] = way == 1 ? range(rows) : std::pair<Index, Index>{0, rows};
        if (left >= right || top >= bottom) return;
        const Index step = kRowsAtOnce[way];
        for (Index at = top; at < bottom; at += step) {
          blas.gemm('N', 'T', right - left, std::min(step, bottom - at), depth, -1, system.row(0) + left, system.lda,
                    panel.local() + at, panel.ld, 1, system.row(depth + at) + left, system.lda);
        }
      });
      double passed = now_s() - begin;
      MPI_Allreduce(MPI_IN_PLACE, &passed, 1, MPI_DOUBLE, MPI_MAX, grid.all);
      if (sample < kWarm) continue;
      seconds[way].push_back(passed);
      spans[way].push_back({begin_ns, unix_ns()});
      total += passed;
    }
  }
  const auto least = [](const std::vector<double>& values) { return *std::min_element(values.begin(), values.end()); };
  const int faster = least(seconds[0]) <= least(seconds[1]) ? 0 : 1;
  ceiling.seconds = seconds[faster];
  ceiling.spans = spans[faster];
  return ceiling;
}

}  // namespace shakedown::hpl
