// Which ranks send to which, and the times that follow from when each began and ended: with a known truth.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <utility>

#include "figures.hpp"
#include "pairing.hpp"
#include "rails.hpp"
#include "testing/check.hpp"

using namespace shakedown;
using namespace shakedown::multi_pair;

namespace {

/// Two hosts of two sockets of two caches of two ranks.
std::vector<RankPlace> sixteen() {
  std::vector<RankPlace> places;
  places.reserve(16);
  for (int rank = 0; rank < 16; ++rank) places.push_back({rank / 8, rank % 8 / 4, rank / 2});
  return places;
}

void pairs_are_disjoint_and_of_their_placement(Checks& checks) {
  const auto places = sixteen();
  for (const Placement placement : {Placement::cache, Placement::socket, Placement::host, Placement::hosts}) {
    const auto pairs = pair_up(places, placement, 0);
    const std::string what = name_of(placement);
    checks.equal(pairs.size(), std::size_t{8}, what + ": nobody rests");
    std::set<int> busy;
    for (const auto& [a, b] : pairs) {
      checks.that(busy.insert(a).second && busy.insert(b).second, what + ": disjoint");
      checks.that(between(places[static_cast<std::size_t>(a)], places[static_cast<std::size_t>(b)]) == placement, what);
    }
    checks.equal(pair_up(places, placement, 3).size(), std::size_t{3}, what + ": as many as asked");
  }
  checks.that(pair_up(places, Placement::halves, 3) == std::vector<Pair>{{0, 3}, {1, 4}, {2, 5}}, "as osu_mbw_mr");
  checks.that(pair_up(places, Placement::halves, 0).back() == Pair{7, 15}, "all halves");
  checks.that(pair_up(places, Placement::halves, 9).empty(), "more than there are");
  const std::vector<RankPlace> alone(4, RankPlace{0, 0, -1});
  checks.that(pair_up(alone, Placement::cache, 0).empty(), "a cache that is not told is shared with nobody");
  checks.equal(pair_up(alone, Placement::socket, 0).size(), std::size_t{2}, "and the socket is");
  checks.that(pair_up(alone, Placement::hosts, 0).empty(), "one host");
}

void rings_pass_every_rank(Checks& checks) {
  std::set<std::vector<int>> different;
  for (int number = 0; number < 20; ++number) {
    const auto order = ring_order(9, number);
    different.insert(order);
    checks.that(order == ring_order(9, number), "the same each time");
    int rank = 0;
    std::set<int> seen;
    for (int step = 0; step < 9; ++step) {
      checks.equal(neighbours(order, neighbours(order, rank).right).left, rank, "left of the right");
      seen.insert(rank);
      rank = neighbours(order, rank).right;
    }
    checks.that(seen.size() == 9 && rank == 0, "round all ranks and back");
  }
  checks.that(different.size() > 18, "other orders");
  const Neighbours natural = neighbours(ring_order(4, 0), 0);
  checks.that(natural.left == 3 && natural.right == 1, "in their order");
}

/// Four ranks, two samples; the pair of ranks 1 and 3 begins later and ends last.
void times_are_from_the_first_begin_to_the_last_end(Checks& checks) {
  const Stamps stamps{2, {100, 1000, 150, 1000, 100, 1000, 160, 1000}, {500, 1500, 900, 1800, 520, 1400, 950, 1700}};
  const auto near = [&](double found, double ns, const char* what) {
    checks.that(std::abs(found - ns * 1e-9) < 1e-15, what);
  };
  const auto all = together_s(stamps);
  near(all[0], 850, "the whole sample");
  near(all[1], 800, "the second one");
  near(pair_s(stamps, {0, 2})[0], 420, "a pair");
  near(pair_s(stamps, {1, 3})[0], 800, "a slow pair");
  near(longest_s(stamps)[0], 790, "the longest of own times, whenever they began");
  checks.that(together_s(Stamps()).empty(), "no sample");
}

void a_slow_pair_is_named_and_no_other(Checks& checks) {
  std::vector<std::vector<double>> pairs(5, std::vector<double>(40));
  for (std::size_t pair = 0; pair < pairs.size(); ++pair) {
    for (std::size_t i = 0; i < 40; ++i) pairs[pair][i] = 1 + 0.02 * static_cast<double>((i * 7 + pair * 3) % 5);
  }
  checks.that(!slowest(pairs).is_slow, "none is slow");
  pairs[1][3] = 50;  // held up once
  checks.that(!slowest(pairs).is_slow, "one sample names nobody");
  for (double& one : pairs[3]) one *= 1.3;
  const Slowest found = slowest(pairs);
  checks.that(found.is_slow && found.pair == 3, "the slow one");
  checks.that(std::abs(found.median_s / found.middle_s - 1.3) < 0.05, "by how much");
  checks.that(!slowest({pairs[0], pairs[3]}).is_slow, "of two nobody knows which is slow");
  checks.that(!slowest({}).is_slow, "no pair");
}

void rings_are_summed_up_as_hpcc_does(Checks& checks) {
  const std::vector<double> seconds = {4, 9, 1, 2, 3, 8, 5, 27};  // of orders 0, 1, 2, 0, 1, 2, 0, 1
  checks.that(std::abs(hpcc_s(seconds, 3) - std::cbrt(2.0 * 3 * 1)) < 1e-12, "the geometric mean of the least");
  checks.that(std::abs(hpcc_s(seconds, 1) - 1) < 1e-12, "of one order");
  checks.that(hpcc_s({}, 3) == 0, "of none");
}

/// A stand-in for /sys/class, below the working directory.
class Networks {
 public:
  Networks() { std::filesystem::remove_all(folder_); }
  ~Networks() { std::filesystem::remove_all(folder_); }
  void write(const std::string& path, const std::string& text) const {
    const auto file = std::filesystem::path(folder_) / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << '\n';
  }
  [[nodiscard]] const std::string& folder() const { return folder_; }

