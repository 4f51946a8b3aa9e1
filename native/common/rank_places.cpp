#include "rank_places.hpp"

#include <algorithm>

namespace shakedown {

const char* name_of(Nearness placement) {
  switch (placement) {
    case Nearness::halves:
      return "halves";
    case Nearness::cache:
      return "cache";
    case Nearness::socket:
      return "socket";
    case Nearness::host:
      return "host";
    case Nearness::hosts:
      return "hosts";
  }
  return "";
}

Nearness between(const RankPlace& a, const RankPlace& b) {
  if (a.host != b.host) return Nearness::hosts;
  if (a.socket != b.socket) return Nearness::host;
  return a.cache >= 0 && a.cache == b.cache ? Nearness::cache : Nearness::socket;
}

Nearness common_to(const std::vector<RankPlace>& places, const std::vector<int>& members) {
  Nearness least = Nearness::cache;
  for (const int member : members) {
    if (member == members.front()) continue;
    // Each with the first is enough: what two others lack, one of them lacks with the first as well.
    least = std::max(
        least, between(places[static_cast<std::size_t>(members.front())], places[static_cast<std::size_t>(member)]));
  }
  return least;
}

std::vector<int> around_first(const std::vector<RankPlace>& places, Nearness placement) {
  std::vector<int> members;
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    if (rank == 0 || between(places.front(), places[rank]) <= placement) members.push_back(static_cast<int>(rank));
  }
  return members;
}

}  // namespace shakedown
