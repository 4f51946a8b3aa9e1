// What the bounds of collectives are made of: LogP's times and the rate of a port between two ranks, and that of
// additions.
#include <algorithm>
#include <array>
#include <optional>

#include "collectives.hpp"
#include "common/clock.hpp"
#include "waiting.hpp"

namespace shakedown::collectives {
namespace {

constexpr int kPairTag = 9;
constexpr int kSamples = 41;
constexpr int kMessages = 16;
constexpr int kPortSamples = 15;
constexpr std::array<int, 2> kWindows = {1, 16};
constexpr std::array<std::size_t, 4> kPortBytes = {16'384, 65'536, 262'144, 1'048'576};
constexpr std::array<std::size_t, 2> kReduceBytes = {65'536, 1'048'576};

struct Ends {
  int low = 0;
  int high = 0;
  const char* between = "host";
};

/// PRTT(n, d, s): so many messages, each followed by a pause of d in which the sender computes, and one back from the
/// receiver of the last (Hoefler, Mehlan, Lumsdaine, Rehm 2007, "Low-overhead LogGP parameter assessment").
double round_trip_s(MPI_Comm comm, bool leads, int peer, int messages, std::int64_t pause_ns) {
  char word = 0;
  const std::int64_t begin_ns = read_clock_ns(CLOCK_MONOTONIC_RAW);
  if (leads) {
    for (int i = 0; i < messages; ++i) {
      MPI_Send(&word, 1, MPI_CHAR, peer, kPairTag, comm);
      if (i + 1 == messages || pause_ns == 0) continue;
      busy_for(pause_ns);
    }
    MPI_Recv(&word, 1, MPI_CHAR, peer, kPairTag, comm, MPI_STATUS_IGNORE);
  } else {
    for (int i = 0; i < messages; ++i) MPI_Recv(&word, 1, MPI_CHAR, peer, kPairTag, comm, MPI_STATUS_IGNORE);
    MPI_Send(&word, 1, MPI_CHAR, peer, kPairTag, comm);
  }
  return static_cast<double>(read_clock_ns(CLOCK_MONOTONIC_RAW) - begin_ns) * 1e-9;
}

/// A window of messages one way (`ways` 1) or both ways at once, and an empty one back that ends it.
double window_s(MPI_Comm comm, bool leads, int peer, int window, int ways, std::span<char> out, std::span<char> in) {
  std::vector<MPI_Request> requests;
  requests.reserve(2 * static_cast<std::size_t>(window));
  const int count = static_cast<int>(out.size());
  const std::int64_t begin_ns = read_clock_ns(CLOCK_MONOTONIC_RAW);
  for (int i = 0; i < window; ++i) {
    if (!leads || ways == 2) {
      MPI_Irecv(in.data(), count, MPI_CHAR, peer, kPairTag, comm, &requests.emplace_back(MPI_REQUEST_NULL));
    }
    if (leads || ways == 2) {
      MPI_Isend(out.data(), count, MPI_CHAR, peer, kPairTag, comm, &requests.emplace_back(MPI_REQUEST_NULL));
    }
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  MPI_Sendrecv(nullptr, 0, MPI_CHAR, peer, kPairTag, nullptr, 0, MPI_CHAR, peer, kPairTag, comm, MPI_STATUS_IGNORE);
  return static_cast<double>(read_clock_ns(CLOCK_MONOTONIC_RAW) - begin_ns) * 1e-9;
}

template <class Take>
std::vector<double> samples(MPI_Comm comm, int peer, int count, Take&& take) {
  std::vector<double> seconds;
  for (int i = -2; i < count; ++i) {
    MPI_Sendrecv(nullptr, 0, MPI_CHAR, peer, kPairTag, nullptr, 0, MPI_CHAR, peer, kPairTag, comm, MPI_STATUS_IGNORE);
    const double taken_s = take();
    if (i >= 0) seconds.push_back(taken_s);
  }
  return seconds;
}

Object params_of(const Ends& ends) {
  Object params;
  params.add("rank_a", ends.low).add("rank_b", ends.high).add("between", ends.between);
  return params;
}

/// The cases of a pair, whole on its lower rank.
std::vector<Case> pair_cases(const World& world, const Options& options, const Ends& ends) {
  const bool leads = world.rank == ends.low;
  const int peer = leads ? ends.high : ends.low;
  const MPI_Comm comm = world.control;
  std::vector<Case> cases;
  const auto add = [&](std::string kernel, Object params, Object work, std::vector<double> seconds) {
    Case one;
    one.kernel = std::move(kernel);
    one.params = std::move(params);
    one.work = std::move(work);
    one.seconds = std::move(seconds);
    cases.push_back(std::move(one));
  };
  const auto trips = [&](int messages, std::int64_t pause_ns) {
    auto seconds = samples(comm, peer, kSamples, [&] { return round_trip_s(comm, leads, peer, messages, pause_ns); });
    Object work;
    work.add("messages", messages + 1).add("pause_s", static_cast<double>(pause_ns) * 1e-9);
    add("prtt", params_of(ends).add("messages", messages).add("paused", pause_ns > 0), work, seconds);
    return *std::min_element(seconds.begin(), seconds.end());
  };
  const double single_s = trips(1, 0);
  trips(kMessages, 0);
  // Longer than a round trip, so that what was sent has arrived before the next leaves; the leader alone pauses.
  trips(kMessages, static_cast<std::int64_t>(2e9 * single_s) + 500);
  const Buffer out(kPortBytes.back(), options.pages);
  const Buffer in(kPortBytes.back(), options.pages);
  std::fill(out.as<char>().begin(), out.as<char>().end(), 1);
  std::fill(in.as<char>().begin(), in.as<char>().end(), 0);
  for (const std::size_t bytes : kPortBytes) {
    for (const int window : kWindows) {
      for (const int ways : {1, 2}) {
        auto seconds = samples(comm, peer, kPortSamples, [&] {
          return window_s(comm, leads, peer, window, ways, out.as<char>().first(bytes), in.as<char>().first(bytes));
        });
        Object work;
        work.add("bytes", static_cast<std::size_t>(window) * bytes);  // through a port, in one direction
        add("port", params_of(ends).add("bytes", bytes).add("window", window).add("ways", ways), work,
            std::move(seconds));
      }
    }
  }
  return cases;
}

std::vector<Case> reduce_cases() {
  std::vector<Case> cases;
  for (const std::size_t bytes : kReduceBytes) {
    const std::vector<Word> from(bytes / sizeof(Word), 3);
    std::vector<Word> into(bytes / sizeof(Word), 1);
    Case one;
    one.kernel = "reduce_local";
    one.params.add("bytes", bytes);
    one.work.add("bytes", bytes);
    for (int i = -2; i < kSamples; ++i) {
      const std::int64_t begin_ns = read_clock_ns(CLOCK_MONOTONIC_RAW);
      MPI_Reduce_local(from.data(), into.data(), static_cast<int>(from.size()), MPI_UINT64_T, MPI_SUM);
      const std::int64_t passed_ns = read_clock_ns(CLOCK_MONOTONIC_RAW) - begin_ns;
      if (i >= 0) one.seconds.push_back(static_cast<double>(passed_ns) * 1e-9);
    }
    cases.push_back(std::move(one));
  }
  return cases;
}

/// Rank 0 and the next of its host, and rank 0 and the first of another host: where there is such a one.
std::vector<Ends> pairs_of(const World& world) {
  std::optional<Ends> beside;
  std::optional<Ends> away;
  for (int rank = 1; rank < world.size; ++rank) {
    const bool same = world.hosts[static_cast<std::size_t>(rank)] == world.hosts.front();
    if (same && !beside) beside = Ends{0, rank, "host"};
    if (!same && !away) away = Ends{0, rank, "hosts"};
  }
  std::vector<Ends> pairs;
  if (beside) pairs.push_back(*beside);
  if (away) pairs.push_back(*away);
  return pairs;
}

}  // namespace

std::vector<Case> point_to_point(const World& world, const Options& options) {
  std::vector<Case> cases;
  for (const Ends& ends : pairs_of(world)) {
    if (world.rank == ends.low || world.rank == ends.high) {
      for (auto& one : pair_cases(world, options, ends)) cases.push_back(std::move(one));
    }
    rest(world);
  }
  if (world.rank == 0) {
    for (auto& one : reduce_cases()) cases.push_back(std::move(one));
  }
  rest(world);
  return cases;
}

}  // namespace shakedown::collectives
