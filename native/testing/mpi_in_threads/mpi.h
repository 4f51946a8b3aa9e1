// MPI for the tests: the ranks are threads of one process. So a sanitizer sees both ends of a message, no MPI need be
// installed, and what a real one does seldom happens often: a send is done only once its receive was posted (unless it
// is short), and what is done may still be reported as under way. What MPI forbids ends the test: a call by another
// thread than a rank's first, a message of another length than its receive, collectives that do not match.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

namespace ranks_in_threads {

enum class Type { none, character, integer, wide, real };
enum class Op { none, sum, max, min };

[[noreturn]] inline void forbidden(const char* what, int found = 0, int expected = 0) {
  std::fprintf(stderr, "MPI does not allow this: %s (%d, %d)\n", what, found, expected);
  std::abort();
}

inline std::size_t bytes_of(Type type) {
  switch (type) {
    case Type::character:
      return 1;
    case Type::integer:
      return sizeof(int);
    case Type::wide:
    case Type::real:
      return 8;
    case Type::none:
      break;
  }
  forbidden("a type that is none");
}

struct Comm;

struct Request {
  bool done = false;
  char* data = nullptr;
  std::vector<char> own;  // of a short send: it does not wait for its receive
  std::size_t bytes = 0;
  int source = 0, tag = 0;
};

/// What one rank brings to a collective call.
struct Part {
  const char* name = nullptr;
  const void* in = nullptr;
  void* out = nullptr;
  int a = 0, b = 0;
  Comm* made = nullptr;
};

struct Comm {
  std::vector<int> members;                       // ranks of the world
  std::vector<std::list<Request*>> sent, wanted;  // by receiver: what has not met yet
  std::vector<Part> parts;
  std::size_t arrived = 0;
  std::uint64_t round = 0;
  bool freed = false;

