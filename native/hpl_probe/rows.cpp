// Rows that pivots move, and the triangular solve that follows: chunk by chunk of columns, as HPL does them.
#include <cstring>
#include <numeric>

#include "hpl/solve.hpp"
#include "hpl_probe.hpp"
#include "panels.hpp"
#include "verify.hpp"

namespace shakedown::hpl_probe {
namespace {

constexpr double kSampleS = 0.01;
constexpr int kPanelHeights = 4;  // of NB: the panel whose triangle is solved with

/// work(first column, columns) for each chunk of a thread; the chunks are dealt in turn.
template <class Work>
void each_chunk(const Field& field, int thread, Work&& work) {
  const Index step = hpl::kSolveColumns * field.extent.threads;
  for (Index at = thread * hpl::kSolveColumns; at < field.extent.columns; at += step) {
    work(at, std::min(hpl::kSolveColumns, field.extent.columns - at));
  }
}

double largest(const std::vector<double>& values) { return *std::max_element(values.begin(), values.end()); }

/// What pivots of panels of NB columns do to the rows of the matrix, panel after panel.
class Interchanges {
 public:
  Interchanges(const Bench& bench, Index nb)
      : field_(bench.field), nb_(nb), state_(bench.options.sweep.seed), ids_(static_cast<std::size_t>(height())) {
    std::iota(ids_.begin(), ids_.end(), Index{0});
  }

  /// The next panel: its first row and random pivots below, as those of a random matrix are.
  void next() {
    const Index blocks = std::max<Index>(1, height() / nb_ - 1);
    first_ = panel_++ % blocks * nb_;
    std::vector<Index> pivots;
    for (Index i = 0; i < nb_; ++i) pivots.push_back(first_ + i + random(height() - first_ - i));
    shares_ = hpl::share_rows(hpl::plan_rows(first_, pivots), hpl::Cyclic{nb_, 1}, 0);
    for (Index i = 0; i < nb_; ++i) {
      std::swap(ids_[static_cast<std::size_t>(first_ + i)],
                ids_[static_cast<std::size_t>(pivots[static_cast<std::size_t>(i)])]);
    }
  }

  /// One chunk: gather the chosen rows, move the displaced ones; the seconds of that. Then the gathered rows are put on
  /// top, where HPL has their solution, so that the matrix stays a permutation of what it was.
  double move(Index at, Index columns, double* g) const {
    const auto bytes = static_cast<std::size_t>(columns) * sizeof(double);
    const double begin = now_s();
    for (std::size_t seen = 0; seen < shares_.mine.size(); ++seen) {
      std::memcpy(g + shares_.order[seen] * columns, field_.row(shares_.mine[seen]) + at, bytes);
    }
    for (const auto& [row, to] : shares_.kept) std::memcpy(field_.row(to) + at, field_.row(row) + at, bytes);
    const double passed = now_s() - begin;
    for (Index i = 0; i < nb_; ++i) std::memcpy(field_.row(first_ + i) + at, g + i * columns, bytes);
    return passed;
  }
  /// Rows that were displaced by the last panel.
  [[nodiscard]] std::size_t displaced() const { return shares_.kept.size(); }

  /// Entries that are not where the pivots put them.
  [[nodiscard]] double check(Team& team) const {
    std::vector<double> wrong(static_cast<std::size_t>(team.size()));
    team.run([&](int thread) {
      std::vector<double> expected(static_cast<std::size_t>(field_.extent.columns));
      for (Index i = thread; i < height(); i += team.size()) {
        field_.original(ids_[static_cast<std::size_t>(i)], field_.extent.columns, expected.data());
        for (std::size_t j = 0; j < expected.size(); ++j) {
          if (field_.row(i)[j] != expected[j]) wrong[static_cast<std::size_t>(thread)] += 1;
        }
      }
    });
    return std::accumulate(wrong.begin(), wrong.end(), 0.0);
  }

 private:
  [[nodiscard]] Index height() const { return field_.extent.height(); }
  Index random(Index below) {
    state_ = hpl::kStep(state_);
    return static_cast<Index>((state_ >> 33) % static_cast<std::uint64_t>(below));
  }

