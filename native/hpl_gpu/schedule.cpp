#include "schedule.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "lanes.hpp"

namespace shakedown::hpl_gpu {
namespace {

/// Puts the list together. A step is found again by what it does, for whom.
class Author {
 public:
  Author(const Geometry& geometry, bool staged) : g_(geometry), staged_(staged), alone_(g_.part.rows.parts == 1) {}

  std::vector<Step> write() {
    begin_panel(0);
    end_panel(0);
    if (!alone_) begin_exchanges(0);
    for (int k = 0; k < g_.panels(); ++k) alone_ ? one_row(k) : several_rows(k);
    return std::move(steps_);
  }

 private:
  using Name = std::tuple<Op, int, Side>;
  struct After {
    Op op;
    int k;
    Side side = Side::ahead;
  };
  using Afters = std::vector<After>;

  /// It waits for those of `after` that are in the list.
  void add(Op op, Lane lane, int k, Side side, const Afters& after = {}) {
    Step step{op, lane, k, side};
    std::vector<int> earlier;
    for (const After& one : after) {
      const auto found = where_.find(Name{one.op, one.k, one.side});
      if (found != where_.end()) earlier.push_back(found->second);
    }
    step.after = waits_of(steps_, lane, earlier);
    where_[Name{op, k, side}] = static_cast<int>(steps_.size());
    steps_.push_back(std::move(step));
  }
  void add(Op op, Lane lane, int k, const Afters& after = {}) { add(op, lane, k, Side::ahead, after); }

  [[nodiscard]] bool any(int k, Side side) const { return !g_.columns(k, side).empty(); }
  [[nodiscard]] bool travels() const { return g_.part.columns.parts > 1; }

  /// What reads panel k in the lanes of the update and of the panel, and its lists in that of the rows.
  static Afters readers(int k) {
    Afters all;
    for (const Side side : {Side::ahead, Side::next, Side::left, Side::right}) {
      for (const Op op : {Op::rows, Op::solve, Op::update, Op::unpack}) all.push_back({op, k, side});
    }
    all.push_back({Op::reorder, k});
    return all;
  }

  // Panel k from the matrix to every rank's device, with its lists. Panels and lists have two memories: those of panel
  // k are panel k - 2's, which must have been read.

  void begin_panel(int k) {
    if (!g_.mine(k)) return;
    Afters before = readers(k - kSlots);
    // Its columns have seen panel k - 1 in the panel's own lane.
    add(Op::load, Lane::panel, k, before);
    add(Op::factor, Lane::panel, k);
    add(Op::keep, Lane::panel, k);
    if (alone_) add(Op::fetch, Lane::panel, k);
    if (travels() && staged_) add(Op::collect, Lane::panel, k);
  }

  void end_panel(int k) {
    const bool mine = g_.mine(k);
    const int before = k - kSlots;
    if (mine) plan(k);
    if (travels()) {
      if (mine) {
        add(Op::send, Lane::host, k, {{Op::collect, k}, {Op::factor, k}});
      } else {  // what comes goes into memory of the host, or of the device
        add(Op::send, Lane::host, k, staged_ ? Afters{{Op::deliver, before}, {Op::collect, before}} : readers(before));
      }
      add(Op::arrive, Lane::host, k);
      if (!mine && staged_) add(Op::deliver, Lane::panel, k, readers(before));
      if (!mine && !staged_) add(Op::fetch, Lane::panel, k);
    }
    if (!mine) plan(k);
    add(Op::upload, Lane::panel, k, readers(before));
    if (!alone_) add(Op::reorder, Lane::panel, k);
  }

  void plan(int k) { add(Op::plan, Lane::host, k, {{Op::fetch, k}, {Op::upload, k - kSlots}}); }

  /// The products with panel k on one side: U transposed, U into the matrix, the rows below.
  void products(int k, Side side, Lane lane, const Afters& after) {
    add(Op::solve, lane, k, side, after);
    add(Op::place, lane, k, side);
    if (side == Side::left && any(k, Side::next)) add(Op::update, lane, k, Side::next);
    if (side != Side::left || g_.columns(k, Side::next).end < g_.columns(k, side).end) add(Op::update, lane, k, side);
  }

  // ---- one process row: rows move within the device

  void one_row(int k) {
    if (any(k, Side::ahead)) {
      // Its columns were the right side's until panel k - 1.
      add(Op::rows, Lane::panel, k, Side::ahead, {{Op::update, k - 1, Side::right}});
      products(k, Side::ahead, Lane::panel, {});
    }
    if (any(k, Side::right)) {
      add(Op::rows, Lane::update, k, Side::right, {{Op::upload, k}});
      products(k, Side::right, Lane::update, {});
    }
    if (k + 1 < g_.panels()) {
      begin_panel(k + 1);
      end_panel(k + 1);
    }
  }

  // ---- several: while one side's rows are exchanged the other is updated

  /// Its columns have seen panel k - 1, whatever side they were of then; and what it packs into was read.
  void pack(int k, Side side) {
    Afters after{{Op::upload, k}, {Op::solve, k - 1, side}, {Op::update, k - 1, Side::right}};
    if (side != Side::right) after.push_back({Op::update, k - 1, Side::next});
    if (side == Side::left) after.push_back({Op::update, k - 1, Side::left});
    add(Op::pack, Lane::rows, k, side, after);
  }
  void exchange(int k, Side side) { add(Op::exchange, Lane::host, k, side, {{Op::pack, k, side}}); }
  void receive(int k, Side side) {
    add(Op::receive, Lane::host, k, side);
    add(Op::unpack, Lane::rows, k, side);
  }

  /// The rows of the right side and of the look-ahead for panel k: the left side is updated meanwhile.
  void begin_exchanges(int k) {
    for (const Side side : {Side::right, Side::ahead}) {
      if (any(k, side)) pack(k, side);
    }
    for (const Side side : {Side::right, Side::ahead}) {
      if (any(k, side)) exchange(k, side);
    }
  }

  void several_rows(int k) {
    if (any(k, Side::ahead)) {
      receive(k, Side::ahead);
      products(k, Side::ahead, Lane::panel, {{Op::unpack, k, Side::ahead}});
    }
    if (any(k, Side::right)) {
      receive(k, Side::right);
      products(k, Side::right, Lane::update, {{Op::unpack, k, Side::right}, {Op::reorder, k}});
    }
    if (any(k, Side::left)) {
      pack(k, Side::left);
      exchange(k, Side::left);
    }
    const bool more = k + 1 < g_.panels();
    if (more) begin_panel(k + 1);
    if (any(k, Side::left)) {
      receive(k, Side::left);
      products(k, Side::left, Lane::update, {{Op::unpack, k, Side::left}, {Op::reorder, k}});
    }
    if (more) {
      end_panel(k + 1);
      begin_exchanges(k + 1);
    }
  }

  const Geometry& g_;
  bool staged_, alone_;
  std::vector<Step> steps_;
  std::map<Name, int> where_;
};

}  // namespace

const char* word(Op op) {
  static const char* const kWords[] = {"load",    "factor",  "keep",   "fetch",   "collect", "plan", "send",
                                       "arrive",  "deliver", "upload", "reorder", "rows",    "pack", "exchange",
                                       "receive", "unpack",  "solve",  "place",   "update"};
  return kWords[static_cast<std::size_t>(op)];
}

std::vector<Step> schedule(const Geometry& geometry, bool staged) { return Author(geometry, staged).write(); }

}  // namespace shakedown::hpl_gpu
