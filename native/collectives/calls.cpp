#include "calls.hpp"

#include <algorithm>
#include <cstring>

namespace shakedown::collectives {
namespace {

MPI_Datatype word_type() { return MPI_UINT64_T; }

struct Arguments {
  const void* send;
  void* receive;
  int count;
  int rank;
  int root;
};

/// The buffers as MPI takes them: in place, one of the two is MPI_IN_PLACE, at the root alone where there is a root.
Arguments arguments(const Call& call) {
  const bool at_root = call.view.rank == call.view.root;
  Arguments made{call.send, call.receive, static_cast<int>(call.view.count), call.view.rank, call.view.root};
  if (!call.in_place || (has_root(call.view.operation) && !at_root)) return made;
  if (call.view.operation == Operation::scatter) {
    made.receive = MPI_IN_PLACE;
  } else {
    made.send = MPI_IN_PLACE;
  }
  return made;
}

void call_library(const Call& c) {
  const auto [send, receive, n, rank, root] = arguments(c);
  const MPI_Datatype t = word_type();
  const int* counts = c.counts.data();
  const int* begins = c.begins.data();
  switch (c.view.operation) {
    case Operation::barrier:
      MPI_Barrier(c.comm);
      break;
    case Operation::bcast:
      MPI_Bcast(c.receive, n, t, root, c.comm);
      break;
    case Operation::reduce:
      MPI_Reduce(send, receive, n, t, MPI_SUM, root, c.comm);
      break;
    case Operation::allreduce:
      MPI_Allreduce(send, receive, n, t, MPI_SUM, c.comm);
      break;
    case Operation::gather:
      MPI_Gather(send, n, t, receive, n, t, root, c.comm);
      break;
    case Operation::scatter:
      MPI_Scatter(send, n, t, receive, n, t, root, c.comm);
      break;
    case Operation::allgather:
      MPI_Allgather(send, n, t, receive, n, t, c.comm);
      break;
    case Operation::alltoall:
      MPI_Alltoall(send, n, t, receive, n, t, c.comm);
      break;
    case Operation::alltoallv:
      MPI_Alltoallv(send, counts, begins, t, receive, counts, begins, t, c.comm);
      break;
    case Operation::reduce_scatter_block:
      MPI_Reduce_scatter_block(send, receive, n, t, MPI_SUM, c.comm);
      break;
    case Operation::scan:
      MPI_Scan(send, receive, n, t, MPI_SUM, c.comm);
      break;
    case Operation::exscan:
      MPI_Exscan(send, receive, n, t, MPI_SUM, c.comm);
      break;
  }
}

}  // namespace

MPI_Request post(const Call& c) {
  const auto [send, receive, n, rank, root] = arguments(c);
  const MPI_Datatype t = word_type();
  const int* counts = c.counts.data();
  const int* begins = c.begins.data();
  MPI_Request request = MPI_REQUEST_NULL;
  switch (c.view.operation) {
    case Operation::barrier:
      MPI_Ibarrier(c.comm, &request);
      break;
    case Operation::bcast:
      MPI_Ibcast(c.receive, n, t, root, c.comm, &request);
      break;
    case Operation::reduce:
      MPI_Ireduce(send, receive, n, t, MPI_SUM, root, c.comm, &request);
      break;
    case Operation::allreduce:
      MPI_Iallreduce(send, receive, n, t, MPI_SUM, c.comm, &request);
      break;
    case Operation::gather:
      MPI_Igather(send, n, t, receive, n, t, root, c.comm, &request);
      break;
    case Operation::scatter:
      MPI_Iscatter(send, n, t, receive, n, t, root, c.comm, &request);
      break;
    case Operation::allgather:
      MPI_Iallgather(send, n, t, receive, n, t, c.comm, &request);
      break;
    case Operation::alltoall:
      MPI_Ialltoall(send, n, t, receive, n, t, c.comm, &request);
      break;
    case Operation::alltoallv:
      MPI_Ialltoallv(send, counts, begins, t, receive, counts, begins, t, c.comm, &request);
      break;
    case Operation::reduce_scatter_block:
      MPI_Ireduce_scatter_block(send, receive, n, t, MPI_SUM, c.comm, &request);
      break;
    case Operation::scan:
      MPI_Iscan(send, receive, n, t, MPI_SUM, c.comm, &request);
      break;
    case Operation::exscan:
      MPI_Iexscan(send, receive, n, t, MPI_SUM, c.comm, &request);
      break;
  }
  // NOLINTNEXTLINE(clang-analyzer-optin.mpi.MPI-Checker): whoever posted it waits for it
  return request;
}

namespace {

void call_nonblocking(const Call& c) {
  MPI_Request request = post(c);
  // NOLINTNEXTLINE(clang-analyzer-optin.mpi.MPI-Checker): it does not know the collective operations of this form
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

// ---------------------------------------------------------------------------------------------------------- mock-ups

int count_of(const Call& c) { return static_cast<int>(c.view.count); }
/// A vector cut into equal parts, one for each rank; the last may end beyond it.
int part_of(const Call& c) { return static_cast<int>(buffer_words(c.view) / static_cast<std::size_t>(c.view.ranks)); }
int all_of(const Call& c) { return c.view.ranks * count_of(c); }
bool at(const Call& c, int rank) { return c.view.rank == rank; }
Word* block(Word* words, const Call& c, int count) {
  return words + static_cast<std::size_t>(c.view.rank) * static_cast<std::size_t>(count);
}
void copy(Word* to, const Word* from, int count) {
  std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(Word));
}

void barrier_by_allreduce(const Call& c) {
  Word mine = 1;
  Word all = 0;
  MPI_Allreduce(&mine, &all, 1, word_type(), MPI_SUM, c.comm);
}

void bcast_by_scatter_allgather(const Call& c) {
  const int n = part_of(c);
  if (at(c, c.view.root)) {
    MPI_Scatter(c.receive, n, word_type(), MPI_IN_PLACE, n, word_type(), c.view.root, c.comm);
  } else {
    MPI_Scatter(nullptr, n, word_type(), block(c.receive, c, n), n, word_type(), c.view.root, c.comm);
  }
  MPI_Allgather(MPI_IN_PLACE, 0, word_type(), c.receive, n, word_type(), c.comm);
}

void bcast_by_allgatherv(const Call& c) {
  const int mine = at(c, c.view.root) ? count_of(c) : 0;
  MPI_Allgatherv(c.send, mine, word_type(), c.receive, c.counts.data(), c.begins.data(), word_type(), c.comm);
}

void reduce_by_allreduce(const Call& c) {
  MPI_Allreduce(c.send, at(c, c.view.root) ? c.receive : c.scratch, count_of(c), word_type(), MPI_SUM, c.comm);
}

void reduce_by_reduce_scatter_gather(const Call& c) {
  const int n = part_of(c);
  MPI_Reduce_scatter_block(c.send, c.scratch, n, word_type(), MPI_SUM, c.comm);
  MPI_Gather(c.scratch, n, word_type(), c.receive, n, word_type(), c.view.root, c.comm);
}

void allreduce_by_reduce_bcast(const Call& c) {
  MPI_Reduce(c.send, c.receive, count_of(c), word_type(), MPI_SUM, 0, c.comm);
  MPI_Bcast(c.receive, count_of(c), word_type(), 0, c.comm);
}

void allreduce_by_reduce_scatter_allgather(const Call& c) {
  const int n = part_of(c);
  MPI_Reduce_scatter_block(c.send, c.scratch, n, word_type(), MPI_SUM, c.comm);
  MPI_Allgather(c.scratch, n, word_type(), c.receive, n, word_type(), c.comm);
}

void gather_by_allgather(const Call& c) {
  const int n = count_of(c);
  MPI_Allgather(c.send, n, word_type(), at(c, c.view.root) ? c.receive : c.scratch, n, word_type(), c.comm);
}

void gather_by_gatherv(const Call& c) {
  MPI_Gatherv(c.send, count_of(c), word_type(), c.receive, c.counts.data(), c.begins.data(), word_type(), c.view.root,
              c.comm);
}

void scatter_by_bcast(const Call& c) {
  Word* all = at(c, c.view.root) ? c.send : c.scratch;
  MPI_Bcast(all, all_of(c), word_type(), c.view.root, c.comm);
  copy(c.receive, block(all, c, count_of(c)), count_of(c));
}

void scatter_by_scatterv(const Call& c) {
  MPI_Scatterv(c.send, c.counts.data(), c.begins.data(), word_type(), c.receive, count_of(c), word_type(), c.view.root,
               c.comm);
}

void allgather_by_gather_bcast(const Call& c) {
  MPI_Gather(c.send, count_of(c), word_type(), c.receive, count_of(c), word_type(), 0, c.comm);
  MPI_Bcast(c.receive, all_of(c), word_type(), 0, c.comm);
}

void allgather_by_alltoall(const Call& c) {
  const int n = count_of(c);
  for (int rank = 0; rank < c.view.ranks; ++rank) {
    copy(c.scratch + static_cast<std::size_t>(rank) * static_cast<std::size_t>(n), c.send, n);
  }
  MPI_Alltoall(c.scratch, n, word_type(), c.receive, n, word_type(), c.comm);
}

void allgather_by_allgatherv(const Call& c) {
  MPI_Allgatherv(c.send, count_of(c), word_type(), c.receive, c.counts.data(), c.begins.data(), word_type(), c.comm);
}

void allgather_by_allreduce(const Call& c) {
  std::memset(c.scratch, 0, static_cast<std::size_t>(all_of(c)) * sizeof(Word));
  copy(block(c.scratch, c, count_of(c)), c.send, count_of(c));
  MPI_Allreduce(c.scratch, c.receive, all_of(c), word_type(), MPI_SUM, c.comm);
}

void alltoall_by_alltoallv(const Call& c) {
  const int* counts = c.counts.data();
  const int* begins = c.begins.data();
  MPI_Alltoallv(c.send, counts, begins, word_type(), c.receive, counts, begins, word_type(), c.comm);
}

void reduce_scatter_by_reduce_scatter_of_counts(const Call& c) {
  MPI_Reduce_scatter(c.send, c.receive, c.counts.data(), word_type(), MPI_SUM, c.comm);
}

void reduce_scatter_by_reduce_scatter(const Call& c) {
  const int n = count_of(c);
  MPI_Reduce(c.send, c.scratch, all_of(c), word_type(), MPI_SUM, 0, c.comm);
  MPI_Scatter(c.scratch, n, word_type(), c.receive, n, word_type(), 0, c.comm);
}

void reduce_scatter_by_allreduce(const Call& c) {
  MPI_Allreduce(c.send, c.scratch, all_of(c), word_type(), MPI_SUM, c.comm);
  copy(c.receive, block(c.scratch, c, count_of(c)), count_of(c));
}

void scan_by_exscan(const Call& c) {
  MPI_Exscan(c.send, c.receive, count_of(c), word_type(), MPI_SUM, c.comm);
  if (at(c, 0)) {
    copy(c.receive, c.send, count_of(c));
  } else {
    MPI_Reduce_local(c.send, c.receive, count_of(c), word_type(), MPI_SUM);
  }
}

std::vector<Method> mockups_of(Operation operation) {
  switch (operation) {
    case Operation::barrier:
      return {{"allreduce", barrier_by_allreduce, true}};
    case Operation::bcast:
      return {{"scatter+allgather", bcast_by_scatter_allgather, true}, {"allgatherv", bcast_by_allgatherv, true}};
    case Operation::reduce:
      return {{"allreduce", reduce_by_allreduce, true},
              {"reduce_scatter_block+gather", reduce_by_reduce_scatter_gather, true}};
    case Operation::allreduce:
      return {{"reduce+bcast", allreduce_by_reduce_bcast, true},
              {"reduce_scatter_block+allgather", allreduce_by_reduce_scatter_allgather, true}};
    case Operation::gather:
      return {{"allgather", gather_by_allgather, true}, {"gatherv", gather_by_gatherv, true}};
    case Operation::scatter:
      return {{"bcast", scatter_by_bcast, true}, {"scatterv", scatter_by_scatterv, true}};
    case Operation::allgather:
      return {{"gather+bcast", allgather_by_gather_bcast, true},
              {"alltoall", allgather_by_alltoall, true},
              {"allgatherv", allgather_by_allgatherv, true},
              {"allreduce", allgather_by_allreduce, true}};
    case Operation::alltoall:
      return {{"alltoallv", alltoall_by_alltoallv, true}};
    case Operation::reduce_scatter_block:
      return {{"reduce+scatter", reduce_scatter_by_reduce_scatter, true},
              {"reduce_scatter", reduce_scatter_by_reduce_scatter_of_counts, true},
              {"allreduce", reduce_scatter_by_allreduce, true}};
    case Operation::scan:
      return {{"exscan+reduce_local", scan_by_exscan, true}};
    case Operation::alltoallv:
    case Operation::exscan:
      return {};
  }
  return {};
}

}  // namespace

void set_counts(Call& call) {
  const auto ranks = static_cast<std::size_t>(call.view.ranks);
  call.counts.assign(ranks, count_of(call));
  call.begins.assign(ranks, 0);
  if (call.view.operation == Operation::bcast) {  // as its mock-up has them: all from the root
    std::fill(call.counts.begin(), call.counts.end(), 0);
    call.counts[static_cast<std::size_t>(call.view.root)] = count_of(call);
    return;
  }
  if (!is_of_blocks(call.view.operation)) return;
  for (std::size_t i = 0; i < ranks; ++i) call.begins[i] = static_cast<int>(i) * count_of(call);
}

std::vector<Method> methods_of(Operation operation, bool in_place, bool nonblocking) {
  std::vector<Method> methods{{"library", call_library, false}};
  if (nonblocking) methods.push_back({"non-blocking", call_nonblocking, false});
  if (in_place) return methods;
  for (auto& mockup : mockups_of(operation)) methods.push_back(std::move(mockup));
  return methods;
}

void set_input(const Call& call) {
  const auto& view = call.view;
  const bool at_root = view.rank == view.root;
  const auto words = [](std::size_t count) { return count * sizeof(Word); };
  if (view.operation == Operation::bcast) {
    if (at_root) std::memcpy(call.receive, call.send, words(view.count));
    return;
  }
  if (!call.in_place || (has_root(view.operation) && !at_root)) return;
  const std::size_t mine = static_cast<std::size_t>(view.rank) * view.count;
  switch (view.operation) {
    case Operation::scatter:  // the root's own block stays where it is
      std::memcpy(call.receive, call.send + mine, words(view.count));
      break;
    case Operation::gather:
    case Operation::allgather:
      std::memcpy(call.receive + mine, call.send, words(view.count));
      break;
    default:
      std::memcpy(call.receive, call.send, words(is_of_blocks(view.operation) ? buffer_words(view) : view.count));
  }
}

}  // namespace shakedown::collectives
