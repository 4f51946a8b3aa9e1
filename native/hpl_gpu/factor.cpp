#include "factor.hpp"

#include "common/clock.hpp"
#include "hpl/gang.hpp"

namespace shakedown::hpl_gpu {

Factorization::Factorization(const Setup& setup, const Grid& grid, const Geometry& geometry, Store& store,
                             const Calls& calls, Progress progress)
    : setup_(setup),
      grid_(grid),
      geometry_(geometry),
      store_(store),
      calls_(calls),
      device_(calls.device()),
      progress_(std::move(progress)),
      lanes_(device_, schedule(geometry, setup.staged)),
      factory_(setup, grid, geometry, store, calls, lanes_.stream(Lane::panel), [this] { move_on(); }) {
  host_times_.reserve(lanes_.steps().size());
  pivots_.reserve(static_cast<std::size_t>(setup.base.n));
}

template <class Done>
void Factorization::until(const Done& done) {
  hpl::Patience patience;
  while (!done()) {
    move_on();
    patience.wait();
  }
}

Result Factorization::run() {
  MPI_Barrier(grid_.all);
  start_s_ = now_s();
  lanes_.start();
  const auto& steps = lanes_.steps();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    if (step.lane != Lane::host) {
      lanes_.put(i, [&](const Step& one, const gpu::Stream& mine) { work(one, mine); });
      continue;
    }
    for (const int earlier : step.after) until([&] { return lanes_.ended(earlier); });
    const double begin = now_s() - start_s_;
    on_host(step);
    host_times_.push_back({Lane::host, step.op, begin, now_s() - start_s_});
  }
  lanes_.finish();
  const double factored = now_s() - start_s_;
  Result result;
  result.x = solve_back(setup_, grid_, geometry_, store_, calls_, lanes_.stream(Lane::update));
  result.seconds = now_s() - start_s_;
  const auto intervals = timeline();
  result.shares = account(intervals, factored, result.seconds);
  result.panel_busy = panel_seconds(intervals);
  result.pivots = std::move(pivots_);
  return result;
}

void Factorization::rehearse(Index least) {
  const auto factored = halving(geometry_, least, [&](int k) { return geometry_.mine(k); });
  const auto updated = halving(geometry_, least, [](int) { return true; });
  for (const Step& step : lanes_.steps()) {
    const auto k = static_cast<std::size_t>(step.k);
    if (step.op == Op::factor && factored[k]) factory_.rehearse(step.k);
    if ((step.op != Op::solve && step.op != Op::update) || !updated[k]) continue;
    const Side whole = step.side == Side::next ? Side::left : step.side;
    store_.mover(whole).expect(geometry_.columns(step.k, whole).count());
    rows(step, lanes_.stream(step.lane));
  }
  lanes_.finish();
}

void Factorization::work(const Step& step, const gpu::Stream& stream) {
  const int k = step.k;
  const auto bytes = static_cast<std::size_t>(store_.message_doubles(k)) * sizeof(double);
  const Index first = geometry_.first_row(k), width = geometry_.span(k).width;
  switch (step.op) {
    case Op::load:
      calls_.copy(store_.a(first, geometry_.own(k).begin), store_.lda, store_.local(k), store_.ld(k), geometry_.rows(k),
                  width, stream);
      break;
    case Op::factor:
      factory_.factor(k);
      break;
    case Op::keep:
      if (geometry_.top(k))
        calls_.copy(store_.l1(k), width, store_.a(first, geometry_.own(k).begin), store_.lda, width, width, stream);
      break;
    case Op::fetch:
      device_.copy(store_.host_pivots(k), store_.header(k), static_cast<std::size_t>(width) * sizeof(Index), stream);
      break;
    case Op::collect:
      device_.copy(store_.host_message(k), store_.message(k), bytes, stream);
      break;
    case Op::deliver:
      device_.copy(store_.message(k), store_.host_message(k), bytes, stream);
      break;
    case Op::upload:
      store_.lists(k).upload(device_, stream);
      break;
    case Op::reorder:
      calls_.reorder(store_.inverse(k), store_.mixed(k), width, store_.lists(k).order(), stream);
      break;
    default:
      rows(step, stream);
  }
}

