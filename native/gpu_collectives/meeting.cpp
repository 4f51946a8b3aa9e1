#include "meeting.hpp"

#include <cstring>
#include <map>
#include <string>
#include <utility>

namespace shakedown::gpu_collectives {
namespace {

using Parts = std::vector<Part>;

std::size_t width(int type) { return type == kNcclUint64 ? sizeof(Word) : sizeof(float); }

template <class T>
std::vector<T> sum_of(const Parts& parts, std::size_t count) {
  std::vector<T> sum(count, T{});
  for (const auto& part : parts) {
    const T* from = static_cast<const T*>(part.from);
    for (std::size_t i = 0; i < count; ++i) sum[i] += from[i];
  }
  return sum;
}

/// Each rank gets its part of the sum: all of it, its block, or where it is not the root, nothing.
template <class T>
void reduce_all(Parts& parts) {
  const Part& first = parts.front();
  const bool scatters = first.operation == Operation::reduce_scatter;
  const std::size_t count = first.count;
  const auto sum = sum_of<T>(parts, scatters ? count * parts.size() : count);
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    if (first.operation == Operation::reduce && static_cast<int>(rank) != first.root) continue;
    if (count > 0) std::memcpy(parts[rank].to, sum.data() + (scatters ? rank * count : 0), count * sizeof(T));
  }
}

void gather_all(Parts& parts) {
  const std::size_t bytes = parts.front().count * width(parts.front().type);
  std::vector<char> whole(bytes * parts.size());
  for (std::size_t rank = 0; rank < parts.size() && bytes > 0; ++rank)
    std::memcpy(whole.data() + rank * bytes, parts[rank].from, bytes);
  for (const auto& part : parts) {
    if (bytes > 0) std::memcpy(part.to, whole.data(), whole.size());
  }
}

void broadcast_all(Parts& parts) {
  const Part& root = parts[static_cast<std::size_t>(parts.front().root)];
  for (const auto& part : parts) {
    if (root.count > 0) std::memmove(part.to, root.from, root.count * width(root.type));
  }
}

/// Receives meet the sends of their peers in order.
void exchange(Parts& parts) {
  std::map<std::pair<std::size_t, std::size_t>, std::deque<const Message*>> under_way;
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    for (const Message& message : parts[rank].messages) {
      if (message.to == nullptr) under_way[{rank, static_cast<std::size_t>(message.peer)}].push_back(&message);
    }
  }
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    for (const Message& message : parts[rank].messages) {
      auto& sends = under_way[{static_cast<std::size_t>(message.peer), rank}];
      if (message.to == nullptr || sends.empty()) continue;
      if (message.bytes > 0) std::memmove(message.to, sends.front()->from, message.bytes);
      sends.pop_front();
    }
  }
}

void carry_out(Parts& parts) {
  switch (parts.front().operation) {
    case Operation::all_gather:
      gather_all(parts);
      break;
    case Operation::broadcast:
      broadcast_all(parts);
      break;
    case Operation::sendrecv:
      exchange(parts);
      break;
    default:
      parts.front().type == kNcclUint64 ? reduce_all<Word>(parts) : reduce_all<float>(parts);
  }
  if (hooks().finished != nullptr) hooks().finished(parts);
}

}  // namespace

Hooks& hooks() {
  static Hooks one;
  return one;
}

std::shared_ptr<Meeting> Meeting::join(const UniqueId& id, int ranks) {
  static std::mutex lock;
  static std::map<std::string, std::weak_ptr<Meeting>> all;
  std::shared_ptr<Meeting> meeting;
  {
    const std::lock_guard hold(lock);
    auto& known = all[{id.bytes.data(), id.bytes.size()}];
    meeting = known.lock();
    if (meeting == nullptr) known = meeting = std::make_shared<Meeting>(ranks);
  }
  std::unique_lock hold(meeting->lock_);
  ++meeting->joined_;
  meeting->changed_.notify_all();
  meeting->changed_.wait(hold, [&] { return meeting->joined_ >= ranks; });
  return meeting;
}

void Meeting::bring(int rank, Part part) {
  const std::lock_guard hold(lock_);
  const auto mine = static_cast<std::size_t>(rank);
  const std::size_t number = next_[mine]++ - done_;
  while (rounds_.size() <= number) rounds_.push_back({Parts(next_.size()), 0});
  if (hooks().begun != nullptr) hooks().begun(part.stream);
  part.brought = true;
  rounds_[number].parts[mine] = std::move(part);
  ++rounds_[number].arrived;
  while (!rounds_.empty() && rounds_.front().arrived == ranks()) {
    carry_out(rounds_.front().parts);
    for (const auto& one : rounds_.front().parts) {
      if (hooks().done != nullptr) hooks().done(one.stream);
    }
    rounds_.pop_front();
    ++done_;
  }
  changed_.notify_all();
}

bool Meeting::wait(int rank) {
  std::unique_lock hold(lock_);
  const auto mine = static_cast<std::size_t>(rank);
  changed_.wait(hold, [&] { return idle(mine) || aborted_[mine] != 0; });
  return idle(mine);
}

