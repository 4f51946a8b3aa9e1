// A libcuda.so for tests: devices whose memory is the host's and whose kernels are the host equivalents of the program
// that loads it (host_module.hpp), so that everything else of the CUDA backend runs as it is.
//
// FAKE_CUDA is words with numbers: devices 2, driver 12040, init 100, count 0, mode 3, retain 46 (which every device
// answers; retain_of 1 limits it to that one), load 222, room 1048576 (bytes that a device has), peers 0, architecture
// 75, lost_after 5 (the device `of` 1 answers everything with `code` 999 after so many launches), name MIG. All work is
// done when a call returns, but what another library of the tests holds in a stream. With `modelled` 1 the time between
// events is what that library says that its work takes (fake_cuda_spend), and no clock's: the same on a busy machine.
#include <dlfcn.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "host_module.hpp"

namespace {

using shakedown::gpu::Grid;
using shakedown::gpu::Handle;
using shakedown::gpu::HostKernel;

long setting(const std::string& key, long otherwise) {
  const char* text = std::getenv("FAKE_CUDA");
  std::istringstream words(text == nullptr ? "" : text);
  std::string word;
  for (long value = 0; words >> word >> value;) {
    if (word == key) return value;
  }
  return otherwise;
}

using Clock = std::chrono::steady_clock;

/// An event that was recorded behind work that is not done has not happened.
struct Event {
  Clock::time_point at;
  bool pending = false;
  double modelled_s = 0;  // of its stream, up to here
};
/// What other libraries of the tests have put into a stream and not done (fake_cuda_hold).
struct Held {
  int parts = 0;
  std::set<Event*> behind;
  double modelled_s = 0;  // that all of its work takes
};

/// Of all threads: ranks of a test can be threads, each with a device.
struct State {
  std::mutex lock;
  std::condition_variable changed;
  std::map<Handle, Held> streams;
  std::map<int, long> launches;
  std::map<void*, std::pair<int, std::size_t>> held;  // device and bytes
  std::map<int, std::size_t> used;
};
State& state() {
  static State one;
  return one;
}
thread_local int current = 0;  // the device, as the driver keeps it

/// What every call on the current device answers: 0, or the code of a device that is gone.
int health() {
  State& s = state();
  const long after = setting("lost_after", -1);
  if (after < 0 || current != setting("of", current)) return 0;
  const std::lock_guard hold(s.lock);
  if (s.launches[current] < after) return 0;
  return static_cast<int>(setting("code", 999));
}

char contexts[16];  // a device's context is its place in here

std::size_t room() { return static_cast<std::size_t>(setting("room", 1L << 32)); }

/// Waits until a stream has nothing that is not done.
void wait_for(Handle stream) {
  std::unique_lock hold(state().lock);
  state().changed.wait(hold, [&] { return state().streams[stream].parts == 0; });
}

}  // namespace