Range Factorization::columns(const Step& step) const {
  Range range = geometry_.columns(step.k, step.side);
  if (step.op == Op::update && step.side == Side::left) range.begin = geometry_.columns(step.k, Side::next).end;
  return range;
}

/// The steps that panel k's rows go through on one side.
void Factorization::rows(const Step& step, const gpu::Stream& stream) {
  const int k = step.k;
  const Range range = columns(step);
  const Index width = geometry_.span(k).width, first = geometry_.first_row(k);
  Mover& mover = store_.mover(step.side);
  switch (step.op) {
    case Op::rows:
    case Op::pack:
      mover.pack(calls_, store_.lists(k), store_.a(0, 0), store_.lda,
                 {range.begin, static_cast<int>(range.count()), 1 << 30, 0}, grid_.row, stream);
      break;
    case Op::unpack:
      mover.unpack(calls_, store_.a(0, 0), store_.lda, stream);
      break;
    case Op::solve:
      calls_.gemm('T', range.count(), width, width, 1, mover.gathered(), mover.ld(), store_.mixed(k), width, 0,
                  store_.solved(step.side), mover.ld(), stream);
      break;
    case Op::place:
      if (geometry_.top(k))
        calls_.turn(store_.solved(step.side), mover.ld(), store_.a(first, range.begin), store_.lda, width,
                    range.count(), stream);
      break;
    default:
      update(step, stream);
  }
}

void Factorization::update(const Step& step, const gpu::Stream& stream) {
  const int k = step.k;
  const Range range = columns(step);
  const Side whole = step.side == Side::next ? Side::left : step.side;
  const Index width = geometry_.span(k).width, top = geometry_.top_rows(k);
  const double* u = store_.solved(whole) + (range.begin - geometry_.columns(k, whole).begin);
  calls_.gemm('T', geometry_.rows(k) - top, range.count(), width, -1, store_.local(k) + top, store_.ld(k), u,
              store_.mover(whole).ld(), 1, store_.a(geometry_.first_row(k) + top, range.begin), store_.lda, stream);
}

void Factorization::on_host(const Step& step) {
  Mover& mover = store_.mover(step.side);
  switch (step.op) {
    case Op::plan:
      plan(step.k);
      break;
    case Op::send:
      send(step.k);
      break;
    case Op::arrive:
      until([&] { return broadcast(step.k).received() && broadcast(step.k).settled(); });
      break;
    case Op::exchange:
      mover.begin(grid_, binary(geometry_.columns(step.k, step.side).count()));
      break;
    default:
      until([&] { return mover.poll(); });
  }
}

void Factorization::plan(int k) {
  const Index begin = geometry_.span(k).begin, width = geometry_.span(k).width;
  const bool came = !geometry_.mine(k) && setup_.staged;
  const Index* offsets = came ? reinterpret_cast<const Index*>(store_.host_message(k)) : store_.host_pivots(k);
  for (Index i = 0; i < width; ++i) pivots_.push_back(begin + offsets[i]);
  const auto newest = std::span<const Index>(pivots_).last(static_cast<std::size_t>(width));
  store_.lists(k).fill(hpl::share_rows(hpl::plan_rows(begin, newest), geometry_.part.rows, grid_.row), 0);
  if (progress_) progress_(begin);
}

void Factorization::send(int k) {
  const auto segment = std::max<Index>(1, setup_.base.segment_bytes / static_cast<Index>(sizeof(double)));
  double* message = setup_.staged ? store_.host_message(k) : store_.message(k);
  broadcast(k).start(setup_.base.broadcast, geometry_.owner(k), grid_, message, store_.message_doubles(k), segment);
}

bool Factorization::binary(Index columns) const {
  const auto& c = setup_.base;
  return c.exchange == hpl::Exchange::binary || (c.exchange == hpl::Exchange::mix && columns <= c.exchange_threshold);
}

void Factorization::move_on() {
  for (auto& one : broadcasts_) one.poll();
  if (setup_.base.p == 1) return;
  for (const Side side : {Side::ahead, Side::left, Side::right}) store_.mover(side).poll();
}

std::vector<Interval> Factorization::timeline() {
  std::vector<Interval> all = std::move(host_times_);
  lanes_.tell([&](const Step& step, double begin, double end) { all.push_back({step.lane, step.op, begin, end}); });
  return all;
}

}  // namespace shakedown::hpl_gpu
