// What needs no MPI: the checksum sees every change, the counts are exact, the search ends at the rate that holds, the
// interfaces are those asked for, and the sockets pass packets and tell what the kernel dropped of them.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "common/error.hpp"
#include "interfaces.hpp"
#include "packet.hpp"
#include "search.hpp"
#include "sockets.hpp"
#include "tally.hpp"
#include "testing/check.hpp"
#include "totals.hpp"

namespace {

using namespace shakedown;
using namespace shakedown::multicast;

std::vector<std::uint8_t> packet(std::size_t bytes, std::uint64_t sequence) {
  Payloads payloads(7, bytes);
  Header header;
  header.run = 99;
  header.sequence = sequence;
  header.sender = 7;
  header.bytes = static_cast<std::uint32_t>(bytes);
  header.checksum = checksum(header, payloads.sum(sequence));
  std::vector<std::uint8_t> data(bytes);
  std::memcpy(data.data(), &header, sizeof header);
  const auto payload = payloads.at(sequence);
  std::copy(payload.begin(), payload.end(), data.begin() + sizeof header);
  return data;
}

void the_checksum_sees_every_changed_bit(Checks& checks) {
  for (const std::size_t bytes : {std::size_t{48}, std::size_t{49}, std::size_t{64}, std::size_t{103}}) {
    auto data = packet(bytes, 5);
    Header header;
    checks.that(examine(data, 99, true, header) == Arrival::whole, "a packet as it was sent is whole");
    checks.equal(header.sequence, std::uint64_t{5}, "and says which it is");
    for (std::size_t at = 8; at < bytes; ++at) {  // the first 8 bytes are the run: another one's is foreign
      for (int bit = 0; bit < 8; ++bit) {
        data[at] = static_cast<std::uint8_t>(data[at] ^ (1 << bit));
        checks.that(examine(data, 99, true, header) == Arrival::corrupt, "bit " + std::to_string(8 * at));
        data[at] = static_cast<std::uint8_t>(data[at] ^ (1 << bit));
      }
    }
    checks.that(examine(data, 98, true, header) == Arrival::foreign, "another run's packet");
    data.pop_back();
    checks.that(examine(data, 99, true, header) != Arrival::whole, "a packet that was cut");
  }
  const std::vector<std::uint8_t> noise(20, 3);
  Header header;
  checks.that(examine(noise, 99, true, header) == Arrival::foreign, "what is shorter than a header");
  auto swapped = packet(128, 1);
  std::swap_ranges(swapped.begin() + 64, swapped.begin() + 72, swapped.begin() + 96);
  checks.that(examine(swapped, 99, true, header) == Arrival::corrupt, "two words that changed places");
  checks.that(packet(64, 1) != packet(64, 2), "payloads differ");
}

void a_tally_counts_each_packet_once(Checks& checks) {
  Tally tally;
  for (const std::uint64_t sequence : {0, 1, 3, 2, 3, 64, 65, 63, 10, 10}) tally.take(sequence);
  checks.equal(tally.unique(), std::int64_t{8}, "unique");
  checks.equal(tally.duplicates(), std::int64_t{2}, "duplicates");
  checks.equal(tally.reordered(), std::int64_t{3}, "2, 63 and 10 came after a later one");
  checks.that(!tally.take(kMostPackets), "no sender gets that far");
}

void a_packet_takes_its_room_on_the_wire(Checks& checks) {
  // By hand: 1024 + 8 + 20 + 38 bytes; 40 for IPv6.
  checks.equal(wire_bits(Family::ipv4, 1024, 1500), 8.0 * 1090, "IPv4");
  checks.equal(wire_bits(Family::ipv6, 1024, 1500), 8.0 * 1110, "IPv6");
  checks.equal(wire_bits(Family::ipv4, 1472, 1500), 8.0 * 1538, "the largest that goes whole: 1538 bytes a frame");
  // 3008 bytes in pieces of 1480: three heads of IP and Ethernet.
  checks.equal(wire_bits(Family::ipv4, 3000, 1500), 8.0 * (3008 + 3 * 58), "in three fragments");
  // 3008 bytes in pieces of 1448 (1500 - 48, in steps of 8): three heads of 48 and 38.
  checks.equal(wire_bits(Family::ipv6, 3000, 1500), 8.0 * (3008 + 3 * 86), "in three fragments of IPv6");
}

void lost_packets_have_a_cause(Checks& checks) {
  Outcome outcome;
  outcome.sent = {{1000, 10, 2'000'000'000}, {}, {}};
  outcome.heard.resize(3);
  outcome.heard[1] = {.expected = 1000, .unique = 950, .corrupt = 5, .dropped = 20, .span_ns = 1'900'000'000};
  outcome.heard[2] = {.expected = 1000, .unique = 990};
  const Totals totals = add_up(outcome);
  checks.equal(totals.lost, std::int64_t{60}, "50 and 10");
  checks.equal(totals.dropped, std::int64_t{20}, "at a socket");
  checks.equal(totals.refused, std::int64_t{20}, "10 packets, two receivers each");
  checks.equal(totals.network, std::int64_t{15}, "the rest, but for the 5 corrupt");
  checks.equal(totals.loss(), 0.03, "of 2000 deliveries");
  checks.equal(totals.worst(), 1, "rank 1");
  checks.equal(totals.loss_at(1), 0.05, "of rank 1");
  Totals two;
  two.add(totals);
  Outcome second = outcome;
  second.heard[1].unique = 1000;
  second.heard[2].unique = 900;
  two.add(add_up(second));
  checks.equal(two.worst(), 2, "over two trials rank 2 lost more");
  checks.equal(two.loss_at(2), 0.055, "110 of 2000");
  checks.equal(two.lost, std::int64_t{160}, "in both");
  checks.equal(totals.offered(), 500.0, "packets/s");
  checks.equal(totals.delivered, 970.0, "to each, in the mean");
  checks.that(!totals.lossless(), "something was lost");
  checks.that(!add_up(Outcome{}).lossless(), "nothing sent is not nothing lost");
}

/// A channel that loses something above `limit`, with senders that can do no more than `most`.
double searched(double limit, double most, int& trials) {
  Search search(most, 0.05, 3, 10);
  for (trials = 0; !search.done(); ++trials) {
    const double reached = std::min(search.rate(), most);
    search.told(reached <= limit, reached);
  }
  return search.found();
}

void the_search_finds_the_rate_that_holds(Checks& checks) {
  int trials = 0;
  for (const double limit : {1.2e6, 5e5, 99'999.0, 5e4, 1234.0}) {
    const double found = searched(limit, 1e6, trials);
    checks.that(found <= limit, "never above what holds");
    checks.that(found >= 0.9 * std::min(limit, 1e6), "nor far below: " + std::to_string(found));
    checks.that(trials <= 25, "in few trials: " + std::to_string(trials));
  }
  checks.equal(searched(5, 1e6, trials), 0.0, "none, where everything loses");
  // A channel that loses once in a while, whatever the rate, does not hang the search.
  // Senders slower than the least rate, and slower still once they are tried: what they can do is the answer.
  for (const double can : {15'000.0, 900.0, 40.0}) {
    Search slow(18'000, 0.05, 3, 20'000);
    while (!slow.done()) slow.told(true, std::min(slow.rate(), can));
    checks.that(std::abs(slow.found() - can) <= 0.051 * can, "senders that can do little");
  }
  Search lossy(18'000, 0.05, 3, 20'000);
  while (!lossy.done()) lossy.told(false, lossy.rate());
  checks.that(lossy.found() == 0, "where all trials lose, nothing is found");
  Search unlucky(1e6, 0.05, 3, 10);
  int told = 0;
  for (; !unlucky.done() && told < 1000; ++told) unlucky.told(told % 2 == 0, unlucky.rate());
  checks.that(unlucky.done(), "it ends");
}

Interface made(const std::string& name, const std::string& address, int prefix, double speed = 0) {
  std::string text = name + " 3 " + (address.find(':') == std::string::npos ? "ipv4 " : "ipv6 ") + address + ' ' +
                     std::to_string(prefix) + " 1500 " + std::to_string(speed) +
                     (name == "lo" ? " 1 0 1\n" : " 0 1 1\n");
  return from_text(text).at(0);
}

void interfaces_are_chosen_together(Checks& checks) {
  const std::vector<Interface> a = {made("lo", "127.0.0.1", 8),         made("eth0", "192.168.1.1", 24, 1e9),
                                    made("eth1", "10.0.0.1", 16, 1e11), made("docker0", "172.17.0.1", 16, 2e11),
                                    made("eth1", "fe80::1", 64),        made("eth1", "fd77::1", 64)};
  const std::vector<Interface> b = {made("lo", "127.0.0.1", 8),        made("em1", "192.168.1.2", 24, 1e9),
                                    made("em2", "10.0.3.2", 16, 1e11), made("docker0", "172.17.0.1", 16, 2e11),
                                    made("em2", "fe80::2", 64),        made("em2", "fd77::2", 64)};
  const auto chosen = [&](const std::string& asked, Family family) {
    return choose_interfaces({"a", "b"}, {a, b}, family, asked, false).at(1).name;
  };
  checks.equal(chosen("auto", Family::ipv4), std::string("em2"), "the fastest that all share, each at its own address");
  checks.equal(chosen("auto", Family::ipv6), std::string("em2"), "no link-local address");
  checks.equal(chosen("192.168.1.0/24", Family::ipv4), std::string("em1"), "by network, whatever the names");
  checks.equal(choose_interfaces({"a", "a"}, {a, a}, Family::ipv6, "eth1", true).at(0).text(),
               std::string("fd77::1/64"), "by name; a link-local address only where there is no other");
  checks.equal(choose_interfaces({"a", "a"}, {a, a}, Family::ipv4, "auto", true).at(0).name, std::string("lo"),
               "one host");
  checks.equal(choose_interfaces({"a", "a"}, {a, a}, Family::ipv4, "auto", false).at(0).name, std::string("eth0"),
               "one host whose loopback does not do it");
  for (const std::string asked : {"eth1", "10.9.0.0/24", "10.0.0.0/33", "10.0.0.0/", "x/8", "fd77::/64"}) {
    checks.throws<Error>([&] { chosen(asked, Family::ipv4); }, asked);
  }
  checks.throws<Error>(
      [&] {
        choose_interfaces({"a", "c"}, {a, {made("lo", "127.0.0.1", 8)}}, Family::ipv4, "auto", true);
      },
      "a host without a network");
  for (const auto& one : list_interfaces()) {
    const auto again = from_text(to_text({one}));
    checks.that(again.size() == 1 && again[0].text() == one.text() && again[0].name == one.name, "there and back");
  }
  checks.throws<Error>([&] { group_endpoint("10.0.0.1", 0, 1, a[1]); }, "no multicast address");
  checks.throws<Error>([&] { group_endpoint("239.255.255.255", 1, 1, a[1]); }, "no room above");
  checks.throws<Error>([&] { group_endpoint("fd00::1", 0, 1, a[5]); }, "no multicast address");
  checks.equal(group_endpoint("ff15::ffff", 2, 1, a[5]).text(), std::string("ff15::1:1"), "the second after it");
}

void sockets_pass_packets_and_tell_drops(Checks& checks) {
  if (!loopback_works(Family::ipv4)) {
    std::fprintf(stderr, "left out: this loopback takes no multicast\n");
    return;
  }
  Interface loopback;
  for (const auto& one : list_interfaces()) {
    if (one.loopback && one.family == Family::ipv4) loopback = one;
  }
  const auto port = static_cast<std::uint16_t>(20000 + getpid() % 10000);
  const Endpoint group = group_endpoint("239.255.77.1", 0, port, loopback);
  const Endpoint other = group_endpoint("239.255.77.1", 1, port, loopback);
  const Socket inlet = group_socket(group, loopback, 64 << 10);
  const Socket second = group_socket(group, loopback, 64 << 10);  // another rank of this host
  const Socket outlet = sending_socket(loopback, 0, true, 1 << 20);
  connect_to(outlet, group);
  const auto data = packet(1024, 0);
  std::vector<std::uint8_t> buffer(2048);
  const auto take = [&](const Socket& from) { return recv(from.fd(), buffer.data(), buffer.size(), MSG_DONTWAIT); };
  const auto soon = [&](const Socket& from) {
    pollfd one{from.fd(), POLLIN, 0};
    return poll(&one, 1, 2000) == 1;
  };
  send(outlet.fd(), data.data(), data.size(), 0);
  checks.equal(take(inlet), ssize_t{-1}, "who has not joined hears nothing");
  join(inlet, group, loopback);
  join(second, group, loopback);
  send(outlet.fd(), data.data(), data.size(), 0);
  for (const Socket* one : {&inlet, &second}) {
    checks.that(soon(*one), "each member hears it");
    checks.equal(take(*one), ssize_t{1024}, "whole");
  }
  connect_to(outlet, other);
  send(outlet.fd(), data.data(), data.size(), 0);
  checks.equal(take(inlet), ssize_t{-1}, "another group's packet goes elsewhere");
  connect_to(outlet, group);
  checks.equal(drops_of(inlet), std::int64_t{0}, "nothing was dropped so far");
  constexpr int kSent = 1000;  // far more than fit
  for (int i = 0; i < kSent; ++i) send(outlet.fd(), data.data(), data.size(), 0);
  int heard = 0;
  while (take(inlet) > 0) ++heard;
  checks.that(heard > 0 && heard < kSent, "a full buffer loses packets: " + std::to_string(heard));
  checks.equal(drops_of(inlet), std::int64_t{kSent - heard}, "and the kernel tells how many");
}

}  // namespace

int main() {
  Checks checks;
  the_checksum_sees_every_changed_bit(checks);
  a_tally_counts_each_packet_once(checks);
  a_packet_takes_its_room_on_the_wire(checks);
  lost_packets_have_a_cause(checks);
  the_search_finds_the_rate_that_holds(checks);
  interfaces_are_chosen_together(checks);
  sockets_pass_packets_and_tell_drops(checks);
  return checks.end();
}