  explicit Comm(std::vector<int> ranks)
      : members(std::move(ranks)), sent(members.size()), wanted(members.size()), parts(members.size()) {}
};

/// One start of some ranks. `eager_bytes`: sends up to so many are done at once. `late` of 8 questions whether
/// something is done are answered "not yet".
struct Job {
  std::mutex lock;
  std::condition_variable changed;
  std::deque<Comm> comms;
  std::deque<Request> requests;
  Comm* world = nullptr;
  std::size_t eager_bytes = 0;
  unsigned late = 4;
};

inline Job* job = nullptr;
inline thread_local int world_rank = -1;
inline thread_local std::uint32_t dice = 1;

inline Job& here() {
  if (job == nullptr || world_rank < 0) forbidden("a call by a thread that is not a rank's first");
  return *job;
}

inline int rank_in(const Comm& comm) {
  if (comm.freed) forbidden("the use of a communicator that was freed");
  for (std::size_t i = 0; i < comm.members.size(); ++i) {
    if (comm.members[i] == world_rank) return static_cast<int>(i);
  }
  forbidden("the use of a communicator of others");
}

inline std::size_t at(int index) { return static_cast<std::size_t>(index); }

/// Under the lock: the bytes go over.
inline void deliver(Request& send, Request& receive) {
  if (send.bytes != receive.bytes) {
    forbidden("a message of another length", static_cast<int>(send.bytes), static_cast<int>(receive.bytes));
  }
  if (send.bytes > 0) std::memcpy(receive.data, send.own.empty() ? send.data : send.own.data(), send.bytes);
  send.done = receive.done = true;
}

inline Request* meet(std::list<Request*>& waiting, int source, int tag) {
  for (auto one = waiting.begin(); one != waiting.end(); ++one) {
    if ((*one)->source != source || (*one)->tag != tag) continue;
    Request* found = *one;
    waiting.erase(one);
    return found;
  }
  return nullptr;
}

inline Request* post(Comm* comm, void* data, std::size_t bytes, int source, int receiver, int tag, bool sends) {
  Job& all = here();
  const std::lock_guard guard(all.lock);
  Request& mine = all.requests.emplace_back();
  mine.data = static_cast<char*>(data);
  mine.bytes = bytes;
  mine.source = source;
  mine.tag = tag;
  if (at(receiver) >= comm->members.size() || at(source) >= comm->members.size()) forbidden("an unknown rank");
  auto& others = sends ? comm->wanted[at(receiver)] : comm->sent[at(receiver)];
  if (Request* other = meet(others, source, tag)) {
    sends ? deliver(mine, *other) : deliver(*other, mine);
  } else {
    (sends ? comm->sent : comm->wanted)[at(receiver)].push_back(&mine);
    if (sends && bytes <= all.eager_bytes) {
      mine.own.assign(mine.data, mine.data + bytes);
      if (bytes > 0) mine.done = true;
    }
    if (sends && bytes == 0) mine.done = true;
  }
  all.changed.notify_all();
  return &mine;
}

inline void wait_for(Request* request) {
  Job& all = here();
  std::unique_lock guard(all.lock);
  all.changed.wait(guard, [&] { return request->done; });
}

/// Every member brings its part; the last to come does the work for all, under the lock.
template <class Work>
Part together(Comm* comm, Part mine, Work&& work) {
  Job& all = here();
  const auto me = at(rank_in(*comm));
  std::unique_lock guard(all.lock);
  const auto round = comm->round;
  comm->parts[me] = mine;
  if (++comm->arrived == comm->members.size()) {
    for (const auto& part : comm->parts) {
      if (std::strcmp(part.name, mine.name) != 0) forbidden("two different collectives at once");
    }
    work(comm->parts);
    comm->arrived = 0;
    ++comm->round;
    all.changed.notify_all();
  } else {
    all.changed.wait(guard, [&] { return comm->round != round; });
  }
  return comm->parts[me];
}

template <class T>
void fold(T& into, T value, Op op) {
  if (op == Op::sum) into += value;
  if (op == Op::max && value > into) into = value;
  if (op == Op::min && value < into) into = value;
}

template <class T>
std::vector<char> folded(const std::vector<Part>& parts, int count, Op op) {
  std::vector<char> bytes(at(count) * sizeof(T));
  std::vector<T> result(at(count));
  for (std::size_t p = 0; p < parts.size(); ++p) {
    if (parts[p].a != count) forbidden("a reduction of different lengths", parts[p].a, count);
    for (std::size_t i = 0; i < result.size(); ++i) {
      const T value = static_cast<const T*>(parts[p].in)[i];
      if (p == 0) {
        result[i] = value;
      } else {
        fold(result[i], value, op);
      }
    }
  }
  if (!bytes.empty()) std::memcpy(bytes.data(), result.data(), bytes.size());
  return bytes;
}

inline std::vector<char> reduced(const std::vector<Part>& parts, int count, Type type, Op op) {
  if (type == Type::integer) return folded<int>(parts, count, op);
  if (type == Type::wide) return folded<std::int64_t>(parts, count, op);
  if (type == Type::real) return folded<double>(parts, count, op);
  forbidden("a reduction of this type");
}

/// Run `main(rank)` on so many ranks.
inline void start(int count, const std::function<void(int)>& main, std::size_t eager_bytes = 0, unsigned late = 4) {
  Job all;
  all.eager_bytes = eager_bytes;
  all.late = late;
  std::vector<int> members(static_cast<std::size_t>(count));
  std::iota(members.begin(), members.end(), 0);
  all.world = &all.comms.emplace_back(members);
  job = &all;
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(count));
  for (int rank = 0; rank < count; ++rank) {
    threads.emplace_back([&main, rank] {
      world_rank = rank;
      dice = 2654435769U * static_cast<std::uint32_t>(rank + 1);
      main(rank);
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& comm : all.comms) {
    for (const auto& list : comm.sent) {
      if (!list.empty()) forbidden("messages that nobody received", static_cast<int>(list.size()));
    }
    for (const auto& list : comm.wanted) {
      if (!list.empty()) forbidden("receives of messages that nobody sent", static_cast<int>(list.size()));
    }
  }
  job = nullptr;
}

}  // namespace ranks_in_threads

using MPI_Comm = ranks_in_threads::Comm*;
using MPI_Request = ranks_in_threads::Request*;
using MPI_Datatype = ranks_in_threads::Type;
using MPI_Op = ranks_in_threads::Op;
struct MPI_Status {
  std::size_t bytes;
};
struct MPI_Info {};

#define MPI_COMM_WORLD (ranks_in_threads::here().world)
inline constexpr MPI_Comm MPI_COMM_NULL = nullptr;
inline constexpr MPI_Request MPI_REQUEST_NULL = nullptr;
inline constexpr MPI_Info MPI_INFO_NULL{};
inline constexpr MPI_Datatype MPI_CHAR = ranks_in_threads::Type::character;
inline constexpr MPI_Datatype MPI_INT = ranks_in_threads::Type::integer;
inline constexpr MPI_Datatype MPI_INT64_T = ranks_in_threads::Type::wide;
inline constexpr MPI_Datatype MPI_DOUBLE = ranks_in_threads::Type::real;
inline constexpr MPI_Op MPI_SUM = ranks_in_threads::Op::sum;
inline constexpr MPI_Op MPI_MAX = ranks_in_threads::Op::max;
inline constexpr MPI_Op MPI_MIN = ranks_in_threads::Op::min;
inline constexpr int MPI_SUCCESS = 0, MPI_UNDEFINED = -32766, MPI_COMM_TYPE_SHARED = 1;
inline constexpr int MPI_MAX_LIBRARY_VERSION_STRING = 64;
inline constexpr int MPI_THREAD_SINGLE = 0, MPI_THREAD_FUNNELED = 1;
inline MPI_Status* const MPI_STATUS_IGNORE = nullptr;
inline MPI_Status* const MPI_STATUSES_IGNORE = nullptr;
inline char ranks_in_threads_in_place = 0;
#define MPI_IN_PLACE (static_cast<void*>(&ranks_in_threads_in_place))

inline int MPI_Init_thread(int*, char***, int, int* provided) {
  *provided = MPI_THREAD_FUNNELED;
  return MPI_SUCCESS;
}
inline int MPI_Finalize() { return MPI_SUCCESS; }
inline int MPI_Abort(MPI_Comm, int) { ranks_in_threads::forbidden("nothing: MPI_Abort was called"); }
inline int MPI_Get_library_version(char* text, int* length) {
  const std::string words = "ranks in threads";
  *length = static_cast<int>(words.copy(text, words.size()));
  return MPI_SUCCESS;
}

inline int MPI_Comm_rank(MPI_Comm comm, int* rank) {
  *rank = ranks_in_threads::rank_in(*comm);
  return MPI_SUCCESS;
}
inline int MPI_Comm_size(MPI_Comm comm, int* size) {
  *size = static_cast<int>(comm->members.size());
  return MPI_SUCCESS;
}
inline int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* made) {
  using namespace ranks_in_threads;
  const auto part = together(comm, {"split", nullptr, nullptr, color, key}, [&](auto& parts) {
    std::map<int, std::vector<std::pair<int, std::size_t>>> groups;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      parts[i].made = nullptr;
      if (parts[i].a != MPI_UNDEFINED) groups[parts[i].a].emplace_back(parts[i].b, i);
    }
    for (auto& [name, group] : groups) {
      std::stable_sort(group.begin(), group.end());
      std::vector<int> members;
      for (const auto& [order, i] : group) members.push_back(comm->members[i]);
      Comm* fresh = &here().comms.emplace_back(std::move(members));
      for (const auto& [order, i] : group) parts[i].made = fresh;
    }
  });
  *made = part.made;
  return MPI_SUCCESS;
}
inline int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
  return MPI_Comm_split(comm, 0, ranks_in_threads::rank_in(*comm), made);
}
inline int MPI_Comm_split_type(MPI_Comm comm, int, int key, MPI_Info, MPI_Comm* made) {
  return MPI_Comm_split(comm, 0, key, made);
}
inline int MPI_Comm_free(MPI_Comm* comm) {
  ranks_in_threads::together(*comm, {"free"}, [&](auto&) { (*comm)->freed = true; });
  *comm = MPI_COMM_NULL;
  return MPI_SUCCESS;
}

