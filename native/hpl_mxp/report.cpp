// Reports on their way from the groups' first ranks to rank 0.
#include <utility>

#include "runs.hpp"

namespace shakedown::hpl_mxp {
namespace {

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
  void list(std::vector<double>& values) {
    auto count = static_cast<double>(values.size());
    number(count);
    values.resize(static_cast<std::size_t>(count));
    for (auto& value : values) number(value);
  }

 private:
  std::vector<double>& numbers_;
  bool reads_;
  std::size_t at_ = 0;
};

void pass(Tape& tape, Report& r) {
  for (auto* list : {&r.seconds, &r.factor_seconds, &r.steps, &r.residuals, &r.ceiling_seconds}) tape.list(*list);
  for (auto* value : {&r.residual, &r.panel_busy, &r.ceiling_flop, &r.generate_seconds, &r.begin_ns, &r.end_ns})
    tape.number(*value);
  for (const auto& account : kAccounts) tape.number(r.shares.*account.seconds);
  tape.flag(r.converged);
  tape.flag(r.checked);
}

}  // namespace

std::vector<std::pair<int, Report>> gather_reports(const hpl::World& world, const Report& mine) {
  constexpr int kTag = 1;
  std::vector<int> leads(static_cast<std::size_t>(world.size));
  const int lead = world.group_rank == 0;
  MPI_Allgather(&lead, 1, MPI_INT, leads.data(), 1, MPI_INT, world.all);
  std::vector<std::pair<int, Report>> reports;
  if (world.rank != 0) {
    if (lead != 0) {
      std::vector<double> numbers;
      Report copy = mine;
      Tape tape(numbers, false);
      pass(tape, copy);
      MPI_Send(numbers.data(), static_cast<int>(numbers.size()), MPI_DOUBLE, 0, kTag, world.all);
    }
    return reports;
  }
  reports.emplace_back(0, mine);
  for (int rank = 1; rank < world.size; ++rank) {
    if (leads[static_cast<std::size_t>(rank)] == 0) continue;
    MPI_Status status;
    int count = 0;
    MPI_Probe(rank, kTag, world.all, &status);
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    std::vector<double> numbers(static_cast<std::size_t>(count));
    MPI_Recv(numbers.data(), count, MPI_DOUBLE, rank, kTag, world.all, MPI_STATUS_IGNORE);
    Report report;
    Tape tape(numbers, true);
    pass(tape, report);
    reports.emplace_back(rank, report);
  }
  return reports;
}

}  // namespace shakedown::hpl_mxp
