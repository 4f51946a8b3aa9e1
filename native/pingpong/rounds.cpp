#include "rounds.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>

namespace shakedown::pingpong {
namespace {

Pair parse_pair(const std::string& word, int ranks, const std::string& what) {
  const auto wrong = [&] {
    return usage(what + ": '" + word + "' is not a pair of different ranks from 0 to " + std::to_string(ranks - 1),
                 std::string("write ") + (what == "--pairs" ? "first, all, or " : "") + "a list such as 0-1,0-3");
  };
  const auto dash = word.find('-');
  if (dash == std::string::npos) throw wrong();
  const auto number = [&](const char* begin, const char* end) {
    int value = -1;
    const auto [stop, error] = std::from_chars(begin, end, value);
    if (error != std::errc{} || stop != end || begin == end || value < 0 || value >= ranks) throw wrong();
    return value;
  };
  const char* text = word.data();
  const int a = number(text, text + dash);
  const int b = number(text + dash + 1, text + word.size());
  if (a == b) throw wrong();
  return std::minmax(a, b);
}

/// The circle method: one seat is fixed and the others move on by one each round; an odd number gets an empty seat.
std::vector<Round> circle(int ranks) {
  const int seats = ranks + ranks % 2;
  std::vector<Round> rounds;
  for (int turn = 0; turn + 1 < seats; ++turn) {
    Round round;
    const auto sitting = [&](int seat) { return seat == 0 ? 0 : 1 + (seat - 1 + turn) % (seats - 1); };
    for (int seat = 0; seat < seats / 2; ++seat) {
      const Pair pair = std::minmax({sitting(seat), sitting(seats - 1 - seat)});
      if (pair.second < ranks) round.push_back(pair);
    }
    std::sort(round.begin(), round.end());
    rounds.push_back(std::move(round));
  }
  return rounds;
}

/// Each pair in the first round in which both of its ranks are free.
std::vector<Round> pack(const std::vector<Pair>& pairs) {
  std::vector<Round> rounds;
  for (const auto& pair : pairs) {
    const auto free = [&](const Round& round) {
      return std::none_of(round.begin(), round.end(), [&](const Pair& other) {
        return other.first == pair.first || other.first == pair.second || other.second == pair.first ||
               other.second == pair.second;
      });
    };
    const auto found = std::find_if(rounds.begin(), rounds.end(), free);
    if (found == rounds.end()) {
      rounds.push_back({pair});
    } else {
      found->push_back(pair);
    }
  }
  return rounds;
}

/// 64 random bits from a counter (Steele, Lea, Flood 2014: SplitMix64): the same on every machine.
std::uint64_t mixed(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15U;
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

/// Fisher and Yates' shuffle.
std::vector<int> shuffled(std::vector<int> players, int pass) {
  std::uint64_t state = static_cast<std::uint64_t>(pass) << 32U;
  for (std::size_t last = players.size(); last > 1; --last) {
    std::swap(players[last - 1], players[mixed(state++) % last]);
  }
  return players;
}

}  // namespace

std::vector<Pair> parse_pairs(int ranks, const std::string& text, const std::string& what) {
  std::vector<Pair> pairs;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto comma = std::min(text.find(',', begin), text.size());
    pairs.push_back(parse_pair(text.substr(begin, comma - begin), ranks, what));
    begin = comma + 1;
  }
  return pairs;
}

std::vector<Round> plan_tournament(const Tournament& wanted) {
  const auto left_out = [&](const Pair& pair) {
    return std::find(wanted.skip.begin(), wanted.skip.end(), pair) != wanted.skip.end();
  };
  std::vector<Round> rounds;
  for (int pass = 0; pass < wanted.passes; ++pass) {
    const auto players = pass == 0 ? wanted.players : shuffled(wanted.players, pass);
    auto seats = circle(static_cast<int>(players.size()));
    if (wanted.most_rounds > 0 && std::ssize(seats) > wanted.most_rounds) {
      seats.resize(static_cast<std::size_t>(wanted.most_rounds));
    }
    for (const auto& seated : seats) {
      Round round;
      for (const auto& [a, b] : seated) {
        const Pair pair = std::minmax({players[static_cast<std::size_t>(a)], players[static_cast<std::size_t>(b)]});
        if (!left_out(pair)) round.push_back(pair);
      }
      std::sort(round.begin(), round.end());
      if (!round.empty()) rounds.push_back(std::move(round));
    }
  }
  return rounds;
}

std::vector<int> first_of_each(const std::vector<std::string>& hosts) {
  std::vector<int> firsts;
  std::set<std::string> seen;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    if (seen.insert(hosts[rank]).second) firsts.push_back(static_cast<int>(rank));
  }
  return firsts;
}

Round reversed(const Round& round) {
  Round other;
  other.reserve(round.size());
  for (const auto& [a, b] : round) other.emplace_back(b, a);
  return other;
}

std::vector<Round> plan_rounds(int ranks, const std::string& pairs, bool tournament) {
  if (pairs == "all" && tournament) return circle(ranks);
  std::vector<Pair> wanted;
  if (pairs == "all") {
    for (int a = 0; a < ranks; ++a) {
      for (int b = a + 1; b < ranks; ++b) wanted.emplace_back(a, b);
    }
  } else {
    wanted = pairs == "first" ? std::vector<Pair>{{0, 1}} : parse_pairs(ranks, pairs, "--pairs");
  }
  if (tournament) return pack(wanted);
  std::vector<Round> rounds;
  rounds.reserve(wanted.size());
  for (const auto& pair : wanted) rounds.push_back({pair});
  return rounds;
}

std::vector<int> place_ranks(const std::vector<std::vector<int>>& allowed, const std::vector<int>& list) {
  if (!list.empty() && list.size() < allowed.size()) {
    throw usage("--cpus names " + std::to_string(list.size()) + " CPUs for " + std::to_string(allowed.size()) +
                    " ranks on one host",
                "name one for each rank of a host");
  }
  std::map<int, int> taken;  // CPU -> ranks on it
  std::vector<int> chosen;
  for (std::size_t i = 0; i < allowed.size(); ++i) {
    const auto& mine = allowed[i];
    if (mine.empty()) throw cannot("a rank may use no CPU at all");
    int cpu = 0;
    if (list.empty()) {
      cpu = *std::min_element(mine.begin(), mine.end(), [&](int a, int b) { return taken[a] < taken[b]; });
    } else {
      cpu = list[i];
      if (std::find(mine.begin(), mine.end(), cpu) == mine.end()) {
        throw usage("--cpus: local rank " + std::to_string(i) + " may not use CPU " + std::to_string(cpu),
                    "it may use " + format_cpu_list(mine));
      }
    }
    ++taken[cpu];
    chosen.push_back(cpu);
  }
  return chosen;
}

}  // namespace shakedown::pingpong
