#include "wire.hpp"

namespace shakedown::hpl {
namespace {

void pass(Tape& tape, Report& r) {
  tape.list(r.seconds);
  tape.list(r.spans);
  for (double* value : {&r.check.residual, &r.check.error_norm, &r.check.a_norm, &r.check.a_one, &r.check.x_norm,
                        &r.check.x_one, &r.check.b_norm, &r.ceiling_flop, &r.clock_hz[0], &r.clock_hz[1]}) {
    tape.number(*value);
  }
  for (const auto& account : kAccounts) tape.number(r.shares.*account.seconds);
  tape.flag(r.checked);
  tape.list(r.ceiling_seconds);
  tape.list(r.ceiling_spans);
  tape.list(r.windows, [&](Window& window) {
    for (double* value : {&window.order, &window.panels, &window.flop, &window.seconds}) tape.number(*value);
    tape.span(window.span);
  });
}

}  // namespace

std::vector<double> pack_report(const Report& report) {
  std::vector<double> numbers;
  Tape tape(numbers, false);
  Report copy = report;
  pass(tape, copy);
  return numbers;
}

Report unpack_report(const std::vector<double>& numbers) {
  Report report;
  auto copy = numbers;
  Tape tape(copy, true);
  pass(tape, report);
  return report;
}

std::vector<std::pair<int, std::vector<double>>> gather_numbers(const World& world, const std::vector<double>& mine) {
  constexpr int kTag = 1;
  std::vector<int> leads(static_cast<std::size_t>(world.size));
  const int lead = world.group_rank == 0;
  MPI_Allgather(&lead, 1, MPI_INT, leads.data(), 1, MPI_INT, world.all);
  std::vector<std::pair<int, std::vector<double>>> all;
  if (world.rank != 0) {
    if (lead != 0) MPI_Send(mine.data(), static_cast<int>(mine.size()), MPI_DOUBLE, 0, kTag, world.all);
    return all;
  }
  all.emplace_back(0, mine);
  for (int rank = 1; rank < world.size; ++rank) {
    if (leads[static_cast<std::size_t>(rank)] == 0) continue;
    MPI_Status status;
    int count = 0;
    MPI_Probe(rank, kTag, world.all, &status);
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    std::vector<double> numbers(static_cast<std::size_t>(count));
    MPI_Recv(numbers.data(), count, MPI_DOUBLE, rank, kTag, world.all, MPI_STATUS_IGNORE);
    all.emplace_back(rank, std::move(numbers));
  }
  return all;
}

std::vector<std::pair<int, Report>> gather_reports(const World& world, const Report& mine) {
  std::vector<std::pair<int, Report>> reports;
  for (const auto& [rank, numbers] : gather_numbers(world, pack_report(mine)))
    reports.emplace_back(rank, unpack_report(numbers));
  return reports;
}

}  // namespace shakedown::hpl
