// Latencies: half of round trips, or one way by corrected clocks; and how long joining a group takes.
#include <poll.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "common/clock.hpp"
#include "listener.hpp"

namespace shakedown::multicast {
namespace {

constexpr int kAnswerMs = 100;              // after which a round trip is lost
constexpr std::int64_t kProbeNs = 100'000;  // between two packets to a group that is being joined
constexpr int kJoinMs = 3000;               // after which a join failed
constexpr std::int64_t kOneWayNs = 500'000;

std::vector<std::uint8_t> packet(const Stage& stage, std::uint32_t number, std::uint64_t sequence,
                                 std::uint32_t target) {
  const std::size_t bytes = stage.options->echo_bytes;
  Payloads payloads(static_cast<std::uint32_t>(stage.rank), bytes);
  Header header;
  header.run = stage.world->run;
  header.sequence = sequence;
  header.sent_ns = monotonic_ns();
  header.trial = number;
  header.sender = static_cast<std::uint32_t>(stage.rank);
  header.target = target;
  header.bytes = static_cast<std::uint32_t>(bytes);
  header.checksum = checksum(header, payloads.sum(sequence));
  std::vector<std::uint8_t> data(bytes);
  std::memcpy(data.data(), &header, sizeof header);
  const auto payload = payloads.at(sequence);
  std::copy(payload.begin(), payload.end(), data.begin() + sizeof header);
  return data;
}

void send_to(const Stage& stage, const std::vector<std::uint8_t>& data, const Endpoint& where) {
  sendto(stage.echo.fd(), data.data(), data.size(), 0, where.get(), where.length);  // a refusal shows as no answer
}

/// Wait for the answer of `target` to `sequence`; false where none came in time.
bool answered(const Stage& stage, std::uint32_t number, std::uint64_t sequence, std::uint32_t target) {
  std::array<std::uint8_t, 2048> buffer{};
  const std::int64_t end = monotonic_ns() + std::int64_t{kAnswerMs} * 1'000'000;
  while (monotonic_ns() < end) {
    if (!stage.options->spin) {
      pollfd one{stage.echo.fd(), POLLIN, 0};
      if (poll(&one, 1, kAnswerMs) <= 0) continue;
    }
    const ssize_t got = recv(stage.echo.fd(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got < static_cast<ssize_t>(sizeof(Header))) continue;
    Header header;
    std::memcpy(&header, buffer.data(), sizeof header);
    if (header.run == stage.world->run && header.trial == number && header.sequence == sequence &&
        header.sender == target) {
      return true;
    }
  }
  return false;
}

void ask(const Stage& stage, std::uint32_t number, Latencies& found) {
  const Endpoint group = stage.group(0);
  const auto warm = std::min<std::int64_t>(20, stage.options->echoes);
  found.of_each.resize(static_cast<std::size_t>(stage.size) - 1);
  std::uint64_t sequence = 0;
  for (std::int64_t i = -warm; i < stage.options->echoes; ++i) {
    for (int target = 1; target < stage.size; ++target) {
      const auto who = static_cast<std::uint32_t>(target);
      const auto data = packet(stage, number, sequence, who);
      const std::int64_t begin = monotonic_ns();
      send_to(stage, data, group);
      const bool heard = answered(stage, number, sequence++, who);
      const double seconds = static_cast<double>(monotonic_ns() - begin) * 1e-9;
      if (i < 0) continue;
      if (heard) {
        found.of_each[static_cast<std::size_t>(target) - 1].push_back(seconds / 2);
      } else {
        ++found.lost;
      }
    }
  }
}

void flatten(Latencies& found) {
  for (const auto& one : found.of_each) found.seconds.insert(found.seconds.end(), one.begin(), one.end());
}

/// The lists of all ranks but 0, on rank 0.
std::vector<std::vector<double>> gather_doubles(MPI_Comm comm, const std::vector<double>& mine) {
  int size = 0;
  int rank = 0;
  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(comm, &rank);
  std::vector<int> counts(static_cast<std::size_t>(size));
  const int count = rank == 0 ? 0 : static_cast<int>(mine.size());
  MPI_Gather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, comm);
  std::vector<int> begins(counts.size());
  int total = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    begins[i] = total;
    total += counts[i];
  }
  std::vector<double> all(static_cast<std::size_t>(total));
  MPI_Gatherv(mine.data(), count, MPI_DOUBLE, all.data(), counts.data(), begins.data(), MPI_DOUBLE, 0, comm);
  std::vector<std::vector<double>> lists;
  for (std::size_t i = 1; i < counts.size() && rank == 0; ++i) {
    lists.emplace_back(all.begin() + begins[i], all.begin() + begins[i] + counts[i]);
  }
  return lists;
}

}  // namespace

