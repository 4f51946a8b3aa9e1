// Series of samples taken on every thread of a team at once, or on its first alone.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "common/clock.hpp"
#include "common/team.hpp"
#include "probe.hpp"

namespace shakedown::probe {

/// The accumulators of one thread, reset to small whole numbers before each sample.
template <class T>
class State {
 public:
  State() : lanes_(std::size_t{kMostChains} * kMostBytes / sizeof(T)) {}
  [[nodiscard]] T* data() { return lanes_.data(); }
  void reset() {
    for (std::size_t i = 0; i < lanes_.size(); ++i) lanes_[i] = static_cast<T>(i);
  }
  /// The largest difference from what kernel's loops must leave: 0 or an error. NaN where one is NaN.
  [[nodiscard]] double defect(const Factors<T>& factors, int chains, int lanes) const {
    double worst = 0;
    for (int chain = 0; chain < chains; ++chain) {
      const double grown = static_cast<double>(kSteps) * factors.p[chain % 2] * factors.q[chain % 2];
      for (int lane = 0; lane < lanes; ++lane) {
        const auto i =
            static_cast<std::size_t>(chain) * static_cast<std::size_t>(lanes) + static_cast<std::size_t>(lane);
        const double apart = std::fabs(static_cast<double>(lanes_[i]) - (static_cast<double>(i) + grown));
        if (!(apart <= worst)) worst = apart;
        if (std::isnan(worst)) return worst;
      }
    }
    return worst;
  }

 private:
  std::vector<T> lanes_;
};

/// What one thread does in a sample: prepare, run (which is timed), and say by how much the result is off.
class Work {
 public:
  virtual ~Work() = default;
  virtual void prepare() {}
  virtual void run() = 0;
  [[nodiscard]] virtual double defect() const = 0;
};

struct Series {
  // [thread][sample]: time on the CPU, which leaves out what other programs took of it, so that cycles over it are the
  // clock of the core and not the thread's share of it
  std::vector<std::vector<double>> cpu_seconds;
  std::vector<double> whole;          // from the first thread's begin to the last one's end
  double on_cpu_s = 0, passed_s = 0;  // sums over threads and samples: less than all of the time where others ran too
  double defect = 0;
  std::int64_t begin_ns = 0, end_ns = 0;
};

/// At least `samples` samples in at least `least_s` seconds, of `works[t]` on thread t; threads beyond works.size()
/// sleep. One sample before these is not kept: clocks and power states settle in it.
template <class Works>
Series measure(Team& team, Works& works, std::int64_t samples, double least_s) {
  const auto active = std::size(works);
  Series series;
  series.cpu_seconds.resize(active);
  std::vector<double> begin(active), end(active), on_cpu(active), defect(active);
  const auto once = [&] {
    team.run([&](int thread) {
      const auto t = static_cast<std::size_t>(thread);
      if (t < active) works[t]->prepare();
      team.barrier();
      if (t >= active) return;
      begin[t] = now_s();
      const auto cpu_begin = read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
      works[t]->run();
      on_cpu[t] = static_cast<double>(read_clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_begin) * 1e-9;
      end[t] = now_s();
      defect[t] = works[t]->defect();
    });
  };
  once();
  series.begin_ns = unix_ns();
  const double start = now_s();
  while (std::ssize(series.whole) < samples || now_s() - start < least_s) {
    once();
    for (std::size_t t = 0; t < active; ++t) {
      series.cpu_seconds[t].push_back(on_cpu[t]);
      series.on_cpu_s += on_cpu[t];
      series.passed_s += end[t] - begin[t];
      if (!(defect[t] <= series.defect)) series.defect = defect[t];
    }
    series.whole.push_back(*std::max_element(end.begin(), end.end()) - *std::min_element(begin.begin(), begin.end()));
    if (std::isnan(series.defect)) break;
  }
  series.end_ns = unix_ns();
  return series;
}

}  // namespace shakedown::probe