inline int MPI_Barrier(MPI_Comm comm) {
  ranks_in_threads::together(comm, {"barrier"}, [](auto&) {});
  return MPI_SUCCESS;
}
inline int MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  using namespace ranks_in_threads;
  if (in == MPI_IN_PLACE) in = out;
  together(comm, {"allreduce", in, out, count}, [&](auto& parts) {
    const auto bytes = reduced(parts, count, type, op);
    for (const auto& part : parts) {
      if (!bytes.empty()) std::memcpy(part.out, bytes.data(), bytes.size());
    }
  });
  return MPI_SUCCESS;
}
inline int MPI_Reduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
  using namespace ranks_in_threads;
  if (in == MPI_IN_PLACE) in = out;
  together(comm, {"reduce", in, out, count, root}, [&](auto& parts) {
    const auto bytes = reduced(parts, count, type, op);
    if (!bytes.empty()) std::memcpy(parts[at(root)].out, bytes.data(), bytes.size());
  });
  return MPI_SUCCESS;
}
inline int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  using namespace ranks_in_threads;
  together(comm, {"bcast", data, data, count, root}, [&](auto& parts) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].a != count || parts[i].b != root) forbidden("a broadcast of two minds", parts[i].a, count);
      if (i != at(root) && count > 0) std::memcpy(parts[i].out, parts[at(root)].in, at(count) * bytes_of(type));
    }
  });
  return MPI_SUCCESS;
}
inline int MPI_Allgatherv(const void* in, int count, MPI_Datatype type, void* out, const int* counts, const int* begins,
                          MPI_Datatype, MPI_Comm comm) {
  using namespace ranks_in_threads;
  together(comm, {"allgather", in, out, count}, [&](auto& parts) {
    for (const auto& to : parts) {
      for (std::size_t i = 0; i < parts.size(); ++i) {
        if (parts[i].a != counts[i]) forbidden("a gathering of other lengths", parts[i].a, counts[i]);
        if (counts[i] == 0) continue;
        std::memcpy(static_cast<char*>(to.out) + at(begins[i]) * bytes_of(type), parts[i].in,
                    at(counts[i]) * bytes_of(type));
      }
    }
  });
  return MPI_SUCCESS;
}
inline int MPI_Allgather(const void* in, int count, MPI_Datatype type, void* out, int, MPI_Datatype, MPI_Comm comm) {
  std::vector<int> counts(comm->members.size(), count), begins;
  for (std::size_t i = 0; i < counts.size(); ++i) begins.push_back(static_cast<int>(i) * count);
  return MPI_Allgatherv(in, count, type, out, counts.data(), begins.data(), type, comm);
}