void Meeting::wait_for_abort(int rank) {
  std::unique_lock hold(lock_);
  changed_.wait(hold, [&] { return aborted_[static_cast<std::size_t>(rank)] != 0; });
}

void Meeting::abort(int rank) {
  const std::lock_guard hold(lock_);
  const auto mine = static_cast<std::size_t>(rank);
  if (aborted_[mine] != 0) return;
  aborted_[mine] = 1;
  for (const Round& round : rounds_) {
    if (round.parts[mine].brought && hooks().done != nullptr) hooks().done(round.parts[mine].stream);
  }
  changed_.notify_all();
}

// ------------------------------------------------------------------------------------------- the calls, as NCCL has
// them

namespace {

HostComm& comm_of(Comm comm) { return *static_cast<HostComm*>(comm); }

struct Group {
  int depth = 0;
  HostComm* comm = nullptr;
  Part part;
};
thread_local Group group;

int bring(HostComm& comm, Part part) {
  bool lost = false;
  part.device = comm.device;
  if (hooks().before != nullptr) {
    if (const int code = hooks().before(comm, part, lost); code != 0) return code;
  }
  if (lost) return 0;
  const auto meeting = comm.meeting;  // an abort by another thread takes the communicator away
  const int rank = comm.rank;
  meeting->bring(rank, std::move(part));
  if (hooks().begun != nullptr) return 0;
  return meeting->wait(rank) ? 0 : kNcclRemote;
}

int add(Comm comm, const Message& message, gpu::Handle stream) {
  const bool alone = group.depth == 0;
  group.comm = &comm_of(comm);
  group.part.stream = stream;
  group.part.messages.push_back(message);
  if (!alone) return 0;
  return bring(*group.comm, std::exchange(group.part, {}));
}

int host_unique_id(UniqueId* id) {
  static std::atomic<std::uint64_t> made = 0;
  const std::string text = "host " + std::to_string(++made);
  *id = {};
  std::memcpy(id->bytes.data(), text.data(), text.size());
  return 0;
}
int host_init(Comm* comm, int ranks, UniqueId id, int rank) {
  auto mine = std::make_unique<HostComm>();
  mine->rank = rank;
  mine->meeting = Meeting::join(id, ranks);
  *comm = mine.release();
  return 0;
}
int host_destroy(Comm comm) {
  delete static_cast<HostComm*>(comm);
  return 0;
}
int host_abort(Comm comm) {
  comm_of(comm).meeting->abort(comm_of(comm).rank);
  return host_destroy(comm);
}
int host_async_error(Comm comm, int* error) {
  *error = comm_of(comm).error;
  return 0;
}
int host_group_end() {
  if (--group.depth > 0 || group.part.messages.empty()) return 0;
  return bring(*group.comm, std::exchange(group.part, {}));
}

}  // namespace

Nccl host_nccl() {
  Nccl table;
  table.get_version = [](int* version) { return *version = 0; };
  table.unique_id = host_unique_id;
  table.init = host_init;
  table.destroy = host_destroy;
  table.abort = host_abort;
  table.async_error = host_async_error;
  table.group_start = [] { return ++group.depth, 0; };
  table.group_end = host_group_end;
  table.all_reduce = [](const void* from, void* to, std::size_t count, int type, int, Comm comm, gpu::Handle stream) {
    return bring(comm_of(comm), {Operation::all_reduce, from, to, count, type, 0, stream});
  };
  table.broadcast = [](const void* from, void* to, std::size_t count, int type, int root, Comm comm,
                       gpu::Handle stream) {
    return bring(comm_of(comm), {Operation::broadcast, from, to, count, type, root, stream});
  };
  table.reduce = [](const void* from, void* to, std::size_t count, int type, int, int root, Comm comm,
                    gpu::Handle stream) {
    return bring(comm_of(comm), {Operation::reduce, from, to, count, type, root, stream});
  };
  table.all_gather = [](const void* from, void* to, std::size_t count, int type, Comm comm, gpu::Handle stream) {
    return bring(comm_of(comm), {Operation::all_gather, from, to, count, type, 0, stream});
  };
  table.reduce_scatter = [](const void* from, void* to, std::size_t count, int type, int, Comm comm,
                            gpu::Handle stream) {
    return bring(comm_of(comm), {Operation::reduce_scatter, from, to, count, type, 0, stream});
  };
  table.send = [](const void* from, std::size_t count, int type, int peer, Comm comm, gpu::Handle stream) {
    return add(comm, {peer, from, nullptr, count * width(type)}, stream);
  };
  table.receive = [](void* to, std::size_t count, int type, int peer, Comm comm, gpu::Handle stream) {
    return add(comm, {peer, nullptr, to, count * width(type)}, stream);
  };
  table.error_text = [](int code) { return code == kNcclRemote ? "a rank left" : "error"; };
  table.title = "threads of this host";
  table.how = "this host's threads";
  return table;
}

}  // namespace shakedown::gpu_collectives
