#include "field.hpp"

#include "hpl/solve.hpp"

namespace shakedown::hpl_probe {
namespace {

std::uint64_t doubles(Index count) { return static_cast<std::uint64_t>(count) * sizeof(double); }

}  // namespace

Extent extent_of(const std::vector<Task>& plan, const Sweep& sweep, int threads) {
  Extent extent;
  extent.threads = threads;
  extent.rows = sweep.rows;
  extent.columns = sweep.columns;
  extent.depth = middle_nb(sweep);  // of the products that go on beside others
  extent.top = extent.depth;
  for (const auto& task : plan) {
    extent.depth = std::max(extent.depth, task.k);
    extent.top = std::max(extent.top, task.k);
    extent.message_bytes = std::max(extent.message_bytes, task.bytes);
    if (task.kind != Kind::panel && task.kind != Kind::solve) continue;
    extent.nb = std::max(extent.nb, task.k);
    extent.panel_rows = std::max(extent.panel_rows, task.kind == Kind::panel ? task.rows : 4 * task.k);
  }
  return extent;
}

std::uint64_t Field::bytes(const Extent& extent) {
  std::uint64_t total = doubles(extent.height() * hpl::padded(extent.columns));
  total += doubles(extent.depth * hpl::padded(extent.rows * extent.threads));
  if (extent.nb > 0) total += hpl::Panel::bytes(extent.nb, extent.panel_rows);
  total += doubles(extent.top * hpl::kSolveColumns * extent.threads);
  return total + 2 * static_cast<std::uint64_t>(extent.message_bytes);
}

Field::Field(const Extent& of, Team& team, Pages pages)
    : extent(of),
      lda(hpl::padded(of.columns)),
      ldl(hpl::padded(of.rows * of.threads)),
      right_sides(static_cast<std::size_t>(of.threads)),
      generator_(of.height()),
      memory_(doubles(of.height() * lda), pages),
      left_memory_(doubles(of.depth * ldl), pages),
      matrix_(static_cast<double*>(memory_.data())),
      left_(static_cast<double*>(left_memory_.data())) {
  if (of.nb > 0) panel = hpl::Panel(of.nb, of.panel_rows, pages);
  if (of.message_bytes > 0) {
    out_ = Buffer(static_cast<std::size_t>(of.message_bytes), pages);
    in_ = Buffer(static_cast<std::size_t>(of.message_bytes), pages);
  }
  const hpl::RowGenerator columns(of.depth);
  team.run([&](int thread) {  // each what it will work on
    if (thread == 0) restore(0, of.top);
    restore(part(thread), part(thread) + of.rows);
    for (Index j = 0; j < of.depth; ++j) {
      columns.fill(columns.state(j, thread * of.rows), of.rows, left(thread) + j * ldl);
    }
    right_sides[static_cast<std::size_t>(thread)].resize(static_cast<std::size_t>(of.top * hpl::kSolveColumns));
  });
}

}  // namespace shakedown::hpl_probe
