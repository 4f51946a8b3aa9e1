// The forwarder between sockets that stand for TAPs: who gets what, how often, and when.
#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmath>
#include <cstring>

#include "common/clock.hpp"
#include "ethernet.hpp"
#include "forwarder.hpp"
#include "testing/check.hpp"

namespace shakedown::radio_forwarder {
namespace {

/// Nodes whose TAPs are sockets; the test holds the other ends.
struct Air {
  std::vector<Node> nodes;
  std::vector<Handle> ends;

  explicit Air(std::uint32_t count, std::uint32_t first = 1, std::uint32_t last = 0)
      : nodes(count + 1), ends(count + 1) {
    for (std::uint32_t node = first; node <= (last == 0 ? count : last); ++node) {
      std::array<int, 2> pair{};
      if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair.data()) != 0) std::abort();
      nodes[node].tap = Handle(pair[0]);
      ends[node] = Handle(pair[1]);
    }
  }
  void send(std::uint32_t from, const Mac& to, std::uint32_t mark, std::size_t bytes = 100) {
    std::vector<std::uint8_t> frame(bytes);
    const Mac own = mac_of(from);
    std::memcpy(frame.data(), to.data(), std::min<std::size_t>(6, bytes));
    if (bytes >= kHeadBytes) std::memcpy(frame.data() + 6, own.data(), 6);
    if (bytes >= 18) std::memcpy(frame.data() + 14, &mark, 4);
    pollfd ready{ends[from].fd(), POLLOUT, 0};
    while (write(ends[from].fd(), frame.data(), frame.size()) < 0) poll(&ready, 1, 1000);
  }
  /// The mark of the next frame for a node, and whether one came in time.
  bool take(std::uint32_t node, std::uint32_t& mark, int wait_ms = 0) {
    std::array<std::uint8_t, 2048> frame{};
    pollfd ready{ends[node].fd(), POLLIN, 0};
    if (poll(&ready, 1, wait_ms) <= 0) return false;
    const ssize_t got = read(ends[node].fd(), frame.data(), frame.size());
    std::memcpy(&mark, frame.data() + 14, 4);
    return got >= 18;
  }
};

constexpr Mac kAll{255, 255, 255, 255, 255, 255};
constexpr float kStrong = 60;

