#include "pairing.hpp"

#include <algorithm>
#include <numeric>
#include <random>

namespace shakedown::multi_pair {

std::vector<Pair> pair_up(const std::vector<RankPlace>& places, Placement placement, int most) {
  const int ranks = static_cast<int>(places.size());
  std::vector<Pair> pairs;
  if (placement == Placement::halves) {
    const int count = most == 0 ? ranks / 2 : most;
    for (int rank = 0; 2 * count <= ranks && rank < count; ++rank) pairs.emplace_back(rank, rank + count);
    return pairs;
  }
  std::vector<bool> taken(places.size());
  for (int a = 0; a < ranks; ++a) {
    for (int b = a + 1; b < ranks && !taken[static_cast<std::size_t>(a)]; ++b) {
      if (taken[static_cast<std::size_t>(b)]) continue;
      if (between(places[static_cast<std::size_t>(a)], places[static_cast<std::size_t>(b)]) != placement) continue;
      taken[static_cast<std::size_t>(a)] = taken[static_cast<std::size_t>(b)] = true;
      pairs.emplace_back(a, b);
    }
  }
  if (most > 0 && std::ssize(pairs) > most) pairs.resize(static_cast<std::size_t>(most));
  return pairs;
}

std::vector<int> ring_order(int ranks, int number) {
  std::vector<int> order(static_cast<std::size_t>(ranks));
  std::iota(order.begin(), order.end(), 0);
  if (number == 0) return order;
  std::mt19937_64 random(static_cast<std::uint64_t>(number));  // whose numbers the language's standard fixes
  for (std::size_t last = order.size(); last > 1; --last) std::swap(order[last - 1], order[random() % last]);
  return order;
}

Neighbours neighbours(const std::vector<int>& order, int rank) {
  const auto at = static_cast<std::size_t>(std::find(order.begin(), order.end(), rank) - order.begin());
  return {order[(at + order.size() - 1) % order.size()], order[(at + 1) % order.size()]};
}

}  // namespace shakedown::multi_pair
