// The factorization on one rank: which thread does what when.
//
// Every panel k updates the columns to its right. The columns of the next `depth` panels are brought up to date by the
// gang that factors them, so that a panel is ready before the update by its predecessor ends. All other columns form
// two sides, left and right. A side goes through stages, each cut into pieces that any thread takes: (with several
// process rows: pack the rows to be exchanged, exchange them,) gather and solve for the rows of U by columns, update by
// rows. Nobody waits for an iteration to end: a side begins with panel k + 1 as soon as that panel is there and the
// side itself has seen panel k, and while one side's rows are exchanged the other is updated.
//
// Thread 0 alone calls MPI. It leads the gang, unless it is a progress thread, which only serves messages.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "broadcast.hpp"
#include "common/clock.hpp"
#include "gang.hpp"
#include "system.hpp"

namespace shakedown::hpl {

/// Charges the time since the last charge to one account. One thread charges; others may look on.
class Ledger {
 public:
  void begin() { last_ = now_s(); }
  void charge(double Shares::*account) {
    const double now = now_s();
    std::atomic_ref(sum_.*account).store(sum_.*account + (now - last_), std::memory_order_relaxed);
    last_ = now;
  }
  void add_to(Shares& total) {
    for (const auto& account : kAccounts) {
      total.*account.seconds += std::atomic_ref(sum_.*account.seconds).load(std::memory_order_relaxed);
    }
  }

 private:
  Shares sum_;
  double last_ = 0;
};

class Factorization {
 public:
  /// Told by the leader after each panel: how many columns' updates are done, and where the thread-seconds went so far.
  using Progress = std::function<void(Index columns, const Shares& so_far)>;

  Factorization(const Config& config, const Grid& grid, const Blas& blas, const Kernels& loops, Team& team,
                System& system, Progress progress);
  ~Factorization();

  /// Factor and, where it is not stopped before, solve. Every rank of the grid calls it.
  Result run();

 private:
  enum class Stage { idle, pack, packed, moving, solve, update };
  struct Side {   // one part of the columns right of those that the gang updates
    Index k = 0;  // the panel that it is at, or waits for: it has seen all before
    Index begin = 0, end = 0;
    Index next = 0,
          left = 0;  // of the stage: what nobody has taken yet, how much is not done; columns, or rows in update
    std::atomic<Stage> stage{Stage::idle};
  };
  struct Work {
    Stage stage = Stage::idle;  // idle: nothing to do
    int side = 0;
    Index begin = 0, end = 0;
  };
  struct alignas(128) Seat {
    Ledger ledger;
    std::vector<double> right_side;  // of the triangular solve: NB rows of a few columns
    Index joined = -1;               // the last panel whose gang this thread was in
    double begun = 0, flop = 0;      // its piece of an update
    double busy_until = 0;           // when it is expected to end
  };

  // What the distribution says.
  [[nodiscard]] Index columns_of(Index k) const { return std::min(config_.nb, config_.n - k * config_.nb); }
  [[nodiscard]] Index first_row(Index k) const;
  [[nodiscard]] Index bulk_begin(Index k) const;
  [[nodiscard]] std::pair<Index, Index> part(Index k, int side) const;
  void choose_splits();
  [[nodiscard]] bool mine(Index k) const { return k % config_.q == grid_.column; }
  void shape_panel(Index k);
  [[nodiscard]] Panel& panel(Index k) const {
    return system_.panels[static_cast<std::size_t>(k % panel_slots(config_))];
  }

  // Threads.
  void work(int thread);
  bool lead(Seat& seat);
  bool join(Seat& seat, int member);
  void do_work(const Work& work, int thread);
  [[nodiscard]] Shares shares();
  [[nodiscard]] bool finished() const { return finished_.load(std::memory_order_acquire); }

  // Panels.
  [[nodiscard]] bool can_begin(Index k);
  [[nodiscard]] bool slot_free(Index k) const;
  [[nodiscard]] int gang_for(Index k) const;
  void factor_panel(Index k, int member, int members, Seat& seat);
  template <class Fill>
  void look_ahead(Index k, Index earlier, int member, int members, Seat& seat, const Fill& fill);
  void exchange_ahead(const Panel& from, Index begin, Index end, Seat& seat);
  void publish(Index k);
  void exchange_pivots(std::vector<double>& message);
  void serve_pivots();

  // Sides.
  Work take(int thread);
  bool begin_side(int side);
  void finish(const Work& work, Seat& seat);
  void expect(Seat& seat, double flop);
  void learn(Seat& seat);
  void next_stage(Side& side);
  [[nodiscard]] bool binary_exchange(Index columns) const;
  [[nodiscard]] Index rows_at_once(const Side& side, int thread) const;
  void gather_and_solve(const Panel& panel, RowExchange* exchange, Index begin, Index end, Seat& seat);
  [[nodiscard]] std::pair<double*, Index> u_rows(const Panel& panel, RowExchange* exchange, Index begin) const;
  void update(const Panel& panel, const double* u, Index ldu, Index begin, Index end, Index row_begin, Index row_end);
  [[nodiscard]] bool columns_done(Index k, Index begin, Index end) const;
  void advance();

  // Messages; thread 0 only.
  void poll();
  void poll_panels();
  [[nodiscard]] bool may_receive(Index k);
  void poll_rows();
  [[nodiscard]] bool quiet();

  const Config& config_;
  const Grid& grid_;
  const Blas& blas_;
  const Kernels& loops_;
  Team& team_;
  System& system_;
  Progress progress_;
  Factorizer factorizer_;

  Index panels_, panel_stop_, bulk_stop_;
  int leader_ = 0, workers_ = 1;
  bool alone_ = true;  // one rank
  std::vector<Seat> seats_;
  std::vector<double> stamps_;
  double start_s_ = 0;

  std::atomic<Index> ready_{0};       // panels that are there
  std::atomic<Index> gang_open_{-1};  // the panel whose gang gathers, and its size
  Index next_own_ = 0;                // the leader's: its next panel
  std::atomic<bool> finished_{false};

  SpinLock lock_;  // of what follows
  Side sides_[2];
  double flop_s_ = 0;          // seconds that an operation of the update takes a thread
  double panel_s_ = 0;         // seconds that a row of the last panel took
  Index bulk_done_ = 0;        // panels that both sides have seen
  std::vector<Index> splits_;  // where the right side begins, panel by panel

  std::vector<PanelBroadcast> broadcasts_;  // slot by slot
  std::atomic<Index> sent_{0};              // panels whose sending has begun, or that others send
  Index receiving_ = -1;
  std::atomic<Stage> ahead_{Stage::idle};  // of the look-ahead's exchange
  std::atomic<std::vector<double>*> pivot_request_{nullptr};
  std::vector<double> other_pivot_;  // the message that comes while pivots are exchanged
  std::vector<Index> pivots_;
};

}  // namespace shakedown::hpl
