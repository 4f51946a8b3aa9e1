#include "panel.hpp"

#include <cmath>
#include <cstring>

namespace shakedown::hpl {
namespace {

/// Products of so many columns or less go to our own loops: a BLAS copies the long factor first, which is then most of
/// its work.
constexpr Index kNarrow = 32;
/// Columns that are factored in the window: enough for products of the rest that a BLAS does well, few enough that the
/// window is small beside the panel.
constexpr Index kWindow = 32;

constexpr Index kRowsPutBack = 32;  // at a time, so that their pages stay at hand

}  // namespace

Index window_columns(const Config& config) { return std::min(config.nb, std::max(kWindow, config.nbmin)); }

std::size_t Panel::bytes(Index width, Index height) {
  return static_cast<std::size_t>(width + width * width + width * padded(height)) * sizeof(double);
}

std::size_t Panel::bytes_in_place(Index width) {
  return static_cast<std::size_t>(width + width * width) * sizeof(double);
}

Panel::Panel(Index width, Index height, Pages pages) : memory_(bytes(width, height), pages) { memory_.trim(); }

Panel::Panel(Index width, double* window, Pages pages) : memory_(bytes_in_place(width), pages), window_(window) {
  memory_.trim();
}

void Panel::shape(Index panel, Index width, Index height, Index in_top) {
  k = panel;
  columns = width;
  rows = height;
  top = in_top;
  ld = padded(height);
}

Factorizer::Factorizer(const Config& config, const Grid& grid, const Blas& blas, const Kernels& loops,
                       PivotExchange exchange)
    : config_(config),
      grid_(grid),
      blas_(blas),
      loops_(loops),
      exchange_(std::move(exchange)),
      row_map_{config.nb, config.p} {}

std::pair<Index, Index> Factorizer::slice(Index rows, int member, int members) {
  constexpr Index kLine = 8;
  const Index lines = (rows + kLine - 1) / kLine;
  const auto edge = [&](Index i) { return std::min(rows, lines * i / members * kLine); };
  return {edge(member), edge(member + 1)};
}

void Factorizer::run(Panel& panel, int member, int members) {
  if (member == 0) {
    found_.resize(static_cast<std::size_t>(members));
    message_.resize(static_cast<std::size_t>(kPivotHead + 2 * panel.columns));
    std::fill_n(panel.l1(), panel.columns * panel.columns, 0.0);
  }
  barrier_.wait(members);
  const auto [begin, end] = slice(panel.rows, member, members);
  Seat seat{panel, member, members, begin, end, std::vector<double>(static_cast<std::size_t>(panel.columns)), 0, 0};
  if (!panel.in_place()) seat.close = panel.columns;
  recurse(seat, 0, panel.columns);
  barrier_.wait(members);
}

/// Take my rows of some columns out of the matrix, factor them, and put back what is L.
void Factorizer::through_window(Seat& seat, Index from, Index width) {
  const Panel& panel = seat.panel;
  seat.open = from;
  seat.close = from + width;
  const auto rows_from = [&](Index done) {
    return std::min(seat.end, std::max(seat.begin, first_active(panel, done)));
  };
  const Index first = rows_from(from);
  loops_.transpose(seat.end - first, width, panel.row(first) + from, panel.stride(), panel.local() + first, panel.ld);
  recurse(seat, from, width);
  const Index below = rows_from(from + width);
  for (Index row = below; row < seat.end; row += kRowsPutBack) {
    loops_.transpose(width, std::min(kRowsPutBack, seat.end - row), panel.local() + row, panel.ld,
                     panel.row(row) + from, panel.stride());
  }
  seat.open = seat.close = 0;
}

void Factorizer::recurse(Seat& seat, Index from, Index width) {
  if (seat.open == seat.close && width <= window_columns(config_)) {
    through_window(seat, from, width);
    return;
  }
  if (width <= config_.nbmin) {
    base(seat, from, width);
    return;
  }
  const Index units = (width + config_.nbmin - 1) / config_.nbmin;
  const Index part = std::max<Index>(1, (units + config_.ndiv - 1) / config_.ndiv) * config_.nbmin;
  const Index end = from + width;
  for (Index at = from; at < end; at += part) {
    const Index len = std::min(part, end - at);
    const Index next = at + len;
    if (config_.rfact == Looking::left) solve_part(seat, from, at - from, at, len);
    if (config_.rfact != Looking::right) multiply(seat, from, at - from, at, len);
    recurse(seat, at, len);
    if (next == end) break;
    if (config_.rfact == Looking::right) {
      solve_part(seat, at, len, next, end - next);
      multiply(seat, at, len, next, end - next);
    }
    if (config_.rfact == Looking::crout) {
      if (seat.member == 0) {  // the rows of U that were just chosen have seen none of the part's earlier columns
        const Index ld = seat.panel.columns;
        double* l1 = seat.panel.l1();
        loops_.update(len, end - next, at - from, l1 + at + from * ld, ld, l1 + from + next * ld, ld,
                      l1 + at + next * ld, ld);
      }
      solve_part(seat, at, len, next, end - next);
    }
  }
}

void Factorizer::solve_part(Seat& seat, Index from, Index width, Index begin, Index columns) {
  if (seat.member == 0) {
    const Index ld = seat.panel.columns;
    double* l1 = seat.panel.l1();
    loops_.solve_unit(width, columns, l1 + from + from * ld, ld, l1 + from + begin * ld, ld);
  }
  barrier_.wait(seat.members);
}

void Factorizer::multiply(Seat& seat, Index from, Index depth, Index begin, Index columns) {
  const Panel& panel = seat.panel;
  const Index first = std::max(seat.begin, first_active(panel, from + depth));
  const Index rows = seat.end - first;
  if (rows <= 0 || depth == 0) return;
  const double* b = panel.l1() + from + begin * panel.columns;
  if (!seat.lies_by_columns(from)) {  // as all of the update, by rows
    double* row = panel.row(first);
    blas_.gemm('T', 'N', columns, rows, depth, -1, b, panel.columns, row + from, panel.stride(), 1, row + begin,
               panel.stride());
    return;
  }
  const double* a = seat.column(from) + first;
  double* c = seat.column(begin) + first;
  if (depth <= kNarrow || columns <= kNarrow) {
    loops_.update(rows, columns, depth, a, panel.ld, b, panel.columns, c, panel.ld);
  } else {
    blas_.gemm('N', 'N', rows, columns, depth, -1, a, panel.ld, b, panel.columns, 1, c, panel.ld);
  }
}

void Factorizer::base(Seat& seat, Index from, Index width) {
  const Panel& panel = seat.panel;
  for (Index j = from; j < from + width; ++j) {
    column(seat, from, width, j);
    barrier_.wait(seat.members);
    if (seat.member == 0) choose_pivot(seat, from, width, j);
    barrier_.wait(seat.members);
  }
  // The last column has no successor that would scale it on the way.
  const Index last = from + width - 1;
  double* entries = seat.column(last);
  for (Index i = std::max(seat.begin, first_active(panel, last + 1)); i < seat.end; ++i) entries[i] *= scale_;
}

/// Bring column j up to date with those of the base before it, and look for its largest entry.
void Factorizer::column(Seat& seat, Index from, Index width, Index j) {
  const Panel& panel = seat.panel;
  const Index ld = panel.columns;
  const double* l1 = panel.l1();
  const Index begin = config_.pfact == Looking::right ? std::max(from, j - 1) : from;
  const Index depth = j - begin;
  double* u = seat.u.data();
  for (Index l = 0; l < depth; ++l) u[l] = l1[begin + l + j * ld];
  if (config_.pfact == Looking::left) {  // the rows of U above were not solved yet
    for (Index l = 0; l < depth; ++l) {
      for (Index i = l + 1; i < depth; ++i) u[i] -= l1[begin + i + (begin + l) * ld] * u[l];
    }
  }
  const Index first = std::max(seat.begin, first_active(panel, j));
  Largest largest;
  if (first < seat.end) {
    const double* before = seat.column(begin) + first;
    largest =
        loops_.column(seat.end - first, depth, seat.column(begin) + first, panel.ld, u, scale_, seat.column(j) + first);
    if (largest.row >= 0) largest.row += first;
    if (config_.pfact == Looking::right && depth > 0) {
      loops_.update(seat.end - first, from + width - j - 1, 1, before, panel.ld, l1 + begin + (j + 1) * ld, ld,
                    seat.column(j + 1) + first, panel.ld);
    }
  }
  found_[static_cast<std::size_t>(seat.member)].largest = largest;
}

/// The leader: the largest of all threads and ranks becomes row j of L1.
void Factorizer::choose_pivot(Seat& seat, Index from, Index width, Index j) {
  Panel& panel = seat.panel;
  const Index ld = panel.columns;
  double* l1 = panel.l1();
  if (config_.pfact == Looking::left) std::copy_n(seat.u.begin(), j - from, l1 + from + j * ld);
  Largest best;
  for (int t = 0; t < seat.members; ++t) {  // threads have ascending rows: at a tie the first stays
    const auto& other = found_[static_cast<std::size_t>(t)].largest;
    if (other.magnitude > best.magnitude) best = other;
  }
  if (config_.p == 1) {
    take_local_pivot(seat, j, best.row < 0 ? j : best.row);
  } else {
    take_pivot(seat, j, best);
  }
  if (config_.pfact == Looking::crout) {
    loops_.update(1, from + width - j - 1, j - from, l1 + j + from * ld, ld, l1 + from + (j + 1) * ld, ld,
                  l1 + j + (j + 1) * ld, ld);
  }
  const double pivot = l1[j + j * ld];
  scale_ = pivot != 0 ? 1 / pivot : 1;
}

void Factorizer::take_local_pivot(const Seat& seat, Index j, Index row) {
  const Panel& panel = seat.panel;
  double* l1 = panel.l1();
  for (Index c = 0; c < panel.columns; ++c) {
    double& chosen = seat.entry(row, c);
    l1[j + c * panel.columns] = chosen;
    chosen = seat.entry(j, c);
  }
  panel.pivots()[j] = panel.k * config_.nb + row;
}

void Factorizer::take_pivot(const Seat& seat, Index j, const Largest& mine) {
  const Panel& panel = seat.panel;
  const Index width = panel.columns;
  const Index first = row_map_.count(panel.k * config_.nb, grid_.row);
  const auto global = [&](Index row) { return row_map_.global(first + row, grid_.row); };
  auto& message = message_;
  message[0] = mine.row < 0 ? -1 : mine.magnitude;
  message[1] = mine.row < 0 ? 9e15 : static_cast<double>(global(mine.row));
  message[2] = panel.top > 0 ? 1 : 0;
  const auto copy_row = [&](Index row, Index to) {
    for (Index c = 0; c < width; ++c) message[static_cast<std::size_t>(to + c)] = seat.entry(row, c);
  };
  if (mine.row >= 0) copy_row(mine.row, kPivotHead);
  if (panel.top > 0) copy_row(j, kPivotHead + width);
  exchange_(message);
  const Index here = panel.k * config_.nb + j;
  const bool none = message[0] < 0;  // nothing but NaN: the row itself, and the check will fail
  const Index pivot = none ? here : static_cast<Index>(message[1]);
  const double* chosen = message.data() + kPivotHead + (none ? width : 0);
  for (Index c = 0; c < width; ++c) panel.l1()[j + c * width] = chosen[c];
  panel.pivots()[j] = pivot;
  if (pivot != here && row_map_.owner(pivot) == grid_.row) {
    const Index row = row_map_.local(pivot) - first;
    for (Index c = 0; c < width; ++c) {
      seat.entry(row, c) = message[static_cast<std::size_t>(kPivotHead + width + c)];
    }
  }
}

}  // namespace shakedown::hpl
