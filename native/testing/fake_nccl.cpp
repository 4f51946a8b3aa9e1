// A libnccl.so for tests: collectives among threads of one process in the memory of fake_cuda's devices
// (gpu_collectives/meeting.cpp), asynchronous as NCCL's are: a call returns, and the stream holds what is not done.
//
// FAKE_NCCL is words with numbers: version 23203; init 1 (what every ncclCommInitRank answers); `after` 5: the faults
// below begin with a device's 6th operation. `wrong` 2: device 2 gets one wrong bit, in element `element` 7; `hang` 2:
// what device 2 brings never arrives; `hang` 2 `with` 3: only in communicators that hold both; `stuck` 2: its call does
// not return before it is aborted; `async` 2: its communicator has the error `code` 2, and nobody goes on; `once` 1: a
// fault is gone once a communicator was aborted. `slow` 2: where device 2 takes part an operation takes 20 % longer, or
// `percent`; `slow` 2 `with` 3: only where both do. That is in a modelled time (fake_cuda's `modelled`). The log:
// `transport` 0 P2P, 1 SHM, 2 NET/Socket; `algorithm` 0 TREE, 1 RING, 4 NVLS.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <string>

#include "gpu_collectives/meeting.hpp"

extern "C" {
void fake_cuda_hold(void* stream);
void fake_cuda_release(void* stream);
void fake_cuda_spend(void* stream, double seconds);
int fake_cuda_current();
}

namespace {

using namespace shakedown::gpu_collectives;

long setting(const std::string& key, long otherwise) {
  const char* text = std::getenv("FAKE_NCCL");
  std::istringstream words(text == nullptr ? "" : text);
  std::string word;
  for (long value = 0; words >> word >> value;) {
    if (word == key) return value;
  }
  return otherwise;
}

struct State {
  std::mutex lock;
  std::map<int, long> operations;                // of each device
  std::map<std::string, std::set<int>> devices;  // of each communicator, by its id
  bool any_aborted = false;
  std::FILE* log = nullptr;
};
State& state() {
  static State one;
  return one;
}

/// A line as NCCL writes it, into its log.
void say(int device, const std::string& text) {
  const std::lock_guard hold(state().lock);
  const char* file = std::getenv("NCCL_DEBUG_FILE");
  const char* level = std::getenv("NCCL_DEBUG");
  if (file == nullptr || level == nullptr) return;
  if (state().log == nullptr) state().log = std::fopen(file, "w");
  if (state().log == nullptr) return;
  std::fprintf(state().log, "host:1:%d [%d] NCCL INFO %s\n", device + 2, device, text.c_str());
  std::fflush(state().log);
}

bool fault_is_on(int device) {
  const std::lock_guard hold(state().lock);
  if (setting("once", 0) != 0 && state().any_aborted) return false;
  return state().operations[device] > setting("after", 0);
}

bool meets(const HostComm& comm, long device) {
  const std::lock_guard hold(state().lock);
  return state().devices[comm.id].count(static_cast<int>(device)) != 0;
}

/// Whether what this rank brings never arrives.
bool is_lost(const HostComm& comm) {
  const long with = setting("with", -1);
  return setting("hang", -1) == comm.device && (with < 0 || meets(comm, with)) && fault_is_on(comm.device);
}

const char* algorithm_name() {
  switch (setting("algorithm", 1)) {
    case 0:
      return "TREE";
    case 4:
      return "NVLS";
    default:
      return "RING";
  }
}

/// What an operation takes: 20 us and 10 GB/s, 1 % more or less from one to the next, and what is slow in it.
double modelled_s(const HostComm& comm, const Part& part, long number) {
  std::size_t bytes = part.count * 4;
  for (const Message& message : part.messages) bytes += message.bytes;
  const double noise =
      0.01 * (static_cast<double>((number * 7919 + static_cast<long>(comm.device) * 104729) % 201) / 100 - 1);
  const long with = setting("with", -1), slow = setting("slow", -1);
  const bool is_slow = slow >= 0 && meets(comm, slow) && (with < 0 || meets(comm, with));
  const double factor = is_slow ? 1 + 0.01 * static_cast<double>(setting("percent", 20)) : 1;
  return (20e-6 + static_cast<double>(bytes) / 10e9) * (1 + noise) * factor;
}

int before(HostComm& comm, const Part& part, bool& lost) {
  long number = 0;
  {
    const std::lock_guard hold(state().lock);
    number = ++state().operations[comm.device];
  }
  fake_cuda_spend(part.stream, modelled_s(comm, part, number));
  if (comm.rank == 0 && part.operation != Operation::sendrecv) {
    const char* subsystems = std::getenv("NCCL_DEBUG_SUBSYS");
    if (subsystems != nullptr && std::string(subsystems).find("TUNING") != std::string::npos) {
      say(comm.device, std::string("AllReduce: ") + std::to_string(part.count * 4) + " Bytes -> Algo " +
                           algorithm_name() + " proto SIMPLE channel{Lo..Hi}={0..15}");
    }
  }
  if (setting("async", -1) == comm.device && fault_is_on(comm.device)) {
    comm.error = static_cast<int>(setting("code", 2));
    lost = true;
  }
  if (is_lost(comm)) lost = true;
  if (lost) {
    fake_cuda_hold(part.stream);
    comm.lost.push_back(part.stream);
    return 0;
  }
  if (setting("stuck", -1) == comm.device && fault_is_on(comm.device)) {
    const auto meeting = comm.meeting;
    const int rank = comm.rank;
    meeting->wait_for_abort(rank);
    return kNcclInternal;
  }
  return 0;
}

/// One bit of one element of what a device gets.
void finished(std::vector<Part>& parts) {
  const long victim = setting("wrong", -1);
  for (auto& part : parts) {
    if (part.device != victim || !fault_is_on(part.device)) continue;
    void* to = part.to;
    for (const Message& message : part.messages) to = message.to != nullptr ? message.to : to;
    if (to != nullptr) static_cast<unsigned*>(to)[setting("element", 0)] ^= 1u << 5;
  }
}

const Nccl& table() {
  static const Nccl one = [] {
    hooks() = {fake_cuda_hold, fake_cuda_release, finished, before};
    return host_nccl();
  }();
  return one;
}

std::string pair_line(int rank, int next) {
  static const char* const kPaths[] = {"P2P/direct pointer", "SHM/direct/direct", "NET/Socket/0"};
  const std::string from = std::to_string(rank), to = std::to_string(next);
  return "Channel 00/0 : " + from + "[" + from + "] -> " + to + "[" + to + "] via " + kPaths[setting("transport", 0)];
}

/// What NCCL says when a communicator is there.
void say_all(int device, int ranks, int rank) {
  for (const char* name : {"NCCL_P2P_DISABLE", "NCCL_NVLS_ENABLE"}) {
    if (const char* value = std::getenv(name)) say(device, std::string(name) + " set by environment to " + value + ".");
  }
  const std::string nvls = setting("algorithm", 1) == 4 ? "16" : "0";
  if (nvls == "0") say(device, "NVLS multicast support is not available on dev " + std::to_string(device));
  if (ranks > 1) say(device, pair_line(rank, (rank + 1) % ranks));
  say(device,
      "24 coll channels, 24 collnet channels, " + nvls + " nvls channels, 32 p2p channels, 32 p2p channels per peer");
}

}  // namespace

