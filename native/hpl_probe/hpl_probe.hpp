// The interface of hpl_probe on one screen: the pieces that HPL is made of, each timed alone by HPL's own code.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.hpp"
#include "common/emit.hpp"
#include "field.hpp"
#include "hpl/kernels.hpp"
#include "hpl/world.hpp"
#include "plan.hpp"

namespace shakedown::hpl_probe {

struct Options {
  Sweep sweep;
  int threads = 0;  // of a rank; 0: as its binding allows
  std::string cpus, library, isa;
  Pages pages = Pages::huge;
  std::int64_t samples = 7;
  double seconds_total = 0;  // for all cases; 0: any
  bool allow_oversubscribe = false, verify = true;
  std::optional<Kind> inject;  // damage its result before the check: tests see it fail
};

/// Read the command line. Throws a usage error; --help prints and leaves.
Options read_options(int argc, char** argv);

/// How long the cases may take together: each gets an even part of what is left.
class Budget {
 public:
  Budget(double seconds, std::size_t cases) : end_s_(seconds > 0 ? now_s() + seconds : 0), cases_(cases) {}
  /// The next case begins.
  void next() {
    const double left = end_s_ - now_s();
    case_end_s_ = end_s_ > 0 ? now_s() + left / static_cast<double>(std::max<std::size_t>(cases_, 1)) : 0;
    if (cases_ > 0) --cases_;
  }
  [[nodiscard]] bool case_over() const { return end_s_ > 0 && now_s() >= case_end_s_; }
  [[nodiscard]] bool over() const { return end_s_ > 0 && now_s() >= end_s_; }

 private:
  double end_s_, case_end_s_ = 0;
  std::size_t cases_;
};

/// What stays for all cases.
struct Bench {
  const Options& options;
  const hpl::World& world;
  const Place& place;
  const Blas& blas;
  const hpl::Kernels& loops;
  Team& team;
  Field& field;
  Budget& budget;
  [[nodiscard]] bool damaged(Kind kind) const { return options.inject == kind && world.rank == 0; }
};

/// One case, on every rank alike.
struct Series {
  std::vector<double> seconds;  // of each sample, the largest over the ranks
  std::vector<double> mine;     // the same samples, this rank's own
  std::int64_t repeats = 1;     // of the kernel in a sample
  std::int64_t done = 0;        // in all, the discarded ones included
  double error = 0;             // this rank's
  std::int64_t begin_ns = 0, end_ns = 0;
};

/// Take samples of `once`, which runs the kernel so many times and returns the seconds that count. Those before are
/// discarded, and say how many runs make a sample of `least_s`. Every rank calls it; all begin each sample together.
Series take_samples(const Bench& bench, double least_s, const std::function<double(std::int64_t repeats)>& once);

/// Run work(thread) on the first `members` threads, large products on all others until these are done.
void run_beside_products(const Bench& bench, int members, const std::function<void(int thread)>& work);

// One probe each; `error` is filled in where something is checked. Every rank calls them.
Series measure_product(const Bench& bench, const Task& task);  // gemm, narrow, node
Series measure_solve(const Bench& bench, const Task& task);
Series measure_rows(const Bench& bench, const Task& task);
Series measure_panel(const Bench& bench, const Task& task);
Series measure_messages(const Bench& bench, const Task& task, const Ring& ring);  // ring, latency

}  // namespace shakedown::hpl_probe