#pragma GCC diagnostic ignored "-Wmissing-declarations"
extern "C" {

int cuInit(unsigned) { return static_cast<int>(setting("init", 0)); }
int cuDriverGetVersion(int* version) { return *version = static_cast<int>(setting("driver", 13000)), 0; }
int cuDeviceGetCount(int* count) { return *count = static_cast<int>(setting("devices", 1)), 0; }
int cuDeviceGet(int* device, int index) { return *device = index, 0; }
int cuDeviceGetName(char* name, int size, int) {
  std::strncpy(name, setting("mig", 0) != 0 ? "NVIDIA A100 MIG 1g.5gb" : "NVIDIA Fake", static_cast<std::size_t>(size));
  return 0;
}
int cuDeviceGetUuid(unsigned char* id, int device) {
  for (int i = 0; i < 16; ++i) id[i] = static_cast<unsigned char>(16 * device + i);
  return 0;
}
int cuDeviceGetPCIBusId(char* id, int size, int device) {
  const std::string text = "0000:0" + std::to_string(device + 1) + ":00.0";
  std::strncpy(id, text.c_str(), static_cast<std::size_t>(size));
  return 0;
}
int cuDeviceTotalMem_v2(std::size_t* bytes, int) { return *bytes = room(), 0; }
int cuDeviceGetAttribute(int* value, int which, int) {
  const long architecture = setting("architecture", 90);
  const std::map<int, long> known = {{16, 132},
                                     {13, 1980000},
                                     {36, 2619000},
                                     {37, 6144},
                                     {38, 4096},
                                     {75, architecture / 10},
                                     {76, architecture % 10},
                                     {97, 232448},
                                     {20, setting("mode", 0)}};
  const auto found = known.find(which);
  if (found == known.end()) return 1;
  *value = static_cast<int>(found->second);
  return 0;
}
int cuDevicePrimaryCtxRetain(Handle* context, int device) {
  *context = &contexts[device];
  return setting("retain_of", device) == device ? static_cast<int>(setting("retain", 0)) : 0;
}
int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
int cuCtxSetCurrent(Handle context) {
  current = static_cast<int>(static_cast<char*>(context) - contexts);
  return 0;
}
int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  *total = room();
  if (const int gone = health()) return gone;
  const std::lock_guard hold(state().lock);
  *free = room() - state().used[current];
  return 0;
}
int cuDeviceCanAccessPeer(int* can, int, int) { return *can = static_cast<int>(setting("peers", 1)), 0; }
int cuCtxEnablePeerAccess(Handle, unsigned) { return health(); }

static int take(void** address, std::size_t bytes) {
  State& s = state();
  if (const int gone = health()) return gone;
  const std::lock_guard hold(s.lock);
  if (s.used[current] + bytes > room()) return 2;
  *address = std::malloc(bytes);
  s.held[*address] = {current, bytes};
  s.used[current] += bytes;
  return 0;
}
static int give(void* address) {
  State& s = state();
  const std::lock_guard hold(s.lock);
  const auto found = s.held.find(address);
  if (found == s.held.end()) return 1;
  s.used[found->second.first] -= found->second.second;
  s.held.erase(found);
  std::free(address);
  return 0;
}
int cuMemAlloc_v2(void** at, std::size_t bytes) { return take(at, bytes); }
int cuMemFree_v2(void* at) { return give(at); }
int cuMemHostAlloc(void** address, std::size_t bytes, unsigned) {
  *address = std::malloc(bytes);
  return *address == nullptr ? 2 : 0;
}
int cuMemFreeHost(void* address) { return std::free(address), 0; }
int cuMemcpyAsync(void* to, const void* from, std::size_t bytes, Handle) {
  if (const int gone = health()) return gone;
  std::memmove(to, from, bytes);
  return 0;
}
int cuMemsetD8Async(void* to, unsigned char byte, std::size_t bytes, Handle) {
  if (const int gone = health()) return gone;
  std::memset(to, byte, bytes);
  return 0;
}
int cuCtxGetStreamPriorityRange(int* least, int* most) { return *least = 0, *most = -5, 0; }
int cuStreamCreateWithPriority(Handle* stream, unsigned, int) { return *stream = std::malloc(1), health(); }
int cuStreamDestroy_v2(Handle stream) {
  const std::lock_guard hold(state().lock);
  state().streams.erase(stream);
  return std::free(stream), 0;
}
int cuStreamSynchronize(Handle stream) { return wait_for(stream), health(); }
int cuStreamWaitEvent(Handle, Handle, unsigned) { return health(); }
int cuEventCreate(Handle* event, unsigned) { return *event = new Event, health(); }
int cuEventDestroy_v2(Handle event) {
  const std::lock_guard hold(state().lock);
  for (auto& [stream, held] : state().streams) held.behind.erase(static_cast<Event*>(event));
  return delete static_cast<Event*>(event), 0;
}
int cuEventRecord(Handle event, Handle stream) {
  if (const int gone = health()) return gone;
  auto& recorded = *static_cast<Event*>(event);
  const std::lock_guard hold(state().lock);
  Held& held = state().streams[stream];
  recorded = {Clock::now(), held.parts > 0, held.modelled_s};
  if (recorded.pending) held.behind.insert(&recorded);
  return 0;
}
int cuEventQuery(Handle event) {
  if (const int gone = health()) return gone;
  const std::lock_guard hold(state().lock);
  return static_cast<Event*>(event)->pending ? 600 : 0;
}
int cuEventSynchronize(Handle event) {
  std::unique_lock hold(state().lock);
  state().changed.wait(hold, [&] { return !static_cast<Event*>(event)->pending; });
  hold.unlock();
  return health();
}
int cuEventElapsedTime(float* milliseconds, Handle begin, Handle end) {
  {
    const std::lock_guard hold(state().lock);
    const auto taken = static_cast<Event*>(end)->at - static_cast<Event*>(begin)->at;
    *milliseconds = std::chrono::duration<float, std::milli>(taken).count();
    if (setting("modelled", 0) != 0) {
      const double modelled = static_cast<Event*>(end)->modelled_s - static_cast<Event*>(begin)->modelled_s;
      *milliseconds = static_cast<float>(1e3 * modelled);
    }
  }
  return health();
}

