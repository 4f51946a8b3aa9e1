// Who does not answer, where all ranks of a hung operation wait alike: each GPU alone, then pairs of neighbours.
#include <algorithm>

#include "gpu_collectives.hpp"

namespace shakedown::gpu_collectives {
namespace {

using Pair = std::vector<int>;

/// Pairs of neighbours round the ring, in two rounds in which no rank is twice.
std::vector<Pair> pairs_of(const std::vector<int>& seats, std::size_t round) {
  std::vector<Pair> pairs;
  const std::size_t n = seats.size();
  for (std::size_t i = round; i + 1 < n + round && i < n; i += 2) {
    if (i + 1 == n && (n % 2 == 1 || n == 2)) break;
    pairs.push_back({seats[i], seats[(i + 1) % n]});
  }
  return pairs;
}

bool holds(const std::vector<int>& some, int one) { return std::find(some.begin(), some.end(), one) != some.end(); }

/// The pairs that do not answer, of both rounds.
std::vector<Pair> silent_pairs(Bench& bench, const std::vector<int>& seats, double try_s) {
  std::vector<Pair> silent;
  for (const std::size_t round : {0u, 1u}) {
    const auto pairs = pairs_of(seats, round);
    const auto trouble = pairs.empty() ? std::nullopt : bench.try_groups(pairs, try_s);
    if (!trouble) continue;
    for (const Pair& pair : pairs) {
      const bool named = holds(trouble->seats, pair[0]) || holds(trouble->seats, pair[1]);
      if (named || holds(trouble->unfinished, pair[0]) || holds(trouble->unfinished, pair[1])) silent.push_back(pair);
    }
  }
  return silent;
}

}  // namespace

Cause find_cause(Ranks& ranks, Bench& bench, const std::vector<int>& seats, const Trouble& trouble, double try_s) {
  if (!trouble.seats.empty() || !trouble.hung) return {trouble.seats, trouble.text};
  std::vector<Pair> alone;
  alone.reserve(seats.size());
  for (const int seat : seats) alone.push_back({seat});
  if (const auto silent = bench.try_groups(alone, try_s)) {
    const auto& found = silent->seats.empty() ? silent->unfinished : silent->seats;
    return {found, ranks.names_of(found) + ": no answer even to an operation of its own GPU alone"};
  }
  const auto silent = seats.size() > 2 ? silent_pairs(bench, seats, try_s) : std::vector<Pair>{seats};
  if (silent.empty()) {
    return {{},
            "each GPU alone and each pair of neighbours answers: the operation hung among all of them, and none is to "
            "blame by itself"};
  }
  for (const int seat : seats) {
    if (silent.size() > 1 &&
        std::all_of(silent.begin(), silent.end(), [&](const Pair& pair) { return holds(pair, seat); }))
      return {{seat}, ranks.names_of({seat}) + ": no answer to either of its neighbours, which answer to others"};
  }
  std::vector<int> leave_out;
  std::string text;
  for (const Pair& pair : silent) {
    text += (text.empty() ? "" : "; ") + std::string("no answer between ") + ranks.name_of(pair[0]) + " and " +
            ranks.name_of(pair[1]);
    if (!holds(leave_out, pair[0]) && !holds(leave_out, pair[1])) leave_out.push_back(pair[1]);
  }
  return {leave_out, text};
}

}  // namespace shakedown::gpu_collectives
