#include "diagnosis.hpp"

#include <algorithm>
#include <utility>

#include "common/text.hpp"

namespace shakedown::hpl_gpu {
namespace {

constexpr double kWorthSaying = 0.01;

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

void Findings::part(double seconds, const char* what, const std::string& advice) {
  const double part = seconds / all_;
  if (part >= kWorthSaying) found_.push_back({part, print("%.1f %% of the time went to %s", 100 * part, what), advice});
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
  const double rate = std::max(0.0, pace.flop) / shares_.update, best = pace.ceiling_flop / ceiling_s / pace.ranks;
  const double lost = (1 - rate / best) * shares_.update / all_;
  if (!(lost >= kWorthSaying)) return;
  found_.push_back({lost,
                    print("the update ran at %.1f %% of the %s: %.2f against %.2f Tflop/s a GPU", 100 * rate / best,
                          product.c_str(), rate / 1e12, best / 1e12),
                    std::string("products are small near the end: a larger N; the panel beside it takes its blocks: ")
                        .append(other)
                        .append("; or the clock fell")});
}

std::vector<hpl::Diagnosis> Findings::take() {
  std::stable_sort(found_.begin(), found_.end(), [](const auto& a, const auto& b) { return a.lost > b.lost; });
  return std::move(found_);
}

}  // namespace shakedown::hpl_gpu
