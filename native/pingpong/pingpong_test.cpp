// The pure parts of pingpong: which pairs meet when, which CPU a rank takes, and that the check of content can fail.
#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <vector>

#include "pattern.hpp"
#include "rounds.hpp"

using namespace shakedown;
using namespace shakedown::pingpong;

namespace {

int failures = 0;
void expect(bool truth, const char* what) {
  if (truth) return;
  std::fprintf(stderr, "failed: %s\n", what);
  ++failures;
}
template <class Do>
bool refuses(Do&& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.code != kOk;
  }
  return false;
}

void every_pair_meets_once_in_as_few_rounds_as_possible() {
  for (int ranks = 2; ranks <= 33; ++ranks) {
    const auto rounds = plan_rounds(ranks, "all", true);
    expect(static_cast<int>(rounds.size()) == (ranks % 2 == 0 ? ranks - 1 : ranks), "number of rounds");
    std::map<Pair, int> met;
    for (const auto& round : rounds) {
      std::set<int> busy;
      for (const auto& pair : round) {
        ++met[pair];
        expect(pair.first < pair.second && pair.first >= 0 && pair.second < ranks, "a pair of ranks in order");
        expect(busy.insert(pair.first).second && busy.insert(pair.second).second, "pairs of a round are disjoint");
      }
      expect(static_cast<int>(round.size()) == ranks / 2, "nobody rests who could play");
    }
    expect(static_cast<int>(met.size()) == ranks * (ranks - 1) / 2, "every pair meets");
    expect(std::all_of(met.begin(), met.end(), [](const auto& entry) { return entry.second == 1; }), "and once only");
  }
}

void one_at_a_time_is_one_pair_a_round() {
  const auto rounds = plan_rounds(4, "all", false);
  expect(rounds.size() == 6, "six pairs of four ranks");
  expect(std::all_of(rounds.begin(), rounds.end(), [](const Round& round) { return round.size() == 1; }), "alone");
  expect(plan_rounds(9, "first", false) == std::vector<Round>{{{0, 1}}}, "the first pair");
  expect(plan_rounds(4, "3-1,0-2", false) == std::vector<Round>{{{1, 3}}, {{0, 2}}}, "a list, in order");
  expect(plan_rounds(4, "3-1,0-2,0-1", true) == std::vector<Round>{{{1, 3}, {0, 2}}, {{0, 1}}}, "a list, packed");
  for (const char* wrong : {"0-4", "1-1", "0", "0-", "-1", "a-b", "0-1,", "", "0-1-2"}) {
    expect(refuses([&] { plan_rounds(4, wrong, false); }), wrong);
  }
}

void later_passes_meet_beside_others() {
  for (const int count : {5, 8}) {
    std::vector<int> players(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) players[static_cast<std::size_t>(i)] = 3 * i + 1;
    const Tournament wanted{.players = players, .passes = 3, .most_rounds = 0, .skip = {}};
    const auto rounds = plan_tournament(wanted);
    const auto each = static_cast<std::size_t>(count % 2 == 0 ? count - 1 : count);
    expect(rounds.size() == 3 * each, "every pass has all its rounds");
    std::map<Pair, int> met;
    std::set<Round> different;
    for (const auto& round : rounds) {
      different.insert(round);
      for (const auto& pair : round) ++met[pair];
    }
    expect(static_cast<int>(met.size()) == count * (count - 1) / 2, "the players meet, and nobody else");
    expect(std::all_of(met.begin(), met.end(), [](const auto& entry) { return entry.second == 3; }), "once a pass");
    expect(different.size() > each, "not always beside the same");
    expect(plan_tournament(wanted) == rounds, "the same each time");
  }
  const auto few = plan_tournament({.players = {0, 1, 2, 3}, .passes = 2, .most_rounds = 1, .skip = {}});
  expect(few.size() == 2 && few.front() == Round{{0, 3}, {1, 2}}, "the first rounds of each pass");
  const auto without = plan_tournament({.players = {0, 1, 2}, .passes = 1, .most_rounds = 0, .skip = {{0, 2}}});
  expect(without == std::vector<Round>{{{1, 2}}, {{0, 1}}}, "a pair left out");
  expect(first_of_each({"a", "a", "b", "c", "b"}) == std::vector<int>({0, 2, 3}), "one rank of each host");
  expect(reversed({{0, 3}, {1, 2}}) == Round{{3, 0}, {2, 1}}, "the other way");
  expect(refuses([&] { parse_pairs(4, "3-4", "--skip"); }), "no such rank");
}

void ranks_take_cores_before_siblings() {
  // Two sockets of two cores of two threads: CPUs 0-3 are the cores, 4-7 their second threads.
  std::vector<CpuPlace> places;
  for (int cpu = 0; cpu < 8; ++cpu) {
    const int core = cpu % 4;
    places.push_back({.cpu = cpu, .core = core, .socket = core / 2, .node = core / 2});
  }
  const auto order = compact_order(places);
  expect(order == std::vector<int>({0, 1, 2, 3, 4, 5, 6, 7}), "cores first, a socket at a time");
  const std::vector<std::vector<int>> same(3, order);
  expect(place_ranks(same, {}) == std::vector<int>({0, 1, 2}), "neighbours");
  expect(place_ranks(same, {6, 2, 0}) == std::vector<int>({6, 2, 0}), "as the list says");
  expect(place_ranks({{3}, {1}}, {}) == std::vector<int>({3, 1}), "a launcher's own binding is kept");
  expect(place_ranks({{0, 1}, {0}, {0, 1}}, {}) == std::vector<int>({0, 0, 1}), "and never left for another CPU");
  expect(place_ranks({{0, 1}, {0, 1}, {0, 1}}, {}) == std::vector<int>({0, 1, 0}), "too many share evenly");
  expect(refuses([&] { place_ranks(same, {1, 2}); }), "a list too short");
  expect(refuses([&] { place_ranks(same, {1, 2, 9}); }), "a CPU that may not be used");
  expect(refuses([&] { place_ranks({{0}, {}}, {}); }), "no CPU");
}

void the_check_finds_every_kind_of_damage() {
  const MessageId id{.kernel = 1, .bytes = 1000, .sample = 3, .slot = 5, .from_leader = true};
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{7}, std::size_t{8}, std::size_t{9}, std::size_t{1000}}) {
    std::vector<std::uint8_t> data(bytes);
    fill(data, seed_of(id));
    expect(count_wrong(data, seed_of(id)) == 0, "what was written reads back");
    for (std::size_t at = 0; at < bytes; ++at) {
      data[at] ^= 16;
      expect(count_wrong(data, seed_of(id)) == 1, "one changed byte counts as one");
      data[at] ^= 16;
    }
    fill_wrong(data, seed_of(id));
    expect(count_wrong(data, seed_of(id)) == static_cast<std::int64_t>(bytes), "lost: every byte is wrong");
  }
  std::vector<MessageId> others(6, id);
  others[0].kernel = 2;
  others[1].bytes = 1001;
  others[2].sample = 2;
  others[3].slot = 4;
  others[4].from_leader = false;
  others[5].sender = 1;
  std::vector<std::uint8_t> data(1000);
  fill(data, seed_of(id));
  for (const auto& other : others) expect(count_wrong(data, seed_of(other)) > 900, "another message is told apart");
}

}  // namespace

int main() {
  every_pair_meets_once_in_as_few_rounds_as_possible();
  one_at_a_time_is_one_pair_a_round();
  later_passes_meet_beside_others();
  ranks_take_cores_before_siblings();
  the_check_finds_every_kind_of_damage();
  return failures == 0 ? 0 : 1;
}
