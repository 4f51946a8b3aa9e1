// Reports on their way from the groups' first ranks to rank 0.
#include <utility>

#include "hpl/wire.hpp"
#include "runs.hpp"

namespace shakedown::hpl_mxp {
namespace {

void pass(hpl::Tape& tape, Report& r) {
  for (auto* list : {&r.seconds, &r.factor_seconds, &r.steps, &r.residuals, &r.ceiling_seconds}) tape.list(*list);
  for (auto* list : {&r.spans, &r.ceiling_spans}) tape.list(*list);
  for (auto* value : {&r.residual, &r.panel_busy, &r.ceiling_flop, &r.generate_seconds}) tape.number(*value);
  for (const auto& account : kAccounts) tape.number(r.shares.*account.seconds);
  tape.flag(r.converged);
  tape.flag(r.checked);
}

}  // namespace

std::vector<std::pair<int, Report>> gather_reports(const hpl::World& world, const Report& mine) {
  std::vector<double> numbers;
  Report copy = mine;
  hpl::Tape writing(numbers, false);
  pass(writing, copy);
  std::vector<std::pair<int, Report>> reports;
  for (auto& [rank, told] : hpl::gather_numbers(world, numbers)) {
    hpl::Tape reading(told, true);
    pass(reading, reports.emplace_back(rank, Report{}).second);
  }
  return reports;
}

}  // namespace shakedown::hpl_mxp
