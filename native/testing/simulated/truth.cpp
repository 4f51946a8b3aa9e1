// What collective operations, and the ways to make them of others, take on a simulated machine: by the simulator's own
// clock and by nothing of ours. All ranks sleep to one instant of simulated time and call it once; the time is from the
// first entry to the last return.
//
//     truth OPERATION METHOD WORDS ...   METHOD is library or a mock-up; prints a line for each: seconds with what
//                                          collectives does at once after it, and alone
#include <mpi.h>
#include <time.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace {

using Call = std::function<void()>;
using Calls = std::map<std::string, std::map<std::string, Call>>;

/// All ways for vectors, or blocks, of so many words. The buffers hold a block for each rank.
Calls calls_of(int count, int rank, int ranks, std::vector<unsigned long long>& from,
               std::vector<unsigned long long>& into, std::vector<unsigned long long>& between) {
  const MPI_Datatype t = MPI_UINT64_T;
  const MPI_Comm all = MPI_COMM_WORLD;
  void* const a = from.data();
  void* const b = into.data();
  void* const c = between.data();
  const int n = count;
  const int part = (count + ranks - 1) / ranks;
  std::vector<int> counts(static_cast<std::size_t>(ranks), n);
  std::vector<int> begins(counts.size());
  for (std::size_t i = 1; i < begins.size(); ++i) begins[i] = begins[i - 1] + n;
  std::vector<int> of_root(counts.size(), 0);
  of_root[0] = n;
  const std::vector<int> zeros(counts.size(), 0);
  return {
      {"barrier",
       {{"library", [=] { MPI_Barrier(all); }}, {"allreduce", [=] { MPI_Allreduce(a, b, 1, t, MPI_SUM, all); }}}},
      {"bcast",
       {{"library", [=] { MPI_Bcast(b, n, t, 0, all); }},
        {"scatter+allgather",
         [=] {
           MPI_Scatter(a, part, t, b, part, t, 0, all);
           MPI_Allgather(b, part, t, c, part, t, all);
         }},
        {"allgatherv", [=] { MPI_Allgatherv(a, rank == 0 ? n : 0, t, b, of_root.data(), zeros.data(), t, all); }}}},
      {"reduce",
       {{"library", [=] { MPI_Reduce(a, b, n, t, MPI_SUM, 0, all); }},
        {"allreduce", [=] { MPI_Allreduce(a, b, n, t, MPI_SUM, all); }},
        {"reduce_scatter_block+gather",
         [=] {
           MPI_Reduce_scatter_block(a, c, part, t, MPI_SUM, all);
           MPI_Gather(c, part, t, b, part, t, 0, all);
         }}}},
      {"allreduce",
       {{"library", [=] { MPI_Allreduce(a, b, n, t, MPI_SUM, all); }},
        {"reduce+bcast",
         [=] {
           MPI_Reduce(a, b, n, t, MPI_SUM, 0, all);
           MPI_Bcast(b, n, t, 0, all);
         }},
        {"reduce_scatter_block+allgather",
         [=] {
           MPI_Reduce_scatter_block(a, c, part, t, MPI_SUM, all);
           MPI_Allgather(c, part, t, b, part, t, all);
         }}}},
      {"gather",
       {{"library", [=] { MPI_Gather(a, n, t, b, n, t, 0, all); }},
        {"allgather", [=] { MPI_Allgather(a, n, t, b, n, t, all); }},
        {"gatherv", [=] { MPI_Gatherv(a, n, t, b, counts.data(), begins.data(), t, 0, all); }}}},
      {"scatter",
       {{"library", [=] { MPI_Scatter(a, n, t, b, n, t, 0, all); }},
        {"bcast", [=] { MPI_Bcast(c, n * ranks, t, 0, all); }},
        {"scatterv", [=] { MPI_Scatterv(a, counts.data(), begins.data(), t, b, n, t, 0, all); }}}},
      {"allgather",
       {{"library", [=] { MPI_Allgather(a, n, t, b, n, t, all); }},
        {"gather+bcast",
         [=] {
           MPI_Gather(a, n, t, b, n, t, 0, all);
           MPI_Bcast(b, n * ranks, t, 0, all);
         }},
        {"alltoall", [=] { MPI_Alltoall(a, n, t, b, n, t, all); }},
        {"allgatherv", [=] { MPI_Allgatherv(a, n, t, b, counts.data(), begins.data(), t, all); }},
        {"allreduce", [=] { MPI_Allreduce(a, b, n * ranks, t, MPI_SUM, all); }}}},
      {"alltoall",
       {{"library", [=] { MPI_Alltoall(a, n, t, b, n, t, all); }},
        {"alltoallv",
         [=] { MPI_Alltoallv(a, counts.data(), begins.data(), t, b, counts.data(), begins.data(), t, all); }}}},
      {"reduce_scatter_block",
       {{"library", [=] { MPI_Reduce_scatter_block(a, b, n, t, MPI_SUM, all); }},
        {"reduce_scatter", [=] { MPI_Reduce_scatter(a, b, counts.data(), t, MPI_SUM, all); }},
        {"reduce+scatter",
         [=] {
           MPI_Reduce(a, c, n * ranks, t, MPI_SUM, 0, all);
           MPI_Scatter(c, n, t, b, n, t, 0, all);
         }},
        {"allreduce", [=] { MPI_Allreduce(a, c, n * ranks, t, MPI_SUM, all); }}}},
      {"scan",
       {{"library", [=] { MPI_Scan(a, b, n, t, MPI_SUM, all); }},
        {"exscan+reduce_local", [=] { MPI_Exscan(a, b, n, t, MPI_SUM, all); }}}},
      {"exscan", {{"library", [=] { MPI_Exscan(a, b, n, t, MPI_SUM, all); }}}},
  };
}

