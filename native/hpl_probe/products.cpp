// The update: C -= L U as HPL's threads do it, each on rows of its own.
#include <cmath>

#include "hpl_probe.hpp"
#include "verify.hpp"

namespace shakedown::hpl_probe {
namespace {

constexpr double kSampleS = 0.02;
constexpr double kNodeSampleS = 0.1;  // longer: it is the speed of hosts that is compared
constexpr int kAttempts = 4;          // to find how often a sample repeats its kernel
constexpr double kLongEnough = 1.5;   // a sample that lacks less is as good
constexpr Index kRowsBeside = 256;    // of the products beside other probes: they end soon when these do

void multiply(const Bench& bench, int thread, Index rows, Index columns, Index depth) {
  const Field& field = bench.field;
  bench.blas.gemm('N', 'T', columns, rows, depth, -1, field.row(field.extent.top - depth), field.lda,
                  field.left(thread), field.ldl, 1, field.row(field.part(thread)), field.lda);
}

/// The worst row of all threads.
double check(const Bench& bench, const Task& task, std::int64_t done) {
  const Field& field = bench.field;
  const auto x = random_vector(task.columns, bench.options.sweep.seed);
  std::vector<Sum> ux;
  for (Index l = 0; l < task.k; ++l)
    ux.push_back(product(field.row(field.extent.top - task.k + l), 1, task.columns, x));
  std::vector<double> errors(static_cast<std::size_t>(bench.team.size()));
  bench.team.run([&](int thread) {
    std::vector<double> before(static_cast<std::size_t>(task.columns));
    double worst = 0;
    for (Index i = 0; i < task.rows; ++i) {
      const Index row = field.part(thread) + i;
      field.original(row, task.columns, before.data());
      worst = worse(worst, product_error(field.row(row), before.data(), task.columns, x, field.left(thread) + i,
                                         field.ldl, ux, static_cast<double>(done)));
    }
    errors[static_cast<std::size_t>(thread)] = worst;
  });
  double worst = 0;
  for (const double one : errors) worst = worse(worst, one);
  return worst;
}

}  // namespace

Series measure_product(const Bench& bench, const Task& task) {
  const Field& field = bench.field;
  bench.team.run([&](int thread) { field.restore(field.part(thread), field.part(thread) + task.rows); });
  auto series = take_samples(bench, task.kind == Kind::node ? kNodeSampleS : kSampleS, [&](std::int64_t repeats) {
    const double begin = now_s();
    bench.team.run([&](int thread) {
      for (std::int64_t r = 0; r < repeats; ++r) multiply(bench, thread, task.rows, task.columns, task.k);
    });
    return now_s() - begin;
  });
  if (bench.damaged(task.kind)) field.row(field.part(0) + task.rows / 2)[task.columns / 2] += 1;
  if (bench.options.verify) series.error = check(bench, task, series.done);
  return series;
}

void run_beside_products(const Bench& bench, int members, const std::function<void(int thread)>& work) {
  const Field& field = bench.field;
  const Index rows = std::min(kRowsBeside, field.extent.rows);
  std::atomic<int> left{members};
  bench.team.run([&](int thread) {
    if (thread < members) {
      work(thread);
      left.fetch_sub(1, std::memory_order_release);
      return;
    }
    do {
      multiply(bench, thread, rows, field.extent.columns, middle_nb(bench.options.sweep));
    } while (left.load(std::memory_order_acquire) > 0);
  });
}

Series take_samples(const Bench& bench, double least_s, const std::function<double(std::int64_t repeats)>& once) {
  const MPI_Comm all = bench.world.all;
  Series series;
  const auto sample = [&](bool counts) {
    MPI_Barrier(all);
    const double mine = once(series.repeats);
    series.done += series.repeats;
    double seconds = mine;
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, all);
    if (counts) {
      series.seconds.push_back(seconds);
      series.mine.push_back(mine);
    }
    return seconds;
  };
  for (int attempt = 0; attempt < kAttempts; ++attempt) {  // a first call is slow, and says too few repeats
    const double times = least_s / std::max(sample(false), 1e-9);
    if (times < kLongEnough) break;
    series.repeats = std::llround(std::ceil(times * static_cast<double>(series.repeats)));
  }
  series.begin_ns = unix_ns();
  for (std::int64_t taken = 0; taken < bench.options.samples; ++taken) {
    if (taken > 0) {
      int over = bench.budget.case_over() ? 1 : 0;
      MPI_Bcast(&over, 1, MPI_INT, 0, all);
      if (over != 0) break;
    }
    sample(true);
  }
  series.end_ns = unix_ns();
  return series;
}

}  // namespace shakedown::hpl_probe
