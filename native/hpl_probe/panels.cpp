// Panels, factored by a gang of threads as in HPL, on one process row.
#include "panels.hpp"

#include <numeric>

#include "hpl_probe.hpp"
#include "verify.hpp"

namespace shakedown::hpl_probe {
namespace {

constexpr double kSampleS = 0.01;

hpl::Config config_for(Index rows, Index nb, const std::string& pfact, Index nbmin) {
  hpl::Config config;
  config.n = rows;
  config.nb = nb;
  config.nbmin = nbmin;
  for (const auto looking : {hpl::Looking::left, hpl::Looking::crout, hpl::Looking::right}) {
    if (pfact == hpl::name_of(looking)) config.pfact = looking;
  }
  return config;
}

}  // namespace

PanelBench::PanelBench(const Bench& bench, Index rows, Index nb, const std::string& pfact, Index nbmin)
    : field_(bench.field),
      config_(config_for(rows, nb, pfact, nbmin)),
      generator_(rows),
      factorizer_(config_, grid_, bench.blas, bench.loops, [](auto&) {}) {
  field_.panel.shape(0, nb, rows, nb);
}

double PanelBench::run(int member, int members) {
  hpl::Panel& panel = field_.panel;
  const auto [begin, end] = hpl::Factorizer::slice(panel.rows, member, members);
  for (Index j = 0; j < panel.columns; ++j) {
    generator_.fill(generator_.state(j, begin), end - begin, panel.local() + begin + j * panel.ld);
  }
  factorizer_.meet(members);
  const double start = now_s();
  factorizer_.run(panel, member, members);
  return now_s() - start;
}

double PanelBench::check(std::uint64_t seed) const {
  const hpl::Panel& panel = field_.panel;
  const Index nb = panel.columns, rows = panel.rows;
  std::vector<Index> order(static_cast<std::size_t>(rows));
  std::iota(order.begin(), order.end(), Index{0});
  for (Index j = 0; j < nb; ++j) {
    const Index pivot = panel.pivots()[j];
    if (pivot < j || pivot >= rows) return std::numeric_limits<double>::infinity();
    std::swap(order[static_cast<std::size_t>(j)], order[static_cast<std::size_t>(pivot)]);
  }
  const auto x = random_vector(nb, seed);
  std::vector<Sum> ux;
  for (Index i = 0; i < nb; ++i) {
    Sum sum;
    for (Index j = i; j < nb; ++j) sum.add(panel.l1()[i + j * nb], x[static_cast<std::size_t>(j)]);
    ux.push_back(sum);
  }
  std::vector<Sum> ax(static_cast<std::size_t>(rows));  // A x, row by row, from the columns as they were made
  std::vector<double> column(static_cast<std::size_t>(rows));
  for (Index j = 0; j < nb; ++j) {
    generator_.fill(generator_.state(j, 0), rows, column.data());
    for (std::size_t i = 0; i < column.size(); ++i) ax[i].add(column[i], x[static_cast<std::size_t>(j)]);
  }
  return panel_error(panel.l1(), panel.local(), panel.ld, nb, 0, rows, ux,
                     [&](Index i) { return ax[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])]; });
}

Series measure_panel(const Bench& bench, const Task& task) {
  PanelBench panels(bench, task.rows, task.k, task.pfact, task.nbmin);
  auto series = take_samples(bench, kSampleS, [&](std::int64_t repeats) {
    double seconds = 0;
    const auto work = [&](int thread) {
      for (std::int64_t r = 0; r < repeats; ++r) {
        const double passed = panels.run(thread, task.threads);
        if (thread == 0) seconds += passed;
      }
    };
    if (task.busy) {
      run_beside_products(bench, task.threads, work);
    } else {
      bench.team.run([&](int thread) {
        if (thread < task.threads) work(thread);
      });
    }
    return seconds;
  });
  if (bench.damaged(Kind::panel)) bench.field.panel.local()[task.rows - 1] *= 0.999;
  if (bench.options.verify) series.error = panels.check(bench.options.sweep.seed);
  return series;
}

}  // namespace shakedown::hpl_probe
