// The plan of a panel's interchanges against making them one by one; every row is accounted for once on every grid; the
// choice between two candidates for a pivot.
#include "rows.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "hpl/testing/reference.hpp"
#include "panel.hpp"
#include "testing/check.hpp"

namespace {

using namespace shakedown::hpl;
using shakedown::Checks;
using testing::Dice;

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

std::vector<Index> one_by_one(Index n, Index first, const std::vector<Index>& pivots) {
  std::vector<Index> rows(at(n));
  std::iota(rows.begin(), rows.end(), Index{0});
  for (std::size_t i = 0; i < pivots.size(); ++i) std::swap(rows[at(first) + i], rows[at(pivots[i])]);
  return rows;
}

void plan(Checks& checks, Index n, Index first, const std::vector<Index>& pivots) {
  const auto expected = one_by_one(n, first, pivots);
  const auto plan = plan_rows(first, pivots);
  std::vector<Index> rows(at(n));
  std::iota(rows.begin(), rows.end(), Index{0});
  for (std::size_t i = 0; i < plan.source.size(); ++i) rows[at(first) + i] = plan.source[i];
  const auto end = first + static_cast<Index>(pivots.size());
  bool right = plan.first == first && plan.source.size() == pivots.size();
  for (const auto& move : plan.displaced) {
    right = right && move.from >= first && move.from < end && move.to >= end;
    rows[at(move.to)] = move.from;
  }
  checks.that(right && rows == expected, "N " + std::to_string(n) + ", from " + std::to_string(first) + ", " +
                                             std::to_string(pivots.size()) + " pivots");
}

/// Each process row's lists, carried out as the factorization does, put every row of a column of numbers in its place.
void shared(Checks& checks, Index n, Index nb, int p, Index first, const std::vector<Index>& pivots) {
  const auto expected = one_by_one(n, first, pivots);
  const auto plan = plan_rows(first, pivots);
  const Cyclic map{nb, p};
  std::vector<RowShares> shares;
  shares.reserve(at(p));
  for (int me = 0; me < p; ++me) shares.push_back(share_rows(plan, map, me));
  const std::string where = "N " + std::to_string(n) + ", NB " + std::to_string(nb) + ", P " + std::to_string(p);

  std::vector<Index> gathered(pivots.size(), -1);
  std::size_t displaced = 0;
  std::vector<Index> found(at(n));
  std::iota(found.begin(), found.end(), Index{0});
  for (int me = 0; me < p; ++me) {
    const auto& mine = shares[at(me)];
    checks.that(mine.begins == shares[0].begins && mine.order == shares[0].order, where + ": all have the same order");
    checks.equal(mine.source_row, map.owner(first), where + ": and know who has the top block");
    const Index begin = mine.begins[at(me)];
    checks.equal(static_cast<Index>(mine.mine.size()), mine.begins[at(me) + 1] - begin, where + ": my rows of U");
    for (std::size_t i = 0; i < mine.mine.size(); ++i) {
      auto& place = gathered[at(mine.order[at(begin) + i])];
      checks.equal(place, -1, where + ": a row of U comes from one rank");
      place = map.global(mine.mine[i], me);
    }
    for (const auto& [from, to] : mine.kept) found[at(map.global(to, me))] = map.global(from, me);
    displaced += mine.kept.size();
    if (me != mine.source_row) {
      checks.that(mine.kept.empty(), where + ": only the top block's rows make room");
      checks.that(std::all_of(mine.sent.begin(), mine.sent.end(), [](auto& list) { return list.empty(); }),
                  where + ": and are sent");
    }
    const auto& sent = shares[at(mine.source_row)].sent[at(me)];
    checks.equal(sent.size(), mine.received.size(), where + ": what is sent is received");
    for (std::size_t r = 0; r < std::min(sent.size(), mine.received.size()); ++r) {
      found[at(map.global(mine.received[r], me))] = map.global(sent[r], mine.source_row);
    }
    displaced += mine.received.size();
  }
  for (std::size_t i = 0; i < gathered.size(); ++i) found[at(first) + i] = gathered[i];
  checks.that(found == expected, where + ": every row is where it belongs");
  checks.equal(displaced, plan.displaced.size(), where + ": each displaced row moves once");
}

std::vector<Index> random_pivots(Dice& dice, Index n, Index first, Index count, int kind) {
  std::vector<Index> pivots;
  for (Index i = 0; i < count; ++i) {
    const Index low = first + i;
    switch (kind) {
      case 0:  // anywhere
        pivots.push_back(dice.between(low, n - 1));
        break;
      case 1:  // inside the block
        pivots.push_back(dice.between(low, first + count - 1));
        break;
      case 2:  // a few rows again and again
        pivots.push_back(std::max(low, n - 1 - dice.below(3)));
        break;
      default:  // none
        pivots.push_back(low);
    }
  }
  return pivots;
}

void plans(Checks& checks) {
  Dice dice(7);
  for (int round = 0; round < 400; ++round) {
    const Index nb = dice.between(1, 12), n = dice.between(1, 80);
    const Index k = dice.below((n + nb - 1) / nb);
    const Index first = k * nb, count = std::min(nb, n - first);
    const auto pivots = random_pivots(dice, n, first, count, round % 4);
    plan(checks, n, first, pivots);
    for (const int p : {1, 2, 3, 4, 6}) shared(checks, n, nb, p, first, pivots);
  }
  plan(checks, 10, 0, {});
  plan(checks, 6, 0, {5, 5, 5, 5, 5, 5});
}

/// Two candidates: the larger magnitude, at a tie the upper row; merging in any order gives the same.
void candidates(Checks& checks) {
  const auto candidate = [](double magnitude, double row, double holds, double value) {
    return std::vector<double>{
        magnitude, row, holds, 0, value, value + 1, holds != 0 ? 8.0 : -1, holds != 0 ? 9.0 : -1};
  };
  const auto none = candidate(-1, 9e15, 0, -5);
  for (const auto& [a, b, row] : {std::tuple{candidate(2, 7, 0, 70), candidate(1, 3, 1, 30), 7.0},
                                  {candidate(2, 7, 1, 70), candidate(2, 3, 0, 30), 3.0},
                                  {candidate(0, 7, 0, 70), none, 7.0},
                                  {candidate(0.5, 4, 1, 40), none, 4.0}}) {
    for (const bool swapped : {false, true}) {
      auto mine = swapped ? b : a;
      merge_pivots(mine, swapped ? a : b);
      checks.equal(mine[1], row, "the row that wins");
      checks.that(mine[4] == 10 * row && mine[5] == 10 * row + 1, "with its values");
      const bool holds = a[2] != 0 || b[2] != 0;
      checks.that((mine[2] != 0) == holds && (!holds || (mine[6] == 8 && mine[7] == 9)), "and the row that gives way");
    }
  }
}

/// The rows of a panel are dealt to a gang without gap or overlap, in whole cache lines.
void slices(Checks& checks) {
  for (Index rows = 0; rows < 200; rows += 7) {
    for (const int members : {1, 2, 3, 4, 7, 16, 64}) {
      Index next = 0;
      for (int member = 0; member < members; ++member) {
        const auto [begin, end] = Factorizer::slice(rows, member, members);
        checks.that(begin == next && end >= begin && (begin % 8 == 0 || begin == rows), "a slice");
        next = end;
      }
      checks.equal(next, rows, "all rows");
    }
  }
}

}  // namespace

int main() {
  Checks checks;
  plans(checks);
  candidates(checks);
  slices(checks);
  return checks.end();
}
