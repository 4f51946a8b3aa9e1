// The schedule of every rank of many grids, looked at as a race detector does: two steps that touch the same memory,
// one of them writing, must be ordered by lanes, by what they wait for, or by the host. Carried out in the list's order
// the results are right (solve_test.cpp): then they are in any order that the streams may take.
#include "schedule.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "hpl_gpu/before.hpp"
#include "testing/check.hpp"

namespace {

using namespace shakedown::hpl_mxp;
using shakedown::Checks;
using shakedown::hpl_gpu::testing::Before;

/// The matrix, a panel's pieces on the device (the corner is one memory, whichever way it travels), and on the host.
enum class Memory { matrix, corner, left, top, host };
struct Access {
  Memory memory;
  Index rows[2], columns[2];  // of the matrix; of others rows[0] is the slot, columns[0] the piece
  bool writes;
};

bool clash(const Access& a, const Access& b) {
  const auto meet = [](const Index* x, const Index* y) { return x[0] < y[1] && y[0] < x[1]; };
  return a.memory == b.memory && (a.writes || b.writes) && meet(a.rows, b.rows) && meet(a.columns, b.columns);
}

bool root(const Geometry& g, const Step& s) { return goes_down(s.piece) ? g.top(s.k) : g.mine(s.k); }

std::vector<Access> accesses(const Geometry& g, const Step& s, bool staged) {
  std::vector<Access> all;
  const int k = s.k;
  const auto matrix = [&](Index r0, Index r1, Index c0, Index c1, bool writes) {
    all.push_back({Memory::matrix, {r0, r1}, {c0, c1}, writes});
  };
  const auto piece = [&](Memory memory, int of, bool writes, Index which = 0) {
    all.push_back({memory, {of % kSlots, of % kSlots + 1}, {which, which + 1}, writes});
  };
  const auto of_piece = [](Piece one) {
    return one == Piece::left ? Memory::left : one == Piece::top ? Memory::top : Memory::corner;
  };
  const Index r0 = g.first_row(k), r1 = r0 + g.top_rows(k), c0 = g.own(k).begin, c1 = g.own(k).end;
  const Index height = g.part.height, width = g.part.width;
  switch (s.op) {
    case Op::column:
      matrix(r0, height, c0, c1, true);
      piece(Memory::left, k - 1, false);
      piece(Memory::top, k - 1, false);
      break;
    case Op::row:
      matrix(r0, r1, c1, width, true);
      piece(Memory::left, k - 1, false);
      piece(Memory::top, k - 1, false);
      break;
    case Op::update:
      matrix(g.first_row(k + 1) + g.top_rows(k + 1), height, g.own(k + 1).end, width, true);
      piece(Memory::left, k, false);
      piece(Memory::top, k, false);
      break;
    case Op::factor:
      matrix(r0, r1, c0, c1, true);
      piece(Memory::corner, k, true);
      break;
    case Op::keep:
      matrix(r0, r1, c0, c1, true);
      piece(Memory::corner, k, false);
      break;
    case Op::left:
      matrix(r1, height, c0, c1, true);
      piece(Memory::corner, k, false);
      break;
    case Op::top:
      matrix(r0, r1, c1, width, true);
      piece(Memory::corner, k, false);
      break;
    case Op::narrow:
      s.piece == Piece::left ? matrix(r1, height, c0, c1, false) : matrix(r0, r1, c1, width, false);
      piece(of_piece(s.piece), k, true);
      break;
    case Op::collect:
      piece(of_piece(s.piece), k, false);
      piece(Memory::host, k, true, static_cast<Index>(s.piece));
      break;
    case Op::deliver:
      piece(Memory::host, k, false, static_cast<Index>(s.piece));
      piece(of_piece(s.piece), k, true);
      break;
    case Op::send:
    case Op::arrive:  // in between all the time
      piece(staged ? Memory::host : of_piece(s.piece), k, !root(g, s), staged ? static_cast<Index>(s.piece) : 0);
      break;
  }
  return all;
}

/// The first pair that races, in words; empty: none.
std::string race(const Geometry& g, const std::vector<Step>& steps, bool staged) {
  const Before before(steps);
  std::vector<std::vector<Access>> all;
  all.reserve(steps.size());
  for (const Step& step : steps) all.push_back(accesses(g, step, staged));
  const auto name = [&](std::size_t i) { return std::string(word(steps[i].op)) + " " + std::to_string(steps[i].k); };
  const auto touch = [&](std::size_t i, std::size_t j) {
    return std::any_of(all[i].begin(), all[i].end(), [&](const Access& one) {
      return std::any_of(all[j].begin(), all[j].end(), [&](const Access& other) { return clash(one, other); });
    });
  };
  for (std::size_t j = 0; j < steps.size(); ++j) {
    for (std::size_t i = 0; i < j; ++i) {
      if (touch(i, j) && !before(i, j)) return name(i) + " and " + name(j);
    }
    if (steps[j].op != Op::arrive) continue;
    // Nobody else between the begin and the end of a message.
    std::size_t begin = j;
    while (steps[begin].op != Op::send || steps[begin].piece != steps[j].piece) --begin;
    for (std::size_t i = begin + 1; i < j; ++i) {
      if (touch(i, j)) return name(i) + " while the message is on its way";
    }
  }
  return "";
}

/// A matrix in blocks of nb columns whose tail is the second half.
Geometry geometry(Index n, Index nb, int p, int q, int rank, Index tail_nb) {
  return shakedown::hpl_gpu::geometry_of({n, n, nb, p, q, tail_nb, n / 2, 0}, rank / q, rank % q);
}

void no_races(Checks& checks) {
  for (const auto& [p, q] : {std::pair{1, 1}, {1, 2}, {2, 1}, {2, 2}, {1, 4}, {4, 1}, {2, 3}, {3, 2}, {3, 3}}) {
    for (const auto& [n, nb, tail] : {std::array<Index, 3>{60, 8, 0}, {61, 8, 3}, {5, 8, 0}, {16, 8, 0}, {33, 4, 0}}) {
      for (int rank = 0; rank < p * q; ++rank) {
        for (const bool staged : {false, true}) {
          const auto g = geometry(n, nb, p, q, rank, tail);
          const auto found = race(g, schedule(g, staged), staged);
          checks.that(found.empty(), found + ": N " + std::to_string(n) + ", " + std::to_string(p) + " x " +
                                         std::to_string(q) + ", rank " + std::to_string(rank) +
                                         (staged ? ", staged" : ", direct"));
        }
      }
    }
  }
}

/// Every wait that is left out somewhere must be noticed somewhere; and what is to overlap may.
void waits_matter(Checks& checks) {
  std::map<Op, std::pair<int, int>> seen;  // left out, noticed
  for (const int rank : {0, 1, 2, 3}) {
    for (const bool staged : {false, true}) {
      const auto g = geometry(60, 8, 2, 2, rank, 0);
      const auto steps = schedule(g, staged);
      for (std::size_t i = 0; i < steps.size(); ++i) {
        if (steps[i].after.empty()) continue;
        auto without = steps;
        without[i].after.clear();
        auto& [left_out, noticed] = seen[steps[i].op];
        ++left_out;
        if (!race(g, without, staged).empty()) ++noticed;
      }
    }
  }
  for (const Op op : {Op::column, Op::row, Op::update, Op::send}) {
    const auto [left_out, noticed] = seen[op];
    checks.that(noticed > 0, std::string("a wait of '") + word(op) + "' that is left out is noticed, " +
                                 std::to_string(noticed) + " of " + std::to_string(left_out));
  }
}

void overlaps(Checks& checks) {
  const auto g = geometry(64, 8, 1, 1, 0, 0);
  const auto steps = schedule(g, false);
  const Before before(steps);
  int found = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (std::size_t j = i + 1; j < steps.size() && steps[i].op == Op::update; ++j) {
      const bool next = steps[j].k == steps[i].k + 1;
      if (next && (steps[j].op == Op::factor || steps[j].op == Op::left || steps[j].op == Op::narrow)) {
        ++found;
        checks.that(!before(i, j), "the next panel is made beside the update");
      }
    }
  }
  checks.that(found > 20, "all of them");
}

}  // namespace

int main() {
  Checks checks;
  no_races(checks);
  waits_matter(checks);
  overlaps(checks);
  return checks.end();
}
