#include "counts.hpp"

namespace shakedown::radio_forwarder {

void Totals::add(const Counts& counts) {
  for (std::size_t i = 0; i < kFates; ++i) fates[i] += counts.fates[i].read();
  for (std::size_t i = 0; i < late.size(); ++i) late[i] += counts.late.read(i);
}

double Totals::late_ns(double share) const {
  std::uint64_t all = 0;
  for (const auto count : late) all += count;
  if (all == 0) return 0;
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < late.size(); ++i) {
    below += late[i];
    if (static_cast<double>(below) >= share * static_cast<double>(all)) {
      return 0.5 * (Histogram::begin_ns(i) + Histogram::begin_ns(i + 1));
    }
  }
  return Histogram::begin_ns(late.size() - 1);
}

Object Totals::numbers() const {
  Object object;
  for (std::size_t i = 0; i < kFates; ++i) object.add(kFateNames[i], fates[i]);
  object.add("late_median_s", late_ns(0.5) * 1e-9).add("late_99_percent_s", late_ns(0.99) * 1e-9);
  return object;
}

Object Totals::json() const {
  Object object = numbers();
  std::string pairs = "[";
  for (std::size_t i = 0; i < late.size(); ++i) {
    if (late[i] == 0) continue;
    if (pairs.size() > 1) pairs += ',';
    pairs += '[' + to_json(Histogram::begin_ns(i) * 1e-9) + ',' + to_json(late[i]) + ']';
  }
  object.add("late_histogram", Json{pairs + ']'});
  return object;
}

}  // namespace shakedown::radio_forwarder