inline int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                     MPI_Request* request) {
  using namespace ranks_in_threads;
  *request = post(comm, const_cast<void*>(data), at(count) * bytes_of(type), rank_in(*comm), to, tag, true);
  return MPI_SUCCESS;
}
inline int MPI_Irecv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request* request) {
  using namespace ranks_in_threads;
  *request = post(comm, data, at(count) * bytes_of(type), from, rank_in(*comm), tag, false);
  return MPI_SUCCESS;
}
inline int MPI_Waitall(int count, MPI_Request* requests, MPI_Status*) {
  for (int i = 0; i < count; ++i) {
    if (requests[i] != MPI_REQUEST_NULL) ranks_in_threads::wait_for(requests[i]);
    requests[i] = MPI_REQUEST_NULL;
  }
  return MPI_SUCCESS;
}
inline int MPI_Testall(int count, MPI_Request* requests, int* flag, MPI_Status*) {
  using namespace ranks_in_threads;
  Job& all = here();
  dice = dice * 1664525U + 1013904223U;
  *flag = 0;
  if (dice >> 29 < all.late) return MPI_SUCCESS;
  const std::lock_guard guard(all.lock);
  for (int i = 0; i < count; ++i) {
    if (requests[i] != MPI_REQUEST_NULL && !requests[i]->done) return MPI_SUCCESS;
  }
  for (int i = 0; i < count; ++i) requests[i] = MPI_REQUEST_NULL;
  *flag = 1;
  return MPI_SUCCESS;
}
inline int MPI_Send(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Isend(data, count, type, to, tag, comm, &request);
  return MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
}
inline int MPI_Recv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status*) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(data, count, type, from, tag, comm, &request);
  return MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
}
inline int MPI_Sendrecv(const void* out, int out_count, MPI_Datatype out_type, int to, int out_tag, void* in,
                        int in_count, MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm, MPI_Status* status) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Isend(out, out_count, out_type, to, out_tag, comm, &request);
  MPI_Recv(in, in_count, in_type, from, in_tag, comm, status);
  MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
  return MPI_SUCCESS;
}
inline int MPI_Probe(int from, int tag, MPI_Comm comm, MPI_Status* status) {
  using namespace ranks_in_threads;
  Job& all = here();
  std::unique_lock guard(all.lock);
  const auto& sent = comm->sent[at(rank_in(*comm))];
  all.changed.wait(guard, [&] {
    for (const auto* one : sent) {
      if (one->source != from || one->tag != tag) continue;
      status->bytes = one->bytes;
      return true;
    }
    return false;
  });
  return MPI_SUCCESS;
}
inline int MPI_Get_count(const MPI_Status* status, MPI_Datatype type, int* count) {
  *count = static_cast<int>(status->bytes / ranks_in_threads::bytes_of(type));
  return MPI_SUCCESS;
}
