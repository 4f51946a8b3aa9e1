// Probabilities, random numbers, addresses, the wheel, datagrams: what is pure, against published values and slow
// forms.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "common/error.hpp"
#include "control.hpp"
#include "counts.hpp"
#include "draws.hpp"
#include "ethernet.hpp"
#include "hosts.hpp"
#include "links.hpp"
#include "reception.hpp"
#include "testing/check.hpp"
#include "wheel.hpp"

namespace shakedown::radio_forwarder {
namespace {

void test_draws(Checks& checks) {
  using Four = std::array<std::uint32_t, 4>;  // known answers of the authors (Random123, kat_vectors)
  checks.that(philox({0, 0, 0, 0}, {0, 0}) == Four{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}, "Philox of zeros");
  checks.that(philox({~0U, ~0U, ~0U, ~0U}, {~0U, ~0U}) == Four{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
              "Philox of ones");
  checks.that(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
                  Four{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1},
              "Philox of pi");
  checks.that(draw(1, 2, 3, 4) == draw(1, 2, 3, 4), "the same frame has the same number");
  checks.that(draw(1, 2, 3, 4) != draw(1, 3, 2, 4) && draw(1, 2, 3, 4) != draw(2, 2, 3, 4) &&
                  draw(1, 2, 3, 4) != draw(1, 2, 3, 5) && draw(1, 2, 3, 4) != draw(1, 2, 3, 4 + (1L << 32)),
              "each part counts");
  double sum = 0;
  for (std::uint64_t i = 0; i < 100'000; ++i) sum += draw(7, 1, 2, i);
  checks.that(std::fabs(sum / 1e5 - 0.5) < 5 / std::sqrt(12e5), "the mean is a half, within 5 standard errors");
}

void test_reception(Checks& checks) {
  Waveform waveform;
  // Q(sqrt(2 x)) at Eb/N0 of 9.6 dB is 1e-5, the textbook's point (Proakis and Salehi, fig. 4.2-4).
  const double bit = 1 - success(reception(waveform, 9.588), 1);
  checks.that(std::fabs(bit / 8 / 1e-5 - 1) < 0.01, "a bit in 100,000 is wrong at 9.59 dB: " + std::to_string(bit / 8));
  checks.that(std::fabs(success(reception(waveform, -300), 1) - std::pow(0.5, 8)) < 1e-6,
              "noise alone: half of all bits");
  checks.equal(success(reception(waveform, 60), 1500), 1.0, "a strong signal is always received");
  Waveform slower = waveform;
  slower.rate_bit_s = 1e5;
  checks.that(std::fabs(success(reception(slower, -2), 500) - success(reception(waveform, 8), 500)) < 1e-6,
              "a tenth of the rate is 10 dB");
  Waveform coded = waveform;
  coded.coding_gain_db = 3;
  checks.that(std::fabs(success(reception(coded, 5), 500) - success(reception(waveform, 8), 500)) < 1e-6,
              "gain of a code");
  for (int step = -40; step < 40; ++step) {
    const double snr = 0.5 * step;
    checks.that(success(reception(waveform, snr), 500) <= success(reception(waveform, snr + 0.5), 500),
                "rises with snr");
    checks.that(success(reception(waveform, snr), 1000) <= success(reception(waveform, snr), 100), "falls with length");
    const double half = success(reception(waveform, snr), 500);
    checks.that(std::fabs(half * half - success(reception(waveform, snr), 1000)) < 1e-5, "twice the bits: the square");
  }
  waveform.modulation = Modulation::logistic;
  checks.that(std::fabs(success(reception(waveform, 10), 100) - 0.5) < 1e-6, "logistic: half");
  checks.that(std::fabs(success(reception(waveform, 11), 100) - 1 / (1 + std::exp(-1.0))) < 1e-6,
              "logistic: a slope on");
  waveform.modulation = Modulation::threshold;
  checks.equal(success(reception(waveform, 9.999), 100), 0.0, "below the threshold");
  checks.equal(success(reception(waveform, 10), 100), 1.0, "at the threshold");
  checks.throws<Error>([] { parse_modulation("qam"); }, "a modulation that there is not");
}

void test_addresses(Checks& checks) {
  for (const std::uint32_t node : {1U, 2U, 255U, 256U, 4999U, kMostNodes}) {
    const Mac mac = mac_of(node);
    checks.equal(node_of(mac.data()), node, "the node of an address");
    checks.that(!is_group(mac.data()) && (mac[0] & 2) != 0, "unicast, locally administered");
  }
  const Mac broadcast{255, 255, 255, 255, 255, 255}, multicast{0x33, 0x33, 0, 0, 0, 1}, other{2, 0, 0, 0, 0, 1};
  checks.that(is_group(broadcast.data()) && is_group(multicast.data()), "groups");
  checks.equal(node_of(other.data()), 0U, "an address of others");
  checks.equal(node_of(mac_of(65535).data()), 0U, "65535 is no node");
}

void test_wheel(Checks& checks) {
  std::mt19937_64 random(5);
  const std::int64_t begin = 1'000'000'007;
  Wheel wheel(begin);
  std::vector<std::int64_t> due;  // of each; below 0: taken
  std::vector<std::uint32_t> waiting;
  std::int64_t now = begin;
  std::uint32_t taken = 0;
  bool early = false, late = false, next_late = false, ordered = true;
  for (int round = 0; round < 3000; ++round) {
    for (std::uint64_t i = random() % 8; i > 0; --i) {
      waiting.push_back(static_cast<std::uint32_t>(due.size()));
      due.push_back(now + static_cast<std::int64_t>(random() % (round % 50 == 0 ? 900'000'000 : 200'000)));
      wheel.add(due.back(), waiting.back());
    }
    now += static_cast<std::int64_t>(random() % (round % 100 == 0 ? 400'000'000 : 60'000));
    const std::int64_t next = wheel.next_ns();
    std::int64_t last_tick = 0;
    wheel.take(now, [&](std::uint32_t what) {
      const std::int64_t tick = (due[what] + Wheel::kTickNs - 1) / Wheel::kTickNs;
      early = early || due[what] > now;
      next_late = next_late || next > now;
      ordered = ordered && tick >= last_tick;
      last_tick = tick;
      due[what] = -1;
      ++taken;
    });
    std::erase_if(waiting, [&](std::uint32_t what) { return due[what] < 0; });
    for (const auto what : waiting) late = late || due[what] <= now - 2 * Wheel::kTickNs;
  }
  const auto count = static_cast<std::uint32_t>(due.size());
  checks.that(!early, "nothing is taken before it is due");
  checks.that(!late, "nothing waits longer than a tick");
  checks.that(!next_late, "the next time was not too late");
  checks.that(ordered, "in order");
  checks.equal(wheel.size(), static_cast<std::size_t>(count - taken), "what waits is counted");
  now += 2'000'000'000;
  for (int i = 0; i < 12; ++i) wheel.take(now += 300'000'000, [&](std::uint32_t) { ++taken; });
  checks.equal(taken, count, "all is taken in the end");
  checks.equal(wheel.next_ns(), Wheel::kNothing, "nothing waits");
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < 100; ++i) wheel.add(now + 5'000'000, i);
  wheel.take(now + 10'000'000, [&](std::uint32_t what) { order.push_back(what); });
  checks.that(order.size() == 100 && std::is_sorted(order.begin(), order.end()), "of one time in the order of adding");
}

void test_datagrams(Checks& checks) {
  std::vector<std::uint8_t> frame(60), datagram;
  for (std::size_t i = 0; i < frame.size(); ++i) frame[i] = static_cast<std::uint8_t>(i);
  encode({258, 1ULL << 40, 12345678, frame}, 99, datagram);
  const auto back = decode(datagram, 99);
  checks.that(back && back->from == 258 && back->number == 1ULL << 40 && back->air_ns == 12345678 &&
                  std::equal(frame.begin(), frame.end(), back->frame.begin(), back->frame.end()),
              "a datagram comes back");
  checks.that(!decode(datagram, 98), "another emulation's");
  for (std::size_t bytes = 0; bytes <= kDistantHead; ++bytes)
    checks.that(!decode(std::span(datagram).first(bytes), 99), "a torn datagram");
  datagram[0] ^= 1;
  checks.that(!decode(datagram, 99), "a foreign datagram");
  checks.throws<Error>([] { open_hosts("127.0.0.1:0", {"127.0.0.1:5"}, 1); }, "a port of 0");
  checks.throws<Error>([] { open_hosts("127.0.0.1:5", {"there:5"}, 1); }, "a name for an address");
  checks.throws<Error>([] { open_hosts("127.0.0.1:5", {"127.0.0.1:5x"}, 1); }, "a port with letters");
}

void test_links(Checks& checks) {
  Links links(4, {});
  links.change(std::vector<LinkChange>{{1, 3, 20, 3000}, {1, 2, 20, 0}, {1, 4, 20, 0}, {4, 1, 20, 0}});
  checks.equal(links.count(), std::size_t{4}, "links are counted");
  const float never = std::numeric_limits<float>::quiet_NaN();
  links.change(std::vector<LinkChange>{{1, 3, 5, 3000}, {1, 2, never, 0}, {2, 1, never, 0}});
  checks.equal(links.count(), std::size_t{2 + 1}, "one is gone; one that was not there is still not");
  const Neighbour* const third = find(links.of(1), 3);
  checks.that(third != nullptr && third->propagation_ns == 10006, "3,000 m are 10.007 us");
  checks.that(find(links.of(1), 2) == nullptr, "out of range");
  for (const LinkChange wrong : {LinkChange{0, 1, 1, 1},
                                 {5, 1, 1, 1},
                                 {1, 5, 1, 1},
                                 {2, 2, 1, 1},
                                 {1, 2, INFINITY, 1},
                                 {1, 2, 1, -1},
                                 {1, 2, 1, 2e9F},
                                 {1, 2, 1, never}}) {
    checks.throws<Error>([&] { links.change(std::vector<LinkChange>{{3, 4, 1, 1}, wrong}); }, "a link that cannot be");
  }
  checks.equal(links.count(), std::size_t{3}, "where one is wrong, none is changed");
}

void test_counts(Checks& checks) {
  for (std::int64_t ns = 1; ns < std::int64_t{1} << 61; ns += ns / 7 + 1) {
    const std::size_t bucket = Histogram::bucket(ns);
    checks.that(Histogram::begin_ns(bucket) <= static_cast<double>(ns) &&
                    static_cast<double>(ns) < Histogram::begin_ns(bucket + 1) * (1 + 1e-12),
                "a time lies in its bucket: " + std::to_string(ns));
  }
  Counts counts;
  for (int i = 1; i <= 1000; ++i) counts.late.add(std::int64_t{i} * 1000);
  Totals totals;
  totals.add(counts);
  totals.add(counts);
  checks.that(std::fabs(totals.late_ns(0.5) / 500e3 - 1) < 0.13, "the median is within a bucket");
  checks.equal(Totals().late_ns(0.5), 0.0, "the median of none");
}

void test_commands(Checks& checks) {
  checks.equal(bytes_after({"links", "3"}), std::int64_t{48}, "links");
  checks.equal(bytes_after({"counts"}), std::int64_t{0}, "counts");
  checks.equal(bytes_after({"start", "1", "20"}), std::int64_t{20}, "start");
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{},
                                                {"links"},
                                                {"links", "-1"},
                                                {"links", "x"},
                                                {"links", "99999999999"},
                                                {"counts", "1"},
                                                {"start", "1", "-5"},
                                                {"start", "1", "99999999"}}) {
    checks.that(bytes_after(wrong) < 0, "a line that is no command");
  }
}

}  // namespace
}  // namespace shakedown::radio_forwarder

int main() {
  using namespace shakedown::radio_forwarder;
  shakedown::Checks checks;
  test_draws(checks);
  test_reception(checks);
  test_addresses(checks);
  test_wheel(checks);
  test_datagrams(checks);
  test_links(checks);
  test_counts(checks);
  test_commands(checks);
  return checks.end();
}