Latencies echo_latencies(Stage& stage) {
  const std::uint32_t number = ++stage.trials;
  const auto me = static_cast<std::uint32_t>(stage.rank);
  Latencies found;
  {
    Listener listener(stage, number, stage.options->echo_bytes, 0,
                      [&](const Header& header, std::int64_t, const Endpoint& from) {
                        if (header.target == me) {
                          send_to(stage, packet(stage, number, header.sequence, kNobody), from);
                        }
                      });
    meet(stage.comm);
    if (stage.rank == 0) ask(stage, number, found);
    meet(stage.comm);
  }
  flatten(found);
  return found;
}

Latencies one_way_latencies(Stage& stage) {
  const std::uint32_t number = ++stage.trials;
  std::vector<double> mine;
  const auto before = clock_offsets(stage.comm);
  {
    Listener listener(stage, number, stage.options->echo_bytes, 0,
                      [&](const Header& header, std::int64_t now_ns, const Endpoint&) {
                        mine.push_back(static_cast<double>(now_ns - header.sent_ns) * 1e-9);
                      });
    meet(stage.comm);
    if (stage.rank == 0) {
      const Endpoint group = stage.group(0);
      for (std::int64_t i = 0; i < stage.options->echoes; ++i) {
        send_to(stage, packet(stage, number, static_cast<std::uint64_t>(i), kNobody), group);
        const timespec nap{0, kOneWayNs};
        nanosleep(&nap, nullptr);
      }
      const timespec linger{0, static_cast<long>(std::min(0.9, stage.options->linger_s) * 1e9)};
      nanosleep(&linger, nullptr);
    }
    meet(stage.comm);
  }
  const auto after = clock_offsets(stage.comm);
  Latencies found;
  found.of_each = gather_doubles(stage.comm, mine);
  for (std::size_t i = 0; i < found.of_each.size(); ++i) {
    const Offset& a = before[i + 1];
    const Offset& b = after[i + 1];
    for (auto& one : found.of_each[i]) one -= (a.seconds + b.seconds) / 2;
    const double drift = std::abs(b.seconds - a.seconds) / 2;
    found.uncertainty_s = std::max(found.uncertainty_s, std::max(a.uncertainty_s, b.uncertainty_s) + drift);
    found.lost += stage.options->echoes - static_cast<std::int64_t>(found.of_each[i].size());
  }
  flatten(found);
  return found;
}

namespace {

/// From the join to the first of our packets; negative where none came.
double joined_after(const Stage& stage, const Endpoint& group) {
  const Socket inlet = group_socket(group, stage.interface, 1 << 20);
  std::vector<std::uint8_t> buffer(stage.options->echo_bytes);
  const std::int64_t begin = monotonic_ns();
  join(inlet, group, stage.interface);
  const std::int64_t end = begin + std::int64_t{kJoinMs} * 1'000'000;
  for (std::int64_t now = begin; now < end; now = monotonic_ns()) {
    pollfd one{inlet.fd(), POLLIN, 0};
    if (poll(&one, 1, 100) <= 0) continue;
    const ssize_t got = recv(inlet.fd(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    now = monotonic_ns();
    Header header;
    if (got > 0 &&
        examine({buffer.data(), static_cast<std::size_t>(got)}, stage.world->run, true, header) == Arrival::whole) {
      return static_cast<double>(now - begin) * 1e-9;
    }
  }
  return -1;
}

}  // namespace

std::vector<double> join_delays(Stage& stage, int repeats) {
  std::vector<double> mine;
  const std::uint32_t number = ++stage.trials;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    // A group of its own each time, and in each stage: a switch remembers who left one only just now.
    const auto fresh = static_cast<unsigned>(stage.options->spread) + (number >> 16U) * static_cast<unsigned>(repeats) +
                       static_cast<unsigned>(repeat);
    const Endpoint group = stage.group(fresh);
    meet(stage.comm);
    std::string why;
    int code = kOk;
    try {
      if (stage.rank != 0) mine.push_back(joined_after(stage, group));
    } catch (const Error& error) {
      code = error.code;
      why = error.what();
    }
    MPI_Request others = MPI_REQUEST_NULL;
    MPI_Ibarrier(stage.comm, &others);
    std::uint64_t sequence = 0;
    for (int done = 0; done == 0 && stage.rank == 0;) {
      send_to(stage, packet(stage, number, sequence++, kNobody), group);
      const timespec nap{0, kProbeNs};
      nanosleep(&nap, nullptr);
      MPI_Test(&others, &done, MPI_STATUS_IGNORE);
    }
    if (stage.rank != 0) rest(others);
    agree(stage.comm, code, why);
  }
  std::vector<double> all;
  for (const auto& list : gather_doubles(stage.comm, mine)) all.insert(all.end(), list.begin(), list.end());
  return all;
}

}  // namespace shakedown::multicast
