#include "factor.hpp"

#include <cmath>

#include "common/clock.hpp"
#include "hpl/gang.hpp"

namespace shakedown::hpl_mxp {

Geometry geometry_of(const Setup& setup, int row, int column) {
  return hpl_gpu::geometry_of(distribution_of(setup), row, column);
}

/// The mean of a row's sum is n / 4; 2^15 keeps what is larger than usual within half precision.
double scale_of(Index n) { return std::exp2(std::clamp(std::floor(std::log2(static_cast<double>(n) / 4)), 0.0, 15.0)); }

Factorization::Factorization(const Setup& setup, const Grid& grid, const Geometry& geometry, Store& store,
                             const Calls& calls, Progress progress)
    : setup_(setup),
      grid_(grid),
      turned_(grid),
      geometry_(geometry),
      store_(store),
      calls_(calls),
      device_(calls.device()),
      scale_(scale_of(setup.base.n)),
      progress_(std::move(progress)),
      lanes_(device_, hpl_mxp::schedule(geometry, setup.staged)) {
  std::swap(turned_.p, turned_.q);
  std::swap(turned_.row, turned_.column);
  std::swap(turned_.in_row, turned_.in_column);
  host_times_.reserve(lanes_.steps().size());
}

template <class Done>
void Factorization::until(const Done& done) {
  hpl::Patience patience;
  while (!done()) {
    move_on();
    patience.wait();
  }
}

Result Factorization::run(double start_s) {
  start_s_ = start_s;
  lanes_.start();
  const auto& steps = lanes_.steps();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    if (step.lane != Lane::host) {
      lanes_.put(i, [&](const Step& one, const gpu::Stream& mine) { work(one, mine); });
      if (step.op == Op::update && progress_) progress_(geometry_.span(step.k).begin);
      continue;
    }
    for (const int earlier : step.after) until([&] { return lanes_.ended(earlier); });
    const double begin = now_s() - start_s_;
    on_host(step);
    host_times_.push_back({step.op, begin, now_s() - start_s_});
  }
  lanes_.finish();
  Result result;
  result.factor_seconds = now_s() - start_s_;
  return result;
}

void Factorization::rehearse(Index least) {
  const auto taken = hpl_gpu::halving(geometry_, least, [](int) { return true; });
  for (const Step& step : lanes_.steps()) {
    const bool loads = step.op == Op::column || step.op == Op::row || step.op == Op::update || step.op == Op::left ||
                       step.op == Op::top;
    if (loads && taken[static_cast<std::size_t>(step.k)]) work(step, lanes_.stream(step.lane));
  }
  lanes_.finish();
}

void Factorization::work(const Step& step, const gpu::Stream& stream) {
  const int k = step.k;
  const Index row = geometry_.first_row(k);
  const auto bytes = [&] { return static_cast<std::size_t>(store_.doubles(k, step.piece)) * sizeof(double); };
  // C -= L U for the rows and columns of C from these on, counted in the left and the top of a panel.
  const auto product = [&](int of, Index first_row, Index rows, Index first_column, Index columns) {
    calls_.gemm(
        setup_.precision, rows, columns, geometry_.span(of).width, -1 / scale_, store_.left(of) + first_row,
        store_.ld_left(of), store_.top(of) + first_column * store_.ld_top(of), store_.ld_top(of),
        store_.a(geometry_.first_row(of) + geometry_.top_rows(of) + first_row, geometry_.own(of).end + first_column),
        store_.lda, stream);
  };
  switch (step.op) {
    case Op::column:
      product(k - 1, 0, store_.rows_below(k - 1), 0, geometry_.own(k).count());
      break;
    case Op::row:
      product(k - 1, 0, geometry_.top_rows(k), geometry_.own(k).count(), store_.columns_right(k));
      break;
    case Op::update:
      product(k, geometry_.top_rows(k + 1), store_.rows_below(k + 1), geometry_.own(k + 1).count(),
              store_.columns_right(k + 1));
      break;
    case Op::factor:
      calls_.factor(store_.a(row, geometry_.own(k).begin), store_.lda, store_.corner(k), store_.ld_corner(k),
                    geometry_.span(k).width, stream);
      break;
    case Op::keep:
      calls_.copy(store_.corner(k), store_.ld_corner(k), store_.a(row, geometry_.own(k).begin), store_.lda,
                  geometry_.span(k).width, geometry_.span(k).width, stream);
      break;
    case Op::collect:
      device_.copy(store_.host_message(k, step.piece), store_.message(k, step.piece), bytes(), stream);
      break;
    case Op::deliver:
      device_.copy(store_.message(k, step.piece), store_.host_message(k, step.piece), bytes(), stream);
      break;
    case Op::narrow:
      narrow(step, stream);
      break;
    default:
      solve(step, stream);
  }
}