/// With `followed` each rank agrees with all others as soon as it has ended, as collectives does: the first to end then
/// send small messages that meet the last of the operation. Else they are silent for a second.
double seconds_of(const Call& call, bool followed) {
  const MPI_Comm all = MPI_COMM_WORLD;
  for (int i = 0; i < 3; ++i) call();
  MPI_Barrier(all);
  double begin_s = MPI_Wtime();
  MPI_Allreduce(MPI_IN_PLACE, &begin_s, 1, MPI_DOUBLE, MPI_MAX, all);
  begin_s = std::ceil(begin_s) + 1;  // long after all of them are here
  while (true) {
    const double left_s = begin_s - MPI_Wtime();
    if (left_s <= 0.5e-9) break;
    const timespec nap{static_cast<time_t>(left_s), std::lround(std::fmod(left_s, 1) * 1e9)};
    nanosleep(&nap, nullptr);
  }
  double entry_s = MPI_Wtime();
  call();
  double exit_s = MPI_Wtime();
  if (followed) {
    int word = 0;
    MPI_Allreduce(MPI_IN_PLACE, &word, 1, MPI_INT, MPI_MAX, all);
  } else {
    const timespec rest{1, 0};
    nanosleep(&rest, nullptr);
  }
  MPI_Allreduce(MPI_IN_PLACE, &entry_s, 1, MPI_DOUBLE, MPI_MIN, all);
  MPI_Allreduce(MPI_IN_PLACE, &exit_s, 1, MPI_DOUBLE, MPI_MAX, all);
  return exit_s - entry_s;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int code = 0;
  for (int at = 1; at + 2 < argc && code == 0; at += 3) {
    const int count = std::atoi(argv[at + 2]);
    const auto words = static_cast<std::size_t>(ranks) * static_cast<std::size_t>(count + 1);
    std::vector<unsigned long long> from(words, 1), into(words, 0), between(words, 0);
    const auto calls = calls_of(count, rank, ranks, from, into, between);
    const auto operation = calls.find(argv[at]);
    if (operation == calls.end() || operation->second.count(argv[at + 1]) == 0) {
      if (rank == 0) std::fprintf(stderr, "truth: no %s by %s\n", argv[at], argv[at + 1]);
      code = 2;
      continue;
    }
    const auto& call = operation->second.at(argv[at + 1]);
    const double followed_s = seconds_of(call, true);
    const double alone_s = seconds_of(call, false);
    if (rank == 0) std::printf("%s %s %d %.17g %.17g\n", argv[at], argv[at + 1], count, followed_s, alone_s);
  }
  MPI_Finalize();
  return code;
}