  const Field& field_;
  Index nb_, first_ = 0, panel_ = 0;
  std::uint64_t state_;
  std::vector<Index> ids_;  // which row of the original matrix lies where
  hpl::RowShares shares_;
};

void restore_all(const Bench& bench) {
  bench.team.run([&](int thread) {
    const Field& field = bench.field;
    if (thread == 0) field.restore(0, field.extent.top);
    field.restore(field.part(thread), field.part(thread) + field.extent.rows);
  });
}

hpl::Solve solve_named(const std::string& word) {
  for (const auto solve : {hpl::Solve::recursive, hpl::Solve::inverse}) {
    if (word == hpl::name_of(solve)) return solve;
  }
  return hpl::Solve::blas;
}

}  // namespace

Series measure_rows(const Bench& bench, const Task& task) {
  restore_all(bench);
  Interchanges interchanges(bench, task.k);
  std::vector<double> passed(static_cast<std::size_t>(bench.team.size()));
  auto series = take_samples(bench, kSampleS, [&](std::int64_t repeats) {
    double seconds = 0;
    for (std::int64_t r = 0; r < repeats; ++r) {
      interchanges.next();
      bench.team.run([&](int thread) {
        const auto me = static_cast<std::size_t>(thread);
        passed[me] = 0;
        each_chunk(bench.field, thread, [&](Index at, Index columns) {
          passed[me] += interchanges.move(at, columns, bench.field.right_sides[me].data());
        });
      });
      seconds += largest(passed);
    }
    return seconds;
  });
  if (bench.damaged(Kind::rows)) std::swap(bench.field.row(0)[0], bench.field.row(1)[0]);
  if (bench.options.verify) series.error = interchanges.check(bench.team);
  return series;
}

Series measure_solve(const Bench& bench, const Task& task) {
  restore_all(bench);
  const Field& field = bench.field;
  const Index nb = task.k, columns_all = field.extent.columns, to = field.extent.top;
  PanelBench(bench, kPanelHeights * nb, nb, "left", 8).run(0, 1);
  const double* l1 = field.panel.l1();
  const hpl::Solve solve = solve_named(task.trsm);
  const auto inverse = hpl::invert(bench.loops, solve, l1, nb);
  std::vector<double> passed(static_cast<std::size_t>(bench.team.size()));
  const auto chunk = [&](Index at, Index columns, double* g) {
    for (Index i = 0; i < nb; ++i) {
      std::copy_n(field.row(i) + at, columns, g + i * columns);
      // In HPL the rows on top were just read: they were displaced.
      for (Index j = 0; j < columns; j += 8) __builtin_prefetch(field.row(to + i) + at + j, 1);
    }
    const double begin = now_s();
    for (Index some = 0; some < columns; some += hpl::kSolveAtOnce) {
      hpl::solve_rows(bench.blas, solve, l1, inverse, nb, std::min(hpl::kSolveAtOnce, columns - some), g + some,
                      columns, field.row(to) + at + some, field.lda);
    }
    return now_s() - begin;
  };
  auto series = take_samples(bench, kSampleS, [&](std::int64_t repeats) {
    double seconds = 0;
    for (std::int64_t r = 0; r < repeats; ++r) {
      bench.team.run([&](int thread) {
        const auto me = static_cast<std::size_t>(thread);
        passed[me] = 0;
        each_chunk(field, thread, [&](Index at, Index columns) {
          passed[me] += chunk(at, columns, bench.field.right_sides[me].data());
        });
      });
      seconds += largest(passed);
    }
    return seconds;
  });
  if (bench.damaged(Kind::solve)) field.row(to + nb / 2)[columns_all / 2] *= 1 + 1e-3;
  if (!bench.options.verify) return series;
  const auto x = random_vector(columns_all, bench.options.sweep.seed);
  std::vector<Sum> gx, ux;
  for (Index i = 0; i < nb; ++i) {
    gx.push_back(product(field.row(i), 1, columns_all, x));
    ux.push_back(product(field.row(to + i), 1, columns_all, x));
  }
  series.error = solve_error(l1, nb, gx, ux, static_cast<double>(columns_all + 8 * nb));
  return series;
}

}  // namespace shakedown::hpl_probe
