// Why a run was not faster: what its own measurements say.
#include <algorithm>
#include <cstdarg>
#include <cstdio>

#include "runs.hpp"

namespace shakedown::hpl_mxp {
namespace {

constexpr double kWorthSaying = 0.01;

[[gnu::format(printf, 1, 2)]] std::string words(const char* format, ...) {
  char text[400];
  va_list arguments;
  va_start(arguments, format);
  // NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): va_start is two lines above
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return text;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

std::vector<Finding> diagnose(const Report& report, const Setup& setup, const std::string& staged_why) {
  std::vector<Finding> found;
  if (report.seconds.empty()) return found;
  const auto& s = report.shares;
  const double all = total(s);
  const auto say = [&](double part, const char* what, const std::string& advice) {
    if (part / all >= kWorthSaying)
      found.push_back({part / all, words("%.1f %% of the time went to %s", 100 * part / all, what), advice});
  };
  const std::string larger = "a larger N";
  const bool travels = setup.base.p * setup.base.q > 1;
  say(s.panel, "diagonal blocks that no update hid", larger + " or a smaller NB");
  say(s.solve, "triangular solves that no update hid", larger + " or a smaller NB");
  say(s.rows, "casts and copies that no update hid", larger);
  say(s.messages, "messages that no update hid",
      setup.staged && travels
          ? "they go through the host's memory (" + staged_why + "): an MPI that takes addresses of devices"
          : "another grid or broadcast: --p, --q, --bcast");
  say(s.wait, "waiting", "launches of small kernels: a larger N or NB; or the host was disturbed");
  say(s.other, "solving with the factors and refining", larger);
  const double ceiling_s = median(report.ceiling_seconds);
  if (ceiling_s > 0 && report.ceiling_flop > 0 && s.update > 0) {
    // Of the 2/3 N^3 operations, the triangular solves do about N^2 NB.
    const auto n = static_cast<double>(setup.base.n);
    const double flop = std::max(0.0, 2.0 / 3.0 * n * n * n - n * n * static_cast<double>(setup.base.nb)) *
                        static_cast<double>(report.seconds.size());
    const int ranks = setup.base.p * setup.base.q;
    const double rate = flop / s.update, best = report.ceiling_flop / ceiling_s / ranks;
    const double lost = (1 - rate / best) * s.update / all;
    if (lost >= kWorthSaying) {
      found.push_back({lost,
                       words("the update ran at %.1f %% of the product in %s with k = %lld: %.2f against %.2f Tflop/s "
                             "a GPU",
                             100 * rate / best, word(setup.precision), static_cast<long long>(setup.base.nb),
                             rate / 1e12, best / 1e12),
                       "products are small near the end: a larger N; the panel beside it takes its blocks: another NB; "
                       "or the clock fell"});
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.lost > b.lost; });
  return found;
}

}  // namespace shakedown::hpl_mxp
