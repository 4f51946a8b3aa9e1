// The interface of multicast: one sends to many, or all to all, over UDP; MPI only coordinates and gathers.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/emit.hpp"
#include "common/job.hpp"
#include "interfaces.hpp"
#include "packet.hpp"
#include "sockets.hpp"
#include "totals.hpp"

namespace shakedown::multicast {

enum class Pattern { one_to_many, many_to_many };
enum class Kernel { join, latency, rate, lossless };
/// Damage done by the sender on purpose: tests see what is counted. One packet in ten.
enum class Inject { none, drop, flip, duplicate, swap };

const char* name_of(Pattern pattern);
const char* name_of(Kernel kernel);

struct Options {
  std::vector<Pattern> patterns;
  std::vector<Family> families;
  std::vector<Kernel> kernels;
  std::vector<std::int64_t> sizes;  // of groups of ranks; empty: 2, 4, 8 ... and all
  std::string interface = "auto";
  std::vector<std::string> groups;  // base address for each family; empty: drawn for the job
  int port = 0;                     // 0: drawn for the job
  int ttl = 1;
  int spread = 1;  // groups that the senders are dealt out to
  std::size_t bytes = 1024;
  std::size_t echo_bytes = 64;
  double rate = 10000;   // packets/s of each sender; 0: as fast as it can
  double share = 0;      // of a listener's link that all senders together are to fill; 0: `rate` counts
  double seconds = 0.5;  // of one trial
  std::int64_t samples = 5;
  std::int64_t echoes = 200;  // of each receiver
  double resolution = 0.05;
  int batch = 64;
  int segments = 64;  // packets that the kernel cuts out of one piece, at most; 1: none
  int buffer_bytes = 8 << 20;
  double settle_s = 5;
  double linger_s = 0.1;
  bool spin = false;
  bool one_way = false;
  bool verify = true;
  Inject inject = Inject::none;
};

/// Read the command line. Throws a usage error; --help prints and leaves.
Options read_options(int argc, char** argv);

// ------------------------------------------------------------------------------------------------ the job: world.cpp

struct Rank {
  std::string host;
  std::string cpus;
  int pid = 0;
  std::vector<Interface> interfaces;
};

struct World {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  int size = 0;
  std::uint64_t run = 0;  // marks our packets
  std::vector<Rank> ranks;
  std::vector<int> order;  // of ranks in groups: rank 0, then the hosts in turn
  [[nodiscard]] Object facts() const;
  [[nodiscard]] bool one_host() const;
};

/// Gather where all ranks are. Throws on every rank alike; a usage error for fewer than two ranks.
World join_world();

/// The sizes of groups: as asked, or 2, 4, 8 ... and all. Throws a usage error for one that is not from 2 to all.
std::vector<int> group_sizes(const Options& options, int world_size);

/// Wait asleep: who waits leaves the cores to those that are measured.
void rest(MPI_Request& request);
void meet(MPI_Comm comm);

/// How far rank `of`'s monotonic clock is ahead of rank 0's, and how far that may be off: half the shortest round trip
/// of MPI messages. On rank 0, an entry for each rank; all ranks of `comm` call it.
struct Offset {
  double seconds = 0;
  double uncertainty_s = 0;
};
std::vector<Offset> clock_offsets(MPI_Comm comm);

// ------------------------------------------------------------------------------------------------ networks:
// networks.cpp

/// Each family's interface on every rank, and its groups.
struct Network {
  std::vector<Interface> interfaces;  // by rank
  std::string base;
  double link_bit_s = 0;  // of the slowest of these interfaces; 0: one of them does not say
};

/// One for each family asked for. Throws on every rank alike where there is none.
std::vector<Network> choose_networks(const World& world, const Options& options);

/// Say so where packets are larger than an MTU lets through whole.
void tell_sizes(Emitter& emitter, const Options& options, const std::vector<Network>& networks);

// --------------------------------------------------------------------------------- a group of ranks at work: stage.cpp

/// What each sender is asked for, and how much of a listener's link that is.
struct Offer {
  double rate = 0;        // packets/s of each sender
  double share = 0;       // of the link, all senders together; 0: the link's rate is not known, or there is no link
  double link_bit_s = 0;  // of the slowest link
};

/// One pattern in one family among the first ranks in order, as one of these ranks sees it.
struct Stage {
  const World* world = nullptr;
  const Options* options = nullptr;
  MPI_Comm comm = MPI_COMM_NULL;  // of the members
  int rank = 0;                   // in comm; 0 sends in one to many, and prints
  int size = 0;
  Pattern pattern = Pattern::one_to_many;
  Interface interface;
  int ttl = 1;
  bool loop = false;  // some other rank is on this host
  std::string base;   // group
  double link_bit_s = 0;
  std::uint16_t port = 0;
  std::uint32_t trials = 0;    // numbers given out, alike on all members
  std::vector<Socket> inlets;  // members of the groups, where this rank listens
  Socket outlet;               // connected to this rank's group, where it sends
  Socket echo;                 // any address: probes and answers

  [[nodiscard]] bool sends() const { return pattern == Pattern::many_to_many || rank == 0; }
  [[nodiscard]] bool listens() const { return pattern == Pattern::many_to_many || rank != 0; }
  [[nodiscard]] int senders() const { return pattern == Pattern::many_to_many ? size : 1; }
  [[nodiscard]] Object params() const;
  [[nodiscard]] Offer offer() const;
  [[nodiscard]] Endpoint group(unsigned offset) const { return group_endpoint(base, offset, port, interface); }
};

/// Open the sockets and join the groups. All members call it; it throws on all alike.
Stage open_stage(const World& world, const Options& options, MPI_Comm comm, Pattern pattern, const Interface& interface,
                 const Network& network, std::uint16_t port, std::uint32_t number);

// ----------------------------------------------------------------------------------------------- one trial: trial.cpp

struct Trial {
  double rate = 0;  // packets/s of each sender; 0: as fast as it can
  double seconds = 0;
  std::size_t bytes = 0;
};

/// Every sender sends, every listener counts. What came of it, on rank 0 of the stage.
Outcome run_trial(Stage& stage, const Trial& trial);

// ----------------------------------------------------------------------- round trips and joins: latency.cpp

struct Latencies {
  std::vector<double> seconds;               // of all receivers
  std::vector<std::vector<double>> of_each;  // receiver by receiver, from rank 1
  std::int64_t lost = 0;                     // round trips without an answer
  double uncertainty_s = 0;                  // of a one-way latency
};

/// Half of round trips: rank 0 sends to the group, one receiver after the other answers by unicast.
Latencies echo_latencies(Stage& stage);
/// Arrival less departure by corrected clocks, at all receivers of each packet.
Latencies one_way_latencies(Stage& stage);

/// From the call that joins a group, to which rank 0 is sending, to the first packet; of all receivers, each time a
/// group that nobody was in (RFC 3918, section 6.1, "group join delay"). A receiver that hears nothing gives none.
std::vector<double> join_delays(Stage& stage, int repeats);

}  // namespace shakedown::multicast
