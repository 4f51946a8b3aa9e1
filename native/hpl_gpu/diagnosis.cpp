#include "diagnosis.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <utility>

namespace shakedown::hpl_gpu {
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

double update_flop(const hpl::Config& config) {
  const auto n = static_cast<double>(config.n);
  return std::max(0.0, 2.0 / 3.0 * n * n * n - n * n * static_cast<double>(config.nb));
}

void Findings::part(double seconds, const char* what, const std::string& advice) {
  const double part = seconds / all_;
  if (part >= kWorthSaying) found_.push_back({part, words("%.1f %% of the time went to %s", 100 * part, what), advice});
}

void Findings::messages(const BaseSetup& setup, const std::string& staged_why) {
  part(shares_.messages, "messages that no update hid",
       setup.staged && setup.base.p * setup.base.q > 1
           ? "they go through the host's memory (" + staged_why + "): an MPI that takes addresses of devices"
           : "another grid or broadcast: --p, --q, --bcast");
}

void Findings::waiting() {
  part(shares_.wait, "waiting", "launches of small kernels: a larger N or NB; or the host was disturbed");
}

void Findings::update(const Pace& pace, const std::string& product, const char* other) {
  const double ceiling_s = median(pace.ceiling_seconds);
  if (ceiling_s <= 0 || pace.ceiling_flop <= 0 || shares_.update <= 0) return;
  const double rate = pace.flop / shares_.update, best = pace.ceiling_flop / ceiling_s / pace.ranks;
  const double lost = (1 - rate / best) * shares_.update / all_;
  if (!(lost >= kWorthSaying)) return;
  found_.push_back({lost,
                    words("the update ran at %.1f %% of the %s: %.2f against %.2f Tflop/s a GPU", 100 * rate / best,
                          product.c_str(), rate / 1e12, best / 1e12),
                    std::string("products are small near the end: a larger N; the panel beside it takes its blocks: ")
                        .append(other)
                        .append("; or the clock fell")});
}

std::vector<Finding> Findings::take() {
  std::stable_sort(found_.begin(), found_.end(), [](const auto& a, const auto& b) { return a.lost > b.lost; });
  return std::move(found_);
}

}  // namespace shakedown::hpl_gpu
