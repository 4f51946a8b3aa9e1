#include "wire.hpp"

namespace shakedown::hpl {
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
  template <class T, class Each>
  void list(std::vector<T>& values, Each&& each) {
    auto count = static_cast<double>(values.size());
    number(count);
    values.resize(static_cast<std::size_t>(count));
    for (auto& value : values) each(value);
  }

 private:
  std::vector<double>& numbers_;
  bool reads_;
  std::size_t at_ = 0;
};

void pass(Tape& tape, Report& r) {
  tape.list(r.seconds, [&](double& value) { tape.number(value); });
  for (double* value :
       {&r.check.residual, &r.check.error_norm, &r.check.a_norm, &r.check.a_one, &r.check.x_norm, &r.check.x_one,
        &r.check.b_norm, &r.ceiling_flop, &r.begin_ns, &r.end_ns, &r.clock_hz[0], &r.clock_hz[1]}) {
    tape.number(*value);
  }
  for (const auto& account : kAccounts) tape.number(r.shares.*account.seconds);
  double checked = r.checked ? 1 : 0;
  tape.number(checked);
  r.checked = checked != 0;
  tape.list(r.ceiling_seconds, [&](double& value) { tape.number(value); });
  tape.list(r.windows, [&](Window& window) {
    for (double* value : {&window.order, &window.panels, &window.flop, &window.seconds}) tape.number(*value);
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

std::vector<std::pair<int, Report>> gather_reports(const World& world, const Report& mine) {
  constexpr int kTag = 1;
  std::vector<int> leads(static_cast<std::size_t>(world.size));
  const int lead = world.group_rank == 0;
  MPI_Allgather(&lead, 1, MPI_INT, leads.data(), 1, MPI_INT, world.all);
  std::vector<std::pair<int, Report>> reports;
  if (world.rank != 0) {
    if (lead != 0) {
      const auto numbers = pack_report(mine);
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
    reports.emplace_back(rank, unpack_report(numbers));
  }
  return reports;
}

}  // namespace shakedown::hpl
