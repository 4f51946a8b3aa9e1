// The job: who is where, with which interfaces; waiting asleep; clocks.
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>
#include <set>

#include "common/affinity.hpp"
#include "multicast.hpp"

namespace shakedown::multicast {
namespace {

constexpr long kMeetingNapNs = 200'000;
constexpr int kRoundTrips = 64;
constexpr int kTag = 7;

/// Rank 0 first, then one rank of each other host, then the second of each: small groups span many hosts.
std::vector<int> in_turn(const std::vector<Rank>& ranks) {
  std::vector<std::pair<int, int>> keyed;  // how many of its host come before it, rank
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const auto before = std::count_if(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(i),
                                      [&](const Rank& one) { return one.host == ranks[i].host; });
    keyed.emplace_back(static_cast<int>(before), static_cast<int>(i));
  }
  std::sort(keyed.begin(), keyed.end());
  std::vector<int> order(keyed.size());
  std::transform(keyed.begin(), keyed.end(), order.begin(), [](const auto& one) { return one.second; });
  return order;
}

}  // namespace

void rest(MPI_Request& request) {
  for (int done = 0;;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done != 0) return;
    const timespec nap{0, kMeetingNapNs};
    nanosleep(&nap, nullptr);
  }
}

void meet(MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(comm, &request);
  rest(request);
}

World join_world() {
  World world;
  MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world.size);
  if (world.size < 2) {
    throw usage("multicast was started with 1 rank and needs at least 2",
                "start it with the mpirun of the MPI it was built with: mpirun -np 2 multicast");
  }
  MPI_Comm_dup(MPI_COMM_WORLD, &world.comm);
  std::string mine;
  together(world.comm, [&] {
    mine = host_name() + '\n' + format_cpu_list(allowed_cpus()) + '\n' + std::to_string(getpid()) + '\n' +
           to_text(list_interfaces());
  });
  for (const auto& text : gather_words(world.comm, mine)) {
    Rank rank;
    const auto first = text.find('\n');
    const auto second = text.find('\n', first + 1);
    const auto third = text.find('\n', second + 1);
    rank.host = text.substr(0, first);
    rank.cpus = text.substr(first + 1, second - first - 1);
    rank.pid = std::stoi(text.substr(second + 1, third - second - 1));
    rank.interfaces = from_text(text.substr(third + 1));
    world.ranks.push_back(std::move(rank));
  }
  world.order = in_turn(world.ranks);
  std::random_device entropy;
  world.run = (std::uint64_t{entropy()} << 32) | entropy();
  MPI_Bcast(&world.run, 1, MPI_UINT64_T, 0, world.comm);
  return world;
}

bool World::one_host() const {
  return std::all_of(ranks.begin(), ranks.end(), [&](const Rank& one) { return one.host == ranks[0].host; });
}

Object World::facts() const {
  std::set<std::string> hosts;
  std::vector<Object> places;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    hosts.insert(ranks[i].host);
    places.push_back(
        Object().add("rank", i).add("host", ranks[i].host).add("cpus", ranks[i].cpus).add("pid", ranks[i].pid));
  }
  Object facts;
  facts.add("world_size", size).add("hosts", std::vector<std::string>(hosts.begin(), hosts.end()));
  facts.add("ranks", places).add("order", order).add("mpi", mpi_version());
  return facts;
}

std::vector<int> group_sizes(const Options& options, int world_size) {
  std::vector<int> sizes;
  if (options.sizes.empty()) {
    for (int size = 2; size < world_size; size *= 2) sizes.push_back(size);
    sizes.push_back(world_size);
    return sizes;
  }
  for (const auto size : options.sizes) {
    if (size > world_size) {
      throw usage("--sizes: a group of " + std::to_string(size) + " ranks, but there are " + std::to_string(world_size),
                  "sizes from 2 to the number of ranks");
    }
    sizes.push_back(static_cast<int>(size));
  }
  return sizes;
}

std::vector<Offset> clock_offsets(MPI_Comm comm) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  std::vector<Offset> offsets(static_cast<std::size_t>(size));
  for (int other = 1; other < size; ++other) {
    double shortest = std::numeric_limits<double>::infinity();
    for (int i = 0; i < kRoundTrips; ++i) {
      double theirs = 0;
      if (rank == 0) {
        const double begin = now_s();
        MPI_Send(nullptr, 0, MPI_DOUBLE, other, kTag, comm);
        MPI_Recv(&theirs, 1, MPI_DOUBLE, other, kTag, comm, MPI_STATUS_IGNORE);
        const double end = now_s();
        if (end - begin >= shortest) continue;
        shortest = end - begin;
        offsets[static_cast<std::size_t>(other)] = {theirs - (begin + end) / 2, shortest / 2};
      } else if (rank == other) {
        MPI_Recv(nullptr, 0, MPI_DOUBLE, 0, kTag, comm, MPI_STATUS_IGNORE);
        theirs = now_s();
        MPI_Send(&theirs, 1, MPI_DOUBLE, 0, kTag, comm);
      }
    }
  }
  return offsets;
}

}  // namespace shakedown::multicast
