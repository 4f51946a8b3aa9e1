// What needs no GPU and no rank: what a result must be, sizes and factors, the library's log.
#include <algorithm>
#include <vector>

#include "nccl.hpp"
#include "nccl_log.hpp"
#include "operations.hpp"
#include "testing/check.hpp"

namespace {

using namespace shakedown::gpu_collectives;
using shakedown::Checks;

constexpr Word kSeed = 5;

Word whole(int type, Word place, int rank) {
  const Line line = line_at(type, kSeed, place);
  return line.a + static_cast<Word>(rank) * line.b;
}

/// Element i of a rank's result, as the operation is defined: from what the ranks send, by their own places.
Word defined(const Shape& shape, int rank, std::size_t i) {
  const std::size_t count = count_of(shape), mine = static_cast<std::size_t>(rank) * count;
  const auto sum = [&](std::size_t place) {
    Word total = 0;
    for (int one = 0; one < shape.ranks; ++one) total += whole(shape.type, place, one);
    return total;
  };
  switch (shape.operation) {
    case Operation::all_reduce:
    case Operation::reduce:
      return sum(i);
    case Operation::reduce_scatter:
      return sum(mine + i);
    case Operation::all_gather:
    case Operation::gather:
      return whole(shape.type, i % count, static_cast<int>(i / count));
    case Operation::broadcast:
      return whole(shape.type, i, 0);
    case Operation::alltoall:
      return whole(shape.type, mine + i % count, static_cast<int>(i / count));
    case Operation::scatter:
      return whole(shape.type, mine + i, 0);
    case Operation::sendrecv:
      return whole(shape.type, i, rank == 0 ? shape.ranks - 1 : rank - 1);
  }
  return 0;
}

void results(Checks& checks) {
  for (std::size_t operation = 0; operation < kOperations.size(); ++operation) {
    for (const int type : {kFloat, kUint64}) {
      for (const int ranks : {1, 2, 3, 8}) {
        const Shape shape{static_cast<Operation>(operation), type, 1000, ranks, false};
        int wrong = 0;
        for (int rank = 0; rank < ranks; ++rank) {
          const Origin origin = origin_of(shape, rank, kSeed);
          for (std::size_t i = 0; i < result_count(shape, rank); ++i)
            wrong += expected(origin, i) != element_of(type, defined(shape, rank, i)) ? 1 : 0;
        }
        checks.equal(wrong, 0, std::string(kOperations[operation]) + " on " + std::to_string(ranks));
      }
    }
  }
}

/// Sums that single precision holds exactly, whoever is added first; and no two ranks that send the same.
void exactness(Checks& checks) {
  constexpr Word n = kMostRanks;
  Word most = 0;
  int alike = 0;
  for (Word place = 0; place < 100000; ++place) {
    const Line line = line_at(kFloat, kSeed, place);
    most = std::max(most, n * line.a + n * (n - 1) / 2 * line.b);
    alike += sent(kFloat, kSeed, place, 0) == sent(kFloat, kSeed, place, 1) ? 1 : 0;
  }
  checks.that(most < (Word{1} << 24), "sums are exact: " + std::to_string(most));
  checks.that(most > (Word{1} << 22), "and not small by mistake");
  checks.equal(alike, 0, "ranks differ everywhere");
  checks.that(sent(kFloat, kSeed, 7, 1) != sent(kFloat, kSeed + 1, 7, 1), "another seed, other data");
}

void sizes(Checks& checks) {
  const auto bytes = [](Operation operation, std::size_t asked, int ranks) {
    return whole_bytes({operation, kFloat, asked, ranks, false});
  };
  checks.equal(bytes(Operation::all_reduce, 1001, 8), 1000u, "whole elements");
  checks.equal(bytes(Operation::all_gather, 1 << 20, 8), 1u << 20, "blocks that fit");
  checks.equal(bytes(Operation::all_gather, 1000, 3), 960u, "blocks of 320 bytes: multiples of 16, as in nccl-tests");
  checks.equal(bytes(Operation::alltoall, 100, 8), 0u, "no room for a block each");
  checks.equal(bus_factor(Operation::all_reduce, 8), 1.75, "2 (n-1)/n");
  checks.equal(bus_factor(Operation::all_reduce, 1), 0.0, "of one GPU there is no bus");
  checks.equal(bus_factor(Operation::reduce_scatter, 8), 0.875, "(n-1)/n");
  checks.equal(bus_factor(Operation::alltoall, 4), 0.75, "(n-1)/n");
  checks.equal(bus_factor(Operation::broadcast, 8), 1.0, "1");
  checks.equal(bus_factor(Operation::sendrecv, 2), 1.0, "1");
}

void versions(Checks& checks) {
  checks.equal(nccl_version_word(23203), "2.32.3", "since 2.9");
  checks.equal(nccl_version_word(2804), "2.8.4", "before");
  checks.equal(nccl_version_word(21805), "2.18.5", "since 2.9");
}

/// Lines in NCCL's forms, of 2.18 to 2.32; hosts and addresses are made up.
void log(Checks& checks) {
  NcclLog found;
  read_nccl_log(
      "n1:10:21 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to 1.\n"
      "n1:10:21 [0] NCCL INFO NCCL_DEBUG_SUBSYS set by environment to INIT,ENV\n"
      "n1:10:21 [0] NCCL INFO NVLS multicast support is not available on dev 0\n"
      "n1:10:21 [0] NCCL INFO Channel 00/32 :    0   1   2   3\n"
      "n1:10:21 [0] NCCL INFO Trees [0] 1/-1/-1->0->-1 [1] 1/-1/-1->0->-1\n"
      "n1:10:21 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/direct pointer\n"
      "n1:10:22 [1] NCCL INFO Channel 01 : 1[1] -> 2[2] via SHM/direct/direct\n"
      "n1:10:22 [1] NCCL INFO Channel 14/0 : 15[7] -> 0[0] [send] via NET/Socket/0\n"
      "n1:10:21 [0] NCCL INFO 24 coll channels, 24 collnet channels, 16 nvls channels, 32 p2p channels, 32 p2p "
      "channels per peer\n"
      "n1:10:21 [0] NCCL INFO AllReduce: 8589934592 Bytes -> Algo NVLS proto SIMPLE channel{Lo..Hi}={0..15}\n"
      "n1:10:21 [0] misc/socket.cc:58 NCCL WARN socketProgress: Connection closed by remote peer\n",
      found);
  checks.equal(found.paths.size(), 3u, "the joined pairs, and no ring or tree");
  checks.equal(found.paths[{0, 1}], "P2P/direct pointer", "as it is said");
  checks.equal(found.paths[{15, 0}], "NET/Socket/0", "a sender");
  checks.equal(kinds_of(found), "NET+P2P+SHM", "each kind once");
  checks.equal(found.channels, 24, "channels");
  checks.equal(found.nvls_channels, 16, "and those of the switch");
  checks.equal(found.algorithm, "nvls", "by name");
  checks.equal(found.protocol, "simple", "by name");
  checks.that(found.nvls_refused, "no multicast");
  checks.equal(found.settings.size(), 1u, "what others than we have set");
  checks.equal(found.settings.front(), "NCCL_P2P_DISABLE=1", "with its value");
  checks.equal(found.warnings.front(), "socketProgress: Connection closed by remote peer", "the library's own words");
  read_nccl_log("[0] NCCL INFO 1026048 Bytes -> Algo 1 proto 2 time 34.693867\n", found);
  checks.equal(found.algorithm, "ring", "by number, before 2.22");
  checks.equal(found.protocol, "simple", "by number");
  read_nccl_log("[0] NCCL INFO AllReduce: 64 Bytes -> Algo NVLSTree proto LL128 channel", found);
  checks.equal(found.algorithm, "nvls_tree", "the last word, also without an end of line");
  NcclLog newest;
  read_nccl_log(
      "[2026-11-23 16:26:00] n1:10:21 [0] misc/cudawrap.cc:329 (initOnceFunc) NCCL WARN Cuda failure\n"
      "[2026-11-23 16:26:00] n1:10:22 [1] init.cc:2955 (ncclCommInitRank) NCCL WARN Cuda failure\n"
      "n1:10:21 [0] NCCL INFO NVLS multicast support is available on dev 0, transport disabled, symmetric multimem "
      "enabled\n"
      "n1:10:21 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via SHM/direct\n"
      "n1:10:21 [0] NCCL INFO AllReduce: 4096 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..1} cgaClusterSize 4\n",
      newest);
  checks.equal(newest.algorithm + " " + newest.protocol, "tree ll", "the form of 2.32");
  checks.equal(newest.warnings.size(), 1u, "a warning of several ranks once");
  checks.that(newest.nvls_refused && kinds_of(newest) == "SHM", "as it is said since 2.28");
  read_nccl_log("[0] NCCL INFO AllReduce [Symmetric]: 4096 Bytes -> Kernel AllReduce_AGxLL_R nchannels 8\n", newest);
  checks.equal(newest.algorithm, "symmetric", "kernels of registered buffers");
  NcclLog none;
  read_nccl_log("nothing\n\n -> via \nChannel  via \n Bytes -> Algo \n coll channels, \n set by environment to \n",
                none);
  checks.that(none.paths.empty() && kinds_of(none).empty(), "of a foreign text nothing is known");
}

}  // namespace

int main() {
  Checks checks;
  results(checks);
  exactness(checks);
  sizes(checks);
  versions(checks);
  log(checks);
  return checks.end();
}
