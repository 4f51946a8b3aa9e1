// Reports on their way from the first rank of each group to rank 0.
#pragma once

#include <utility>
#include <vector>

#include "runs.hpp"

namespace shakedown::hpl {

/// Writes numbers one after another, or reads them back: one list of fields for both.
class Tape {
 public:
  explicit Tape(std::vector<double>& numbers, bool reads) : numbers_(numbers), reads_(reads) {}
  void number(double& value) {
    if (reads_) {
      value = numbers_.at(at_++);
    } else {
      numbers_.push_back(value);
    }
  }
  void flag(bool& value) {
    double as = value ? 1 : 0;
    number(as);
    value = as != 0;
  }
  template <class T, class Each>
  void list(std::vector<T>& values, Each&& each) {
    auto count = static_cast<double>(values.size());
    number(count);
    values.resize(static_cast<std::size_t>(count));
    for (auto& value : values) each(value);
  }
  void list(std::vector<double>& values) {
    list(values, [this](double& value) { number(value); });
  }
  void time(std::int64_t& ns) {  // to a quarter of a microsecond
    auto as = static_cast<double>(ns);
    number(as);
    ns = static_cast<std::int64_t>(as);
  }
  void span(TimeSpan& span) {
    time(span.begin_ns);
    time(span.end_ns);
  }
  void list(std::vector<TimeSpan>& spans) {
    list(spans, [this](TimeSpan& one) { span(one); });
  }

 private:
  std::vector<double>& numbers_;
  bool reads_;
  std::size_t at_ = 0;
};

/// On rank 0: the numbers of each group's first rank with that rank, its own first. Elsewhere empty. Every rank calls
/// it.
std::vector<std::pair<int, std::vector<double>>> gather_numbers(const World& world, const std::vector<double>& mine);

/// On rank 0: each group's report with its leader's rank, its own first. Elsewhere empty. Every rank calls it.
std::vector<std::pair<int, Report>> gather_reports(const World& world, const Report& mine);

/// A report as numbers, and back.
std::vector<double> pack_report(const Report& report);
Report unpack_report(const std::vector<double>& numbers);

}  // namespace shakedown::hpl