 private:
  std::string folder_ = "multi_pair_test_networks";
};

void networks_are_read_as_the_kernel_tells_them(Checks& checks) {
  const Networks made;
  checks.that(rails_there(made.folder()).empty(), "a container without any");
  for (const auto& [name, state] : {std::pair{"lo", "unknown"}, {"eth0", "up"}, {"eth1", "down"}}) {
    made.write("net/" + std::string(name) + "/operstate", state);
    made.write("net/" + std::string(name) + "/statistics/tx_bytes", "5000000000");
    made.write("net/" + std::string(name) + "/statistics/rx_bytes", "7");
  }
  made.write("infiniband/mlx5_0/ports/1/state", "4: ACTIVE");
  made.write("infiniband/mlx5_0/ports/1/counters/port_xmit_data", "250");
  made.write("infiniband/mlx5_0/ports/1/counters/port_rcv_data", "50");
  made.write("infiniband/mlx5_1/ports/1/state", "1: DOWN");
  checks.that(rails_there(made.folder()) == std::vector<std::string>{"mlx5_0:1", "mlx5_1:1", "eth0", "eth1"},
              "all but the loopback");
  checks.equal(read_rail("eth0", made.folder()).bytes, std::int64_t{5'000'000'007}, "both ways, beyond 32 bits");
  checks.equal(read_rail("mlx5_0:1", made.folder()).bytes, std::int64_t{1200}, "words of four bytes");
  checks.that(not_usable({"eth0", "mlx5_0:1"}, "n1", made.folder()).empty(), "both are up");
  checks.equal(not_usable({"eth0", "eth1"}, "n1", made.folder()),
               std::string("network eth1 of n1 is not up, but \"down\""), "named");
  checks.equal(not_usable({"mlx5_1:1"}, "n1", made.folder()),
               std::string("network mlx5_1:1 of n1 is not up, but \"1: DOWN\""), "a port");
  made.write("net/eth1/carrier", "1");
  checks.that(not_usable({"eth1"}, "n1", made.folder()).empty(), "its carrier is there, its state follows");
  made.write("net/eth1/carrier", "0");
  checks.that(!not_usable({"eth1"}, "n1", made.folder()).empty(), "no carrier");
  checks.equal(not_usable({"eth2"}, "n1", made.folder()),
               std::string("n1 has no network eth2; it has mlx5_0:1, mlx5_1:1, eth0, eth1"), "names that differ");
  for (const char* word : {"", "../net/eth0", "mlx5_0:2", ":", "mlx5_0:"}) {
    checks.that(!read_rail(word, made.folder()).is_there, std::string("no network: ") + word);
  }
}

void who_carried_what_was_sent_is_seen(Checks& checks) {
  const std::vector<bool> first = {true, false};
  const std::vector<bool> both = {true, true};
  checks.equal(strayed({{2100, 0}, 2000}, first), 0.0, "all by the chosen one, with headers");
  checks.equal(strayed({{0, 2100}, 2000}, first), 1.0, "all by the other");
  checks.equal(strayed({{1500, 500}, 2000}, first), 0.25, "a part");
  checks.equal(strayed({{1500, 500}, 2000}, both), 0.0, "both were chosen");
  checks.that(std::isnan(strayed({{700, 0}, 2000}, first)), "less than was sent: by shared memory");
  checks.that(std::isnan(strayed({{0, 0}, 0}, first)), "nothing is no proof");
  checks.equal(idle({{2000, 10}, 2000}, both), 1, "carried nothing");
  checks.equal(idle({{1200, 800}, 2000}, both), -1, "both work");
  checks.equal(idle({{2000, 0}, 2000}, first), -1, "not chosen, and so not idle");
}

}  // namespace

int main() {
  Checks checks;
  networks_are_read_as_the_kernel_tells_them(checks);
  who_carried_what_was_sent_is_seen(checks);
  pairs_are_disjoint_and_of_their_placement(checks);
  rings_pass_every_rank(checks);
  times_are_from_the_first_begin_to_the_last_end(checks);
  a_slow_pair_is_named_and_no_other(checks);
  rings_are_summed_up_as_hpcc_does(checks);
  return checks.end();
}
