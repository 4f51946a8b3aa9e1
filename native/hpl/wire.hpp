// Reports on their way from the first rank of each group to rank 0.
#pragma once

#include <utility>
#include <vector>

#include "runs.hpp"

namespace shakedown::hpl {

/// On rank 0: each group's report with its leader's rank, its own first. Elsewhere empty. Every rank calls it.
std::vector<std::pair<int, Report>> gather_reports(const World& world, const Report& mine);

/// A report as numbers, and back.
std::vector<double> pack_report(const Report& report);
Report unpack_report(const std::vector<double>& numbers);

}  // namespace shakedown::hpl