/// For the other libraries of the tests: work of theirs lies in a stream, and is done.
void fake_cuda_hold(Handle stream) {
  const std::lock_guard hold(state().lock);
  ++state().streams[stream].parts;
}
void fake_cuda_release(Handle stream) {
  const std::lock_guard hold(state().lock);
  Held& held = state().streams[stream];
  if (held.parts == 0 || --held.parts > 0) return;
  for (Event* event : held.behind) *event = {Clock::now(), false, event->modelled_s};
  held.behind.clear();
  state().changed.notify_all();
}
void fake_cuda_spend(Handle stream, double seconds) {
  const std::lock_guard hold(state().lock);
  state().streams[stream].modelled_s += seconds;
}
int fake_cuda_current() { return current; }

int cuModuleLoadData(Handle* module, const void*) {
  *module = &state();
  return static_cast<int>(setting("load", 0));
}
int cuModuleUnload(Handle) { return 0; }
int cuModuleGetFunction(Handle* function, Handle, const char* name) {
  const auto program = reinterpret_cast<decltype(&shakedown_host_module)>(dlsym(RTLD_DEFAULT, "shakedown_host_module"));
  if (program == nullptr) return 500;
  for (const HostKernel& kernel : program()->host) {
    if (std::strcmp(kernel.name, name) == 0) return *function = const_cast<HostKernel*>(&kernel), 0;
  }
  return 500;
}
int cuFuncSetAttribute(Handle, int, int) { return health(); }
int cuLaunchKernel(Handle function, unsigned x, unsigned y, unsigned, unsigned threads, unsigned, unsigned,
                   unsigned shared, Handle, void** arguments, void**) {
  {
    const std::lock_guard hold(state().lock);
    ++state().launches[current];
  }
  if (const int gone = health()) return gone;
  if (x == 0 || threads == 0 || threads > 1024) return 1;
  static_cast<const HostKernel*>(function)->run(
      {.blocks = x, .threads = threads, .shared_bytes = shared, .blocks_y = y}, arguments);
  return 0;
}
int cuLaunchCooperativeKernel(Handle function, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned ty,
                              unsigned tz, unsigned shared, Handle stream, void** arguments) {
  return cuLaunchKernel(function, x, y, z, threads, ty, tz, shared, stream, arguments, nullptr);
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Handle, int, std::size_t) { return *blocks = 2, 0; }
int cuGetErrorName(int code, const char** text) {
  static const std::map<int, const char*> kNames = {{2, "CUDA_ERROR_OUT_OF_MEMORY"},
                                                    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE"},
                                                    {100, "CUDA_ERROR_NO_DEVICE"},
                                                    {214, "CUDA_ERROR_ECC_UNCORRECTABLE"},
                                                    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
                                                    {802, "CUDA_ERROR_SYSTEM_NOT_READY"},
                                                    {999, "CUDA_ERROR_UNKNOWN"}};
  const auto found = kNames.find(code);
  *text = found == kNames.end() ? nullptr : found->second;
  return found == kNames.end() ? 1 : 0;
}
int cuGetErrorString(int, const char** text) { return *text = "as told to the fake", 0; }

}  // extern "C"
