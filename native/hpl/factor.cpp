#include "factor.hpp"

#include <cstring>
#include <mutex>
#include <tuple>

#include "back.hpp"
#include "solve.hpp"

namespace shakedown::hpl {
namespace {

constexpr Index kPackColumns = 512;   // that a thread packs at a time
constexpr Index kLeastRows = 48;      // of a product: shorter ones are slow
constexpr double kShareOfRest = 0.6;  // of a thread's part of the rows left, what it takes at once
constexpr double kMemory = 0.5;       // of the estimates of speed, for the newest measurement
constexpr double kResplit = 0.3;   // the columns are divided anew when the left side has shrunk to so much of its share
constexpr Index kGangs = 1 << 16;  // above any number of threads
constexpr double kPollFlop = 1e9;  // after which the MPI thread looks for messages: some ten milliseconds

}  // namespace

Factorization::Factorization(const Config& config, const Grid& grid, const Blas& blas, const Kernels& loops, Team& team,
                             System& system, Progress progress)
    : config_(config),
      grid_(grid),
      blas_(blas),
      loops_(loops),
      team_(team),
      system_(system),
      progress_(std::move(progress)),
      factorizer_(config, grid, blas, loops, [this](auto& message) { exchange_pivots(message); }),
      panels_((config.n + config.nb - 1) / config.nb),
      leader_(config.progress_thread ? 1 : 0),
      workers_(team.size() - leader_),
      alone_(config.p * config.q == 1),
      seats_(static_cast<std::size_t>(team.size())),
      broadcasts_(static_cast<std::size_t>(panel_slots(config))) {
  const bool whole = config.stop_after < 0;
  bulk_stop_ = whole ? panels_ : std::min(panels_, config.stop_after + 1);
  panel_stop_ = whole ? panels_ : std::min(panels_, bulk_stop_ + std::min(config.depth, 1));
  stamps_.resize(static_cast<std::size_t>(bulk_stop_));
  choose_splits();
  next_own_ = grid.column;
  for (auto& seat : seats_) seat.right_side.resize(static_cast<std::size_t>(config.nb * kSolveColumns));
}

Factorization::~Factorization() = default;

// ------------------------------------------------------------------------------------------ what the distribution says

Index Factorization::first_row(Index k) const {
  return system_.row_map.count(std::min(config_.n, k * config_.nb), grid_.row);
}

void Factorization::shape_panel(Index k) {
  const bool top = system_.row_map.owner(k * config_.nb) == grid_.row;
  panel(k).shape(k, columns_of(k), system_.height - first_row(k), top ? columns_of(k) : 0);
  if (mine(k)) panel(k).place(system_.row(first_row(k)) + system_.column_map.local(k * config_.nb), system_.lda);
}

/// The first local column that panel k updates by sides: those of the next `depth` panels are the gang's.
Index Factorization::bulk_begin(Index k) const {
  return system_.column_map.count(std::min(config_.n, (k + 1 + config_.depth) * config_.nb), grid_.column);
}

/// The left (0) or right (1) part of the columns that panel k updates by sides.
std::pair<Index, Index> Factorization::part(Index k, int side) const {
  const Index middle = splits_[static_cast<std::size_t>(k)];
  return side == 0 ? std::pair{bulk_begin(k), middle} : std::pair{middle, system_.width};
}

/// The left side shrinks with each panel. When little of it is left the rest is divided anew, which both sides must
/// then wait for.
void Factorization::choose_splits() {
  Index middle = -1;
  for (Index k = 0; k < bulk_stop_; ++k) {
    const Index begin = bulk_begin(k);
    const Index fresh = begin + split_column(config_, system_.width - begin);
    if (middle < begin || static_cast<double>(middle - begin) < kResplit * static_cast<double>(fresh - begin)) {
      middle = fresh;
    }
    splits_.push_back(middle);
  }
}

// ------------------------------------------------------------------------------------------------------------- threads

Result Factorization::run() {
  MPI_Barrier(grid_.all);
  start_s_ = now_s();
  Result result;
  if (config_.stop_after < 0) result.x.resize(static_cast<std::size_t>(config_.n));
  BackSubstitution back(config_, grid_, loops_, system_, result.x);
  team_.run([&](int thread) {
    work(thread);
    if (config_.stop_after >= 0) return;
    team_.barrier();
    back.run(team_, thread);
    seats_[static_cast<std::size_t>(thread)].ledger.charge(&Shares::other);
  });
  result.seconds = now_s() - start_s_;
  result.stamps = stamps_;
  result.pivots = pivots_;
  result.shares = shares();
  return result;
}

Shares Factorization::shares() {
  Shares total;
  for (auto& seat : seats_) seat.ledger.add_to(total);
  return total;
}

void Factorization::work(int thread) {
  auto& seat = seats_[static_cast<std::size_t>(thread)];
  seat.ledger.begin();
  const int member = thread - leader_;
  Patience patience;
  while (!finished()) {
    if (thread == 0 && !alone_) {
      poll();
      seat.ledger.charge(&Shares::messages);
    }
    bool did = false;
    if (member >= 0) {
      did = member == 0 ? lead(seat) : join(seat, member);
      if (!did) {
        const Work next = take(thread);
        did = next.stage != Stage::idle;
        if (did) do_work(next, thread);
      }
    }
    if (did) {
      patience = {};
    } else {
      patience.wait();
      seat.ledger.charge(&Shares::wait);
    }
  }
  if (thread != 0 || alone_) return;
  while (!quiet()) poll();  // others may still need what I pass on
  seat.ledger.charge(&Shares::messages);
}

/// The leader: factor my next panel if everything that it needs is there.
bool Factorization::lead(Seat& seat) {
  const Index k = next_own_;
  if (k >= panel_stop_ || !can_begin(k)) return false;
  const int members = gang_for(k);
  gang_open_.store(k * kGangs + members, std::memory_order_release);
  factor_panel(k, 0, members, seat);
  next_own_ += config_.q;
  if (progress_) {
    Index done = 0;
    {
      const std::lock_guard guard(lock_);
      done = bulk_done_;
    }
    progress_(std::min(config_.n, done * config_.nb), shares());
  }
  return true;
}

bool Factorization::join(Seat& seat, int member) {
  const Index open = gang_open_.load(std::memory_order_acquire);
  if (open == seat.joined) return false;
  seat.joined = open;
  const int members = static_cast<int>(open % kGangs);
  if (member >= members) return false;
  factor_panel(open / kGangs, member, members, seat);
  return true;
}

void Factorization::do_work(const Work& work, int thread) {
  auto& seat = seats_[static_cast<std::size_t>(thread)];
  const auto& side = sides_[work.side];
  const Panel& from = panel(side.k);
  RowExchange* exchange = config_.p == 1 ? nullptr : &system_.exchanges[static_cast<std::size_t>(work.side)];
  switch (work.stage) {
    case Stage::pack:
      system_.exchanges[static_cast<std::size_t>(work.side)].pack(system_.row(0), system_.lda, work.begin, work.end);
      seat.ledger.charge(&Shares::rows);
      break;
    case Stage::solve:
      gather_and_solve(from, exchange, work.begin, work.end, seat);
      break;
    default: {
      const auto [u, ldu] = u_rows(from, exchange, side.begin);
      update(from, u, ldu, side.begin, side.end, work.begin, work.end);
      seat.ledger.charge(&Shares::update);
    }
  }
  finish(work, seat);
}

// -------------------------------------------------------------------------------------------------------------- panels

/// All earlier panels are here, no side still updates my columns, and the slot is free.
bool Factorization::can_begin(Index k) {
  if (ready_.load(std::memory_order_acquire) < k) return false;
  const Index begin = system_.column_map.local(k * config_.nb);
  const std::lock_guard guard(lock_);
  if (bulk_done_ <= k - panel_slots(config_)) return false;
  if (config_.q > 1 && !slot_free(k)) return false;
  return config_.depth == 0 ? bulk_done_ >= k : columns_done(k - 1 - config_.depth, begin, begin + columns_of(k));
}

/// How many threads factor panel k: so many that it is done, with its look-ahead, before the others have updated the
/// rest.
int Factorization::gang_for(Index k) const {
  if (config_.panel_threads > 0) return std::min(config_.panel_threads, workers_);
  if (config_.depth == 0) return workers_;
  // In units of a product's operation: the look-ahead is one product of the panel's width, the factorization costs
  // twice its operations, and the rest is two for each entry and column.
  const auto columns = static_cast<double>(system_.width - bulk_begin(k > 0 ? k - 1 : 0));
  const auto width = static_cast<double>(columns_of(k));
  const double panel = 4 * width;
  const double all = panel + 2 * columns;
  const double share = panel / all * workers_;
  return std::clamp(static_cast<int>(share + 0.75), 1, workers_);
}

void Factorization::factor_panel(Index k, int member, int members, Seat& seat) {
  Panel& next = panel(k);
  const Index columns = columns_of(k);
  const Index begin = first_row(k);
  if (member == 0) shape_panel(k);
  {
    const std::lock_guard guard(lock_);
    seat.begun = now_s();
    seat.busy_until = seat.begun + panel_s_ * static_cast<double>(system_.height - begin);
  }
  factorizer_.meet(members);
  seat.ledger.charge(&Shares::wait);
  const Index left = system_.column_map.local(k * config_.nb);
  const auto mine = Factorizer::slice(next.rows, member, members);
  const auto fill = [&] {
    if (next.in_place()) return;
    loops_.transpose(mine.second - mine.first, columns, system_.row(begin + mine.first) + left, system_.lda,
                     next.local() + mine.first, next.ld);
  };
  const Index earliest = std::max<Index>(0, k - config_.depth);
  for (Index earlier = earliest; earlier < k; ++earlier) look_ahead(k, earlier, member, members, seat, fill);
  if (earliest == k) fill();
  factorizer_.run(next, member, members);
  if (member == 0) {
    if (next.top > 0) {  // the block on the diagonal is needed by the back substitution
      for (Index i = 0; i < columns; ++i) {
        for (Index j = i; j < columns; ++j) system_.row(begin + i)[left + j] = next.l1()[i + j * columns];
      }
    }
    publish(k);
  }
  {
    const std::lock_guard guard(lock_);
    if (member == 0) panel_s_ = (now_s() - seat.begun) / static_cast<double>(std::max<Index>(1, next.rows));
    seat.busy_until = 0;
  }
  seat.ledger.charge(&Shares::panel);
}

/// Bring the columns of panel k up to date with an earlier panel: the leader solves for U, all multiply their rows. By
/// the last of the earlier ones the rows are updated where the panel is factored: `fill` takes them there.
template <class Fill>
void Factorization::look_ahead(Index k, Index earlier, int member, int members, Seat& seat, const Fill& fill) {
  const Panel& from = panel(earlier);
  const Index begin = system_.column_map.local(k * config_.nb);
  const Index end = begin + columns_of(k);
  RowExchange* exchange = config_.p == 1 ? nullptr : &system_.exchanges[2];
  if (member == 0) {
    if (exchange != nullptr) exchange_ahead(from, begin, end, seat);
    gather_and_solve(from, exchange, begin, end, seat);
  }
  factorizer_.meet(members);
  const auto [u, ldu] = u_rows(from, exchange, begin);
  Panel& next = panel(k);
  const auto [first, last] = Factorizer::slice(next.rows, member, members);
  if (earlier + 1 == k && !next.in_place()) {
    fill();
    if (first < last) {
      blas_.gemm('N', 'T', last - first, end - begin, from.columns, -1, from.l2() + first, from.ld, u, ldu, 1,
                 next.local() + first, next.ld);
    }
  } else {  // a deeper look-ahead: rows of the panels between are updated too
    const Index above = first_row(k) - first_row(earlier + 1);
    if (member == 0 && above > 0) update(from, u, ldu, begin, end, 0, above);
    update(from, u, ldu, begin, end, above + first, above + last);
    factorizer_.meet(members);
  }
  seat.ledger.charge(&Shares::panel);
}

/// Panel k is here: work out what its pivots move, and let the sides begin.
void Factorization::publish(Index k) {
  Panel& here = panel(k);
  const std::span<const Index> pivots(here.pivots(), static_cast<std::size_t>(here.columns));
  pivots_.insert(pivots_.end(), pivots.begin(), pivots.end());
  here.shares = share_rows(plan_rows(k * config_.nb, pivots), system_.row_map, grid_.row);
  here.inverse = invert(loops_, config_.solve, here.l1(), here.columns);
  const std::lock_guard guard(lock_);
  ready_.store(k + 1, std::memory_order_release);
  advance();
}

// --------------------------------------------------------------------------------------------------------------- sides

/// The next piece of work for a thread: of the side that is behind, else of the other.
Factorization::Work Factorization::take(int thread) {
  const std::lock_guard guard(lock_);
  for (int s = 0; s < 2; ++s) {
    while (begin_side(s)) {
    }
  }
  const int first = sides_[1].k < sides_[0].k ? 1 : 0;
  for (const int s : {first, 1 - first}) {
    auto& side = sides_[s];
    const Stage stage = side.stage.load(std::memory_order_acquire);
    Index step = 0;
    if (stage == Stage::pack) step = std::min(kPackColumns, side.end - side.next);
    if (stage == Stage::solve) step = std::min(kSolveColumns, side.end - side.next);
    if (stage == Stage::update) step = rows_at_once(side, thread);
    if (step <= 0) continue;
    if (stage == Stage::update) {
      const Index entries = step * (side.end - side.begin);
      expect(seats_[static_cast<std::size_t>(thread)], 2 * static_cast<double>(entries * panel(side.k).columns));
    }
    const Index begin = side.next;
    side.next += step;
    return {stage, s, begin, side.next};
  }
  return {};
}

/// Under the lock: let a side that waits begin with its next panel, if that is there; true where the side has no
/// columns for it, and so has seen it already.
bool Factorization::begin_side(int s) {
  auto& side = sides_[s];
  const Index k = side.k;
  if (side.stage.load(std::memory_order_relaxed) != Stage::idle || k >= bulk_stop_) return false;
  if (ready_.load(std::memory_order_acquire) <= k) return false;
  const auto at = static_cast<std::size_t>(k);
  if (k > 0 && splits_[at] != splits_[at - 1] && sides_[1 - s].k < k) return false;
  std::tie(side.begin, side.end) = part(k, s);
  if (side.begin >= side.end) {
    ++side.k;
    advance();
    return true;
  }
  side.next = side.begin;
  side.left = side.end - side.begin;
  if (config_.p > 1) {
    system_.exchanges[static_cast<std::size_t>(s)].begin(panel(k).shares, grid_, binary_exchange(side.left), side.begin,
                                                         side.end);
  }
  side.stage.store(config_.p > 1 ? Stage::pack : Stage::solve, std::memory_order_release);
  return false;
}

bool Factorization::binary_exchange(Index columns) const {
  return config_.exchange == Exchange::binary ||
         (config_.exchange == Exchange::mix && columns <= config_.exchange_threshold);
}

void Factorization::finish(const Work& work, Seat& seat) {
  const std::lock_guard guard(lock_);
  if (work.stage == Stage::update) learn(seat);
  auto& side = sides_[work.side];
  side.left -= work.end - work.begin;
  if (side.left == 0) next_stage(side);
}

/// Under the lock: all of a stage is done.
void Factorization::next_stage(Side& side) {
  const Stage stage = side.stage.load(std::memory_order_relaxed);
  if (stage == Stage::pack) {
    side.stage.store(Stage::packed, std::memory_order_release);
    return;
  }
  if (stage == Stage::solve) {
    side.next = 0;
    side.left = panel(side.k).l2_rows();
    if (side.left > 0) {
      side.stage.store(Stage::update, std::memory_order_release);
      return;
    }
  }
  ++side.k;
  side.stage.store(Stage::idle, std::memory_order_release);
  advance();
}

/// Most of a thread's part of the rows, so that products are large; its part is such that all threads would end
/// together, as far as the speed of earlier pieces tells. What is left over evens out the rest.
Index Factorization::rows_at_once(const Side& side, int thread) const {
  const Index remaining = panel(side.k).l2_rows() - side.next;
  const double row_s = 2 * static_cast<double>((side.end - side.begin) * panel(side.k).columns) * flop_s_;
  double elsewhere = 0;  // rows that the others could do in the time that they are still busy
  const double now = now_s();
  for (const auto& seat : seats_) {
    if (row_s > 0) elsewhere += std::max(0.0, seat.busy_until - now) / row_s;
  }
  double rows =
      kShareOfRest * std::min(static_cast<double>(remaining), (static_cast<double>(remaining) + elsewhere) / workers_);
  if (thread == 0 && !alone_) {
    rows = std::min(rows, kPollFlop / static_cast<double>(2 * (side.end - side.begin) * config_.nb));
  }
  const Index most = most_rows_at_once(system_.height);
  const Index whole = std::max(kLeastRows, round_up(std::min(static_cast<Index>(rows), most), 8));
  return remaining - whole < kLeastRows / 2 ? remaining : whole;
}

/// Under the lock: a thread is busy with so many operations from now on.
void Factorization::expect(Seat& seat, double flop) {
  seat.begun = now_s();
  seat.flop = flop;
  seat.busy_until = seat.begun + flop * flop_s_;
}

/// Under the lock: what it was busy with is done.
void Factorization::learn(Seat& seat) {
  const double passed = now_s() - seat.begun;
  if (seat.flop > 0)
    flop_s_ = flop_s_ > 0 ? (1 - kMemory) * flop_s_ + kMemory * passed / seat.flop : passed / seat.flop;
  seat.busy_until = 0;
}

/// Put the rows that the pivots chose on top, in columns [begin, end), and solve for the rows of U.
void Factorization::gather_and_solve(const Panel& from, RowExchange* exchange, Index begin, Index end, Seat& seat) {
  const auto& shares = from.shares;
  double* g = seat.right_side.data();
  for (Index at = begin; at < end; at += kSolveColumns) {
    const Index columns = std::min(kSolveColumns, end - at);
    const auto bytes = static_cast<std::size_t>(columns) * sizeof(double);
    for (Index i = 0; i < from.columns; ++i) {
      const auto seen = static_cast<std::size_t>(i);
      const double* source = exchange == nullptr ? system_.row(shares.mine[seen]) + at : exchange->gathered(i, at);
      std::memcpy(g + shares.order[seen] * columns, source, bytes);
    }
    for (const auto& [row, to] : shares.kept) std::memcpy(system_.row(to) + at, system_.row(row) + at, bytes);
    for (std::size_t r = 0; r < shares.received.size(); ++r) {
      std::memcpy(system_.row(shares.received[r]) + at, exchange->arrived(static_cast<Index>(r), at), bytes);
    }
    seat.ledger.charge(&Shares::rows);
    const auto [u, ldu] = u_rows(from, exchange, at);
    for (Index some = 0; some < columns; some += kSolveAtOnce) {
      solve_rows(blas_, config_.solve, from.l1(), from.inverse, from.columns, std::min(kSolveAtOnce, columns - some),
                 g + some, columns, u + some, ldu);
    }
    seat.ledger.charge(&Shares::solve);
  }
}

/// Where the rows of U begin for columns from `begin` on, and the distance between them: in the matrix itself where the
/// top block is mine, else where the exchange brought them.
std::pair<double*, Index> Factorization::u_rows(const Panel& from, RowExchange* exchange, Index begin) const {
  if (exchange == nullptr || from.top > 0) return {system_.row(first_row(from.k)) + begin, system_.lda};
  return {exchange->gathered(0, begin), exchange->width()};
}

/// A -= L2 U in columns [begin, end), for rows [row_begin, row_end) of L2.
void Factorization::update(const Panel& from, const double* u, Index ldu, Index begin, Index end, Index row_begin,
                           Index row_end) {
  if (row_begin >= row_end || begin >= end) return;
  double* c = system_.row(first_row(from.k + 1) + row_begin) + begin;
  if (from.in_place()) {
    blas_.gemm('N', 'N', end - begin, row_end - row_begin, from.columns, -1, u, ldu, from.row(from.top + row_begin),
               from.stride(), 1, c, system_.lda);
    return;
  }
  blas_.gemm('N', 'T', end - begin, row_end - row_begin, from.columns, -1, u, ldu, from.l2() + row_begin, from.ld, 1, c,
             system_.lda);
}

/// Under the lock: whether every panel up to k has updated the columns [begin, end) by sides.
bool Factorization::columns_done(Index k, Index begin, Index end) const {
  if (k < bulk_done_) return true;
  for (int s = 0; s < 2; ++s) {
    const auto [first, last] = part(k, s);
    if (first < end && last > begin && sides_[s].k <= k) return false;
  }
  return true;
}

/// Under the lock: count the panels whose work is done.
void Factorization::advance() {
  const Index here = ready_.load(std::memory_order_relaxed);
  while (bulk_done_ < std::min(sides_[0].k, sides_[1].k)) {
    stamps_[static_cast<std::size_t>(bulk_done_++)] = now_s() - start_s_;
  }
  if (bulk_done_ == bulk_stop_ && here >= panel_stop_) finished_.store(true, std::memory_order_release);
}

}  // namespace shakedown::hpl
