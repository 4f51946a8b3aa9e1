#include "diagnose.hpp"

#include <algorithm>
#include <cmath>

#include "common/text.hpp"

namespace shakedown::hpl {
namespace {

constexpr double kWorthSaying = 0.01;

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

void by_phase(std::vector<Diagnosis>& found, const Report& report, const Config& config) {
  const auto& s = report.shares;
  const double all = total(s);
  const auto say = [&](double part, const char* what, const std::string& advice) {
    if (part / all >= kWorthSaying) {
      found.push_back({part / all, print("%.1f %% of the thread-seconds went to %s", 100 * part / all, what), advice});
    }
  };
  const std::string larger = "a larger N";
  say(s.panel, "factoring panels and their look-ahead",
      larger + " or a smaller NB" + (config.depth == 0 ? ", or a look-ahead of depth 1" : ""));
  say(s.solve, "the triangular solves", larger + " or a smaller NB" + (config.p > 1 ? ", or fewer process rows" : ""));
  say(s.rows, "moving rows in memory", larger + (config.p > 1 ? ", or fewer process rows" : ""));
  say(s.messages, "waiting in MPI",
      "another grid or broadcast, more NB, or --progress-thread; see 'shakedown tune hpl'");
  say(s.wait, "waiting for work", "other --panel-threads, a smaller NB, or fewer threads on each of more ranks");
  say(s.other, "the back substitution and the end", larger);
}

void by_update(std::vector<Diagnosis>& found, const Report& report, const Config& config, const Circumstances& around) {
  const double ceiling_s = median(report.ceiling_seconds);
  if (ceiling_s <= 0 || report.ceiling_flop <= 0 || report.shares.update <= 0) return;
  const double flop = update_flop(config) * static_cast<double>(report.seconds.size());
  const double rate = flop / report.shares.update;
  const double best = report.ceiling_flop / ceiling_s / around.threads;
  const double lost = (1 - rate / best) * report.shares.update / total(report.shares);
  if (lost >= kWorthSaying) {
    found.push_back({lost,
                     print("the update ran at %.1f %% of the DGEMM with k = %lld: %.2f against %.2f Gflop/s a thread",
                           100 * rate / best, static_cast<long long>(config.nb), rate / 1e9, best / 1e9),
                     "strips are narrow near the end: a larger N; or the machine was disturbed"});
  }
}

}  // namespace

double update_flop(const Config& config) {
  const auto n = static_cast<double>(config.n);
  return 2.0 / 3.0 * n * n * n - n * n * static_cast<double>(config.nb);
}

std::vector<Diagnosis> diagnose(const Report& report, const Config& config, const Blas& blas,
                                const Circumstances& around) {
  std::vector<Diagnosis> found;
  if (report.seconds.empty()) return found;
  by_phase(found, report, config);
  by_update(found, report, config, around);
  const auto [before, after] = report.clock_hz;
  if (before > 0 && after > 0 && after < 0.95 * before) {
    found.push_back(
        {1 - after / before,
         print("the slowest core's clock fell from %.2f to %.2f GHz over the run", before / 1e9, after / 1e9),
         "look at the power limit and the cooling: 'shakedown machine' shows the settings"});
  }
  if (const auto doubt = blas.kernel_doubt(); !doubt.text.empty()) found.push_back({0.3, doubt.text, doubt.advice});
  if (around.huge_asked && around.pages != "huge" && around.matrix_bytes > (std::uint64_t{64} << 20)) {
    found.push_back({0.05, "the matrix lies in " + around.pages + " pages, not in huge ones",
                     "allow transparent huge pages for madvise, or free memory that is in pieces"});
  }
  const auto free = static_cast<double>(around.free_bytes);
  if (free > 0 && static_cast<double>(around.matrix_bytes) < 0.5 * free) {
    found.push_back({0,
                     print("the matrix takes %.0f %% of the memory that was free",
                           100 * static_cast<double>(around.matrix_bytes) / free),
                     "N = auto takes what fits: the losses to all but the update fall as 1 / N"});
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.lost > b.lost; });
  return found;
}

}  // namespace shakedown::hpl
