#include "ceiling.hpp"

#include <algorithm>
#include <utility>

#include "common/clock.hpp"

namespace shakedown::hpl {

namespace {
constexpr int kSamples = 3;
constexpr int kWarm = 1;
constexpr Index kRowsAtOnce = 1024;  // where threads share the rows: their factors stay in the caches
constexpr double kEnoughSeconds = 6;
}  // namespace

Ceiling measure_ceiling(const Grid& grid, const Blas& blas, Team& team, System& system, int first_thread) {
  Panel& panel = system.panels.front();
  const Index depth = std::min(system.nb, system.n);
  panel.shape(0, depth, system.height, 0);
  // The left factor lies where HPL has it: in the matrix' first columns, or in a panel, with any random numbers.
  const Index first_column = panel.in_place() ? depth : 0;
  const Index width = system.width - first_column;
  if (!panel.in_place()) {
    const RowGenerator generator(system.n);
    team.run([&](int thread) {
      for (Index j = thread; j < depth; j += team.size()) {
        generator.fill(generator.state(0, j), system.height, panel.local() + j * panel.ld);
      }
    });
  }
  const int workers = team.size() - first_thread;
  const Index rows = system.height - std::min(depth, system.height);
  Ceiling ceiling;
  ceiling.flop = 2.0 * static_cast<double>(rows * width * depth);
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
        const auto [left, right] = way == 0 ? range(width) : std::pair<Index, Index>{0, width};
        const auto [top, bottom] = way == 1 ? range(rows) : std::pair<Index, Index>{0, rows};
        if (left >= right || top >= bottom) return;
        const Index step = way == 0 ? most_rows_at_once(system.height) : kRowsAtOnce;
        for (Index at = top; at < bottom; at += step) {
          const Index columns = right - left, some = std::min(step, bottom - at), column = first_column + left;
          const double* u = system.row(0) + column;
          double* c = system.row(depth + at) + column;
          if (panel.in_place()) {
            blas.gemm('N', 'N', columns, some, depth, -1, u, system.lda, system.row(depth + at), system.lda, 1, c,
                      system.lda);
          } else {
            blas.gemm('N', 'T', columns, some, depth, -1, u, system.lda, panel.local() + at, panel.ld, 1, c,
                      system.lda);
          }
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