#pragma GCC diagnostic ignored "-Wmissing-declarations"
extern "C" {

using shakedown::gpu::Handle;

int ncclGetVersion(int* version) { return *version = static_cast<int>(setting("version", 23203)), 0; }
int ncclGetUniqueId(UniqueId* id) { return table().unique_id(id); }
int ncclCommInitRank(Comm* comm, int ranks, UniqueId id, int rank) {
  if (const long code = setting("init", 0); code != 0) return static_cast<int>(code);
  const int device = fake_cuda_current();
  const std::string key(id.bytes.data(), id.bytes.size());
  {
    const std::lock_guard hold(state().lock);
    state().devices[key].insert(device);
  }
  if (const int code = table().init(comm, ranks, id, rank); code != 0) return code;
  auto& made = *static_cast<HostComm*>(*comm);
  made.device = device;
  made.id = key;
  say_all(device, ranks, rank);
  return 0;
}
int ncclCommDestroy(Comm comm) { return table().destroy(comm); }
int ncclCommAbort(Comm comm) {
  {
    const std::lock_guard hold(state().lock);
    state().any_aborted = true;
  }
  const auto lost = static_cast<HostComm*>(comm)->lost;
  const int code = table().abort(comm);
  for (Handle stream : lost) fake_cuda_release(stream);
  return code;
}
int ncclCommGetAsyncError(Comm comm, int* error) { return table().async_error(comm, error); }
int ncclGroupStart() { return table().group_start(); }
int ncclGroupEnd() { return table().group_end(); }
int ncclAllReduce(const void* from, void* to, std::size_t count, int type, int op, Comm comm, Handle stream) {
  return table().all_reduce(from, to, count, type, op, comm, stream);
}
int ncclBroadcast(const void* from, void* to, std::size_t count, int type, int root, Comm comm, Handle stream) {
  return table().broadcast(from, to, count, type, root, comm, stream);
}
int ncclReduce(const void* from, void* to, std::size_t count, int type, int op, int root, Comm comm, Handle stream) {
  return table().reduce(from, to, count, type, op, root, comm, stream);
}
int ncclAllGather(const void* from, void* to, std::size_t count, int type, Comm comm, Handle stream) {
  return table().all_gather(from, to, count, type, comm, stream);
}
int ncclReduceScatter(const void* from, void* to, std::size_t count, int type, int op, Comm comm, Handle stream) {
  return table().reduce_scatter(from, to, count, type, op, comm, stream);
}
int ncclSend(const void* from, std::size_t count, int type, int peer, Comm comm, Handle stream) {
  return table().send(from, count, type, peer, comm, stream);
}
int ncclRecv(void* to, std::size_t count, int type, int peer, Comm comm, Handle stream) {
  return table().receive(to, count, type, peer, comm, stream);
}
const char* ncclGetErrorString(int code) {
  switch (code) {
    case 1:
      return "unhandled cuda error";
    case 2:
      return "unhandled system error";
    case kNcclRemote:
      return "remote process exited or there was a network error";
    default:
      return "internal error";
  }
}
const char* ncclGetLastError(Comm) { return "as the test has it"; }

}  // extern "C"