/// L below the diagonal block, or U to its right, in the matrix itself.
void Factorization::solve(const Step& step, const gpu::Stream& stream) {
  const int k = step.k;
  const Index row = geometry_.first_row(k), width = geometry_.span(k).width;
  if (step.op == Op::left) {
    calls_.solve_right(store_.corner(k), store_.ld_corner(k),
                       store_.a(row + geometry_.top_rows(k), geometry_.own(k).begin), store_.lda, store_.rows_below(k),
                       width, stream);
  } else {
    calls_.solve_left(store_.corner(k), store_.ld_corner(k), store_.a(row, geometry_.own(k).end), store_.lda, width,
                      store_.columns_right(k), stream);
  }
}

void Factorization::narrow(const Step& step, const gpu::Stream& stream) {
  const int k = step.k;
  const Index row = geometry_.first_row(k), width = geometry_.span(k).width;
  if (step.piece == Piece::left) {
    calls_.narrow(setup_.precision, store_.a(row + geometry_.top_rows(k), geometry_.own(k).begin), store_.lda,
                  store_.left(k), store_.ld_left(k), store_.rows_below(k), width, scale_, stream);
  } else {
    calls_.narrow(setup_.precision, store_.a(row, geometry_.own(k).end), store_.lda, store_.top(k), store_.ld_top(k),
                  width, store_.columns_right(k), 1, stream);
  }
}

void Factorization::on_host(const Step& step) {
  const Piece piece = step.piece;
  auto& one = broadcast(piece);
  if (step.op == Op::arrive) {
    until([&] { return one.received() && one.settled(); });
    return;
  }
  const auto& part = geometry_.part;
  const Index begin = geometry_.span(step.k).begin;
  const int root = goes_down(piece) ? part.rows.owner(begin) : part.columns.owner(begin);
  const auto segment = std::max<Index>(1, setup_.base.segment_bytes / static_cast<Index>(sizeof(double)));
  double* message = setup_.staged ? store_.host_message(step.k, piece) : store_.message(step.k, piece);
  one.start(setup_.base.broadcast, root, goes_down(piece) ? turned_ : grid_, message, store_.doubles(step.k, piece),
            segment);
}

void Factorization::move_on() {
  for (auto& one : broadcasts_) one.poll();
}

/// Every moment goes to what the update's lane does; where that is idle, to what the panel's does: products, the
/// diagonal block, triangles, casts and copies; else to messages, while the host is in MPI; else to wait.
void Factorization::account(Result& result) {
  const auto layer = [](const Step& step) -> std::size_t {
    switch (step.op) {
      case Op::update:
      case Op::column:
      case Op::row:
        return 0;
      case Op::factor:
      case Op::keep:
        return 1;
      case Op::left:
      case Op::top:
        return 2;
      default:
        return 3;
    }
  };
  constexpr std::size_t kMessages = 4, kLayers = 5;
  std::vector<hpl_gpu::Layered> all;
  lanes_.tell([&](const Step& step, double begin, double end) {
    const std::size_t of = layer(step);
    all.push_back({begin, end, of});
    if (of > 0) result.panel_busy += end - begin;
  });
  for (const auto& one : host_times_) all.push_back({one.begin, one.end, kMessages});
  const auto seconds = hpl_gpu::uncover(all, kLayers, result.factor_seconds);
  double hpl::Shares::*const accounts[] = {&hpl::Shares::update, &hpl::Shares::panel,    &hpl::Shares::solve,
                                           &hpl::Shares::rows,   &hpl::Shares::messages, &hpl::Shares::wait};
  for (std::size_t i = 0; i <= kLayers; ++i) result.shares.*accounts[i] = seconds[i];
}

}  // namespace shakedown::hpl_mxp
