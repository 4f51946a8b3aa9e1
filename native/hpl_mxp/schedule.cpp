#include "schedule.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "hpl_gpu/lanes.hpp"

namespace shakedown::hpl_mxp {
namespace {

/// Puts the list together. A step is found again by what it does, for which panel and piece.
class Author {
 public:
  Author(const Geometry& geometry, bool staged) : g_(geometry), staged_(staged) {}

  std::vector<Step> write() {
    panel(0);
    for (int k = 0; k + 1 < g_.panels(); ++k) {
      // The rest goes first: it runs while the next panel is made.
      add(Op::update, Lane::update, k, Piece::none, here(k));
      panel(k + 1);
    }
    return std::move(steps_);
  }

 private:
  using Name = std::tuple<Op, int, Piece>;
  using Names = std::vector<Name>;

  /// It waits for those of `after` that are in the list.
  void add(Op op, Lane lane, int k, Piece piece, const Names& after = {}) {
    Step step{op, lane, k, piece};
    std::vector<int> earlier;
    for (const Name& one : after) {
      const auto found = where_.find(one);
      if (found != where_.end()) earlier.push_back(found->second);
    }
    step.after = hpl_gpu::waits_of(steps_, lane, earlier);
    where_[Name{op, k, piece}] = static_cast<int>(steps_.size());
    steps_.push_back(std::move(step));
  }

  /// What makes panel k's left and top be on this device.
  static Names here(int k) {
    return {{Op::narrow, k, Piece::left},
            {Op::narrow, k, Piece::top},
            {Op::deliver, k, Piece::left},
            {Op::deliver, k, Piece::top}};
  }
  /// What reads panel k on this device, in any lane.
  static Names readers(int k) {
    return {{Op::update, k, Piece::none}, {Op::column, k + 1, Piece::none}, {Op::row, k + 1, Piece::none},
            {Op::keep, k, Piece::none},   {Op::left, k, Piece::none},       {Op::top, k, Piece::none}};
  }

  /// Panel k, from the matrix to every rank's device. Its memory was panel k - 2's, which must have been read; its
  /// columns and rows were a part of the rest until panel k - 2.
  void panel(int k) {
    const bool mine = g_.mine(k), top = g_.top(k);
    const Names before = {{Op::update, k - kSlots, Piece::none}};
    if (k > 0 && mine) add(Op::column, Lane::panel, k, Piece::none, before);
    if (k > 0 && top) add(Op::row, Lane::panel, k, Piece::none, before);
    if (mine && top) {
      add(Op::factor, Lane::panel, k, Piece::none, before);
      add(Op::keep, Lane::panel, k, Piece::none);
    }
    if (mine && several_rows()) message(k, Piece::corner_down, top);
    if (top && several_columns()) message(k, Piece::corner_along, mine);
    if (mine) {
      add(Op::left, Lane::panel, k, Piece::none, before);
      add(Op::narrow, Lane::panel, k, Piece::left);
    }
    if (top) {
      add(Op::top, Lane::panel, k, Piece::none, before);
      add(Op::narrow, Lane::panel, k, Piece::top);
    }
    if (k + 1 == g_.panels()) return;  // nothing is left to be updated
    if (several_columns()) begin(k, Piece::left, mine);
    if (several_rows()) begin(k, Piece::top, top);
    if (several_columns()) end(k, Piece::left, mine);
    if (several_rows()) end(k, Piece::top, top);
  }

  void message(int k, Piece piece, bool root) {
    begin(k, piece, root);
    end(k, piece, root);
  }
  void begin(int k, Piece piece, bool root) {
    const int before = k - kSlots;
    if (root) {
      if (staged_) add(Op::collect, Lane::panel, k, piece);
      add(Op::send, Lane::host, k, piece,
          {{Op::collect, k, piece}, {Op::factor, k, Piece::none}, {Op::narrow, k, piece}});
    } else {  // what comes goes into memory of the host, or of the device
      const Names staging = {{Op::deliver, before, piece}, {Op::collect, before, piece}};
      add(Op::send, Lane::host, k, piece, staged_ ? staging : readers(before));
    }
  }
  void end(int k, Piece piece, bool root) {
    add(Op::arrive, Lane::host, k, piece);
    if (!root && staged_) add(Op::deliver, Lane::panel, k, piece, readers(k - kSlots));
  }

  [[nodiscard]] bool several_rows() const { return g_.part.rows.parts > 1; }
  [[nodiscard]] bool several_columns() const { return g_.part.columns.parts > 1; }

  const Geometry& g_;
  bool staged_;
  std::vector<Step> steps_;
  std::map<Name, int> where_;
};

}  // namespace

const char* word(Op op) {
  static const char* const kWords[] = {"column", "row",     "factor", "keep",   "left",    "top",
                                       "narrow", "collect", "send",   "arrive", "deliver", "update"};
  return kWords[static_cast<std::size_t>(op)];
}

std::vector<Step> schedule(const Geometry& geometry, bool staged) { return Author(geometry, staged).write(); }

}  // namespace shakedown::hpl_mxp