/// Two ports of UDP that the kernel gave just now; whoever asks it next gets others.
std::array<std::string, 2> free_ports() {
  std::array<Handle, 2> held;
  std::array<std::string, 2> ports;
  for (std::size_t i = 0; i < held.size(); ++i) {
    held[i] = Handle(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof at;
    auto* const address = reinterpret_cast<sockaddr*>(&at);
    if (bind(held[i].fd(), address, length) != 0 || getsockname(held[i].fd(), address, &length) != 0) std::abort();
    ports[i] = std::to_string(ntohs(at.sin_port));
  }
  return ports;
}

Channel at_once() {
  Channel channel;
  channel.serialise = false;
  return channel;
}

constexpr int kLong_ms = 300'000;  // for what must come

/// Wait until so many of something are counted: a frame is counted as read before what becomes of it is.
Totals settled(const Forwarder& forwarder, std::initializer_list<Fate> fates, std::uint64_t count) {
  Totals totals = forwarder.totals();
  const auto sum = [&] {
    std::uint64_t found = 0;
    for (const Fate fate : fates) found += totals.fates[fate];
    return found;
  };
  for (int i = 0; i < kLong_ms && sum() < count; ++i) {
    usleep(1000);
    totals = forwarder.totals();
  }
  return totals;
}

void test_who_gets_it(Checks& checks) {
  Air air(4);
  Forwarder forwarder(at_once(), air.nodes, 2);
  forwarder.links().change(std::vector<LinkChange>{{1, 2, kStrong, 0}, {1, 3, kStrong, 0}, {3, 4, kStrong, 0}});
  air.send(1, kAll, 10);
  air.send(1, mac_of(3), 11);
  air.send(1, mac_of(4), 12);           // out of range
  air.send(1, {2, 0, 0, 0, 0, 9}, 13);  // nobody's
  air.send(2, mac_of(1), 14);           // a link is of one direction
  air.send(1, kAll, 0, 13);             // torn
  std::uint32_t mark = 0;
  checks.that(air.take(2, mark, kLong_ms) && mark == 10, "a neighbour hears what is for all");
  checks.that(air.take(3, mark, kLong_ms) && mark == 10 && air.take(3, mark, kLong_ms) && mark == 11, "in order");
  const Totals totals = settled(forwarder, {kDelivered, kOutOfRange, kNoNode, kMalformed}, 7);
  checks.that(!air.take(2, mark) && !air.take(4, mark) && !air.take(1, mark), "and nobody else hears more");
  checks.equal(totals.fates[kFrames], std::uint64_t{6}, "frames");
  checks.equal(totals.fates[kDelivered], std::uint64_t{3}, "delivered");
  checks.equal(totals.fates[kOutOfRange], std::uint64_t{2}, "out of range");
  checks.equal(totals.fates[kNoNode], std::uint64_t{1}, "an address of nobody");
  checks.equal(totals.fates[kMalformed], std::uint64_t{1}, "malformed");
  checks.equal(forwarder.traffic(1).sent, std::uint64_t{5}, "sent by node 1");
  checks.equal(forwarder.traffic(3).received, std::uint64_t{2}, "received by node 3");
}

/// Which of 2,000 frames node 2 and node 3 heard.
std::vector<char> heard(std::uint64_t seed, int threads, Checks& checks) {
  constexpr std::uint32_t kFramesSent = 2000;
  Channel channel = at_once();
  channel.seed = seed;
  channel.waveform.modulation = Modulation::logistic;
  Air air(3);
  Forwarder forwarder(channel, air.nodes, threads);
  forwarder.links().change(std::vector<LinkChange>{{1, 2, 10, 0}, {1, 3, 11, 0}});
  std::vector<char> found(2 * std::size_t{kFramesSent});
  std::uint32_t mark = 0;
  const auto collect = [&](int wait_ms) {
    while (air.take(2, mark, wait_ms)) found[mark] = 1;
    while (air.take(3, mark, wait_ms)) found[kFramesSent + mark] = 1;
  };
  for (std::uint32_t i = 0; i < kFramesSent; ++i) {
    air.send(1, kAll, i);
    if (i % 50 == 49) {
      settled(forwarder, {kDelivered, kByChance}, 2 * std::uint64_t{i + 1});
      collect(0);
    }
  }
  const Totals totals = settled(forwarder, {kDelivered, kByChance}, 2 * std::uint64_t{kFramesSent});
  collect(0);
  checks.equal(totals.fates[kDelivered] + totals.fates[kByChance], 2 * std::uint64_t{kFramesSent},
               "nothing else is lost");
  double first = 0, second = 0;
  for (std::uint32_t i = 0; i < kFramesSent; ++i) {
    first += found[i];
    second += found[kFramesSent + i];
  }
  const double likely = 1 / (1 + std::exp(-1.0));
  checks.that(std::fabs(first - kFramesSent * 0.5) < 5 * std::sqrt(kFramesSent * 0.25), "half of them: 5 deviations");
  checks.that(std::fabs(second - kFramesSent * likely) < 5 * std::sqrt(kFramesSent * likely * (1 - likely)),
              "0.73 of them");
  return found;
}

void test_loss(Checks& checks) {
  const auto once = heard(7, 1, checks);
  checks.that(once == heard(7, 2, checks), "the same seed loses the same frames, with any threads");
  checks.that(once != heard(8, 1, checks), "another seed loses others");
}

void test_time(Checks& checks) {
  Channel channel;
  channel.waveform.rate_bit_s = 2e4;
  channel.waveform.modulation = Modulation::threshold;
  channel.delay_ns = 3'000'000;
  channel.queue_frames = 4;
  Air air(2);
  Forwarder forwarder(channel, air.nodes, 1);
  forwarder.links().change(std::vector<LinkChange>{{1, 2, kStrong, 300'000}});
  const std::int64_t begin = monotonic_ns();
  for (std::uint32_t i = 0; i < 6; ++i) air.send(1, mac_of(2), i, 1250);  // 0.5 s on air each, 1 ms of way, 3 ms more
  std::uint32_t mark = 0;
  for (std::uint32_t i = 0; i < 4; ++i) {
    checks.that(air.take(2, mark, kLong_ms) && mark == i, "in order");
    const double ms = static_cast<double>(monotonic_ns() - begin) * 1e-6;
    checks.that(ms >= 500.0 * (i + 1) + 4, "not before its time: " + std::to_string(ms));
  }
  const Totals totals = settled(forwarder, {kDelivered, kQueue}, 6);
  checks.that(!air.take(2, mark, 600), "what the queue does not hold is gone");
  checks.equal(totals.fates[kQueue], std::uint64_t{2}, "and counted");
}

/// Behind its time by more than the bound a frame is lost, by less it is not: bounds of 1 ns and of an hour, so that no
/// machine is too quick or too slow for this.
void test_too_late(Checks& checks) {
  Channel channel;
  channel.waveform.modulation = Modulation::threshold;
  channel.serialise = false;
  channel.delay_ns = 20'000'000;
  channel.latest_ns = 1;  // nobody is as quick
  Air air(3);
  {
    Forwarder forwarder(channel, air.nodes, 1);
    forwarder.links().change(std::vector<LinkChange>{{1, 2, kStrong, 0}});
    for (std::uint32_t i = 0; i < 5; ++i) air.send(1, mac_of(2), i);
    settled(forwarder, {kTooLate}, 5);
    std::uint32_t mark = 0;
    checks.that(!air.take(2, mark), "what is too late is not written");
    checks.equal(forwarder.totals().fates[kTooLate], std::uint64_t{5}, "and counted");
    checks.equal(forwarder.totals().fates[kDelivered], std::uint64_t{0}, "as nothing else");
  }
  channel.latest_ns = 3'600'000'000'000;
  Forwarder forwarder(channel, air.nodes, 1);
  forwarder.links().change(std::vector<LinkChange>{{1, 2, kStrong, 0}});
  air.send(1, mac_of(2), 9);
  std::uint32_t mark = 0;
  checks.that(air.take(2, mark, kLong_ms) && mark == 9, "within the bound it is");
  checks.equal(settled(forwarder, {kDelivered}, 1).fates[kTooLate], std::uint64_t{0}, "and nothing is counted");
}

void test_collisions(Checks& checks) {
  Channel channel;
  channel.waveform.modulation = Modulation::threshold;
  channel.collisions = true;
  channel.waveform.rate_bit_s = 1.6e3;  // 0.5 s: what is sent together overlaps on any machine
  Air air(4);
  Forwarder forwarder(channel, air.nodes, 3);
  forwarder.links().change(
      std::vector<LinkChange>{{1, 2, kStrong, 0}, {3, 2, kStrong, 0}, {3, 4, kStrong, 0}, {2, 1, kStrong, 0}});
  std::uint32_t mark = 0;
  air.send(1, kAll, 1);
  air.send(3, kAll, 2);
  checks.that(air.take(4, mark, kLong_ms) && mark == 2, "where only one is heard it arrives");
  const Totals totals = settled(forwarder, {kCollision}, 2);
  checks.that(!air.take(2, mark, 50), "where both are heard none does: hidden terminals");
  checks.equal(totals.fates[kCollision], std::uint64_t{2}, "both are counted");
  air.send(1, kAll, 3);
  air.send(2, kAll, 4);
  checks.equal(settled(forwarder, {kCollision}, 4).fates[kCollision], std::uint64_t{4}, "both are counted");
  checks.that(!air.take(1, mark, 50) && !air.take(2, mark, 50), "who sends hears nothing");
  air.send(1, kAll, 5);
  checks.that(air.take(2, mark, kLong_ms) && mark == 5, "alone it arrives");
}

void test_two_hosts(Checks& checks) {
  Air left(4, 1, 2), right(4, 3, 4);
  Channel channel = at_once();
  channel.seed = 5;
  const auto ports = free_ports();
  const std::string a = "127.0.0.1:" + ports[0], b = "127.0.0.1:" + ports[1];
  Forwarder here(channel, left.nodes, 1, open_hosts(a, {b}, channel.seed));
  Forwarder there(channel, right.nodes, 1, open_hosts(b, {a}, channel.seed));
  const std::vector<LinkChange> links{{1, 2, kStrong, 0}, {1, 3, kStrong, 0}, {4, 1, kStrong, 0}};
  here.links().change(links);
  there.links().change(links);
  std::uint32_t mark = 0;
  left.send(1, kAll, 21);
  checks.that(left.take(2, mark, kLong_ms) && mark == 21, "a neighbour on this host");
  checks.that(right.take(3, mark, kLong_ms) && mark == 21, "a neighbour on the other");
  right.send(4, mac_of(1), 22);
  checks.that(left.take(1, mark, kLong_ms) && mark == 22, "unicast from the other host");
  left.send(2, kAll, 23);
  checks.that(!right.take(3, mark, 50) && !right.take(4, mark), "nobody hears node 2");
  checks.equal(settled(here, {kFrames}, 3).fates[kSentToHosts], std::uint64_t{1}, "what none hears is not sent");
}

}  // namespace
}  // namespace shakedown::radio_forwarder

int main() {
  using namespace shakedown::radio_forwarder;
  shakedown::Checks checks;
  test_who_gets_it(checks);
  test_loss(checks);
  test_time(checks);
  test_too_late(checks);
  test_collisions(checks);
  test_two_hosts(checks);
  return checks.end();
}
