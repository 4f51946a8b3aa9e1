#include "device.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace shakedown::checkpoint {
namespace {

/// What crosses the bus at a time. Two of them are under way: one is copied while the other is checked and stored.
constexpr std::uint64_t kWindowBytes = std::uint64_t{4} << 20;
constexpr std::size_t kLanes = 2;
/// A hole between two runs that is cheaper to copy along than to begin anew.
constexpr std::uint64_t kMostHole = std::uint64_t{128} << 10;

/// A library that this process has loaded already, or nothing: none is loaded here.
class Library {
 public:
  explicit Library(const char* name) : handle_(::dlopen(name, RTLD_LAZY | RTLD_NOLOAD)) {}
  ~Library() {
    if (handle_ != nullptr) ::dlclose(handle_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  [[nodiscard]] bool loaded() const { return handle_ != nullptr; }
  template <class Function>
  bool find(const char* name, Function& function) const {
    function = reinterpret_cast<Function>(::dlsym(handle_, name));
    return function != nullptr;
  }

 private:
  void* handle_;
};

}  // namespace

/// One device while a part is copied: its context is current, and what it had been given is done.
class Device {
 public:
  struct Calls {
    std::string name;
    int (*make_stream)(void** stream, unsigned flags) = nullptr;
    int (*drop_stream)(void* stream) = nullptr;
    int (*wait_stream)(void* stream) = nullptr;
    int (*wait_all)() = nullptr;
    int (*pin)(void** memory, std::size_t bytes, unsigned flags) = nullptr;
    int (*unpin)(void* memory) = nullptr;
    std::function<int(void* to, const void* from, std::size_t bytes, void* stream)> copy;
    std::function<void()> leave;  // what was current before is so again
  };

  explicit Device(Calls calls) : calls_(std::move(calls)) {}
  ~Device() {
    for (Lane& lane : lanes_) {
      if (lane.stream == nullptr) continue;
      calls_.wait_stream(lane.stream);
      calls_.drop_stream(lane.stream);
      if (lane.pinned != nullptr) calls_.unpin(lane.pinned);
    }
    calls_.leave();
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  Outcome open() {
    constexpr unsigned kNonBlocking = 1;
    if (const int code = calls_.wait_all()) return said("does not end its work", code);
    for (Lane& lane : lanes_) {
      if (lane.stream != nullptr) continue;
      if (const int code = calls_.make_stream(&lane.stream, kNonBlocking)) return said("gives no stream", code);
      // Without page-locked memory the driver copies all the same, by a way round.
      if (calls_.pin(&lane.pinned, kWindowBytes, 0) != 0) {
        lane.pinned = nullptr;
        lane.plain.resize(kWindowBytes);
      }
    }
    return {};
  }
  [[nodiscard]] std::uint8_t* host(std::size_t lane) {
    return lanes_[lane].pinned != nullptr ? static_cast<std::uint8_t*>(lanes_[lane].pinned) : lanes_[lane].plain.data();
  }
  /// Begins a copy; what it reads and writes is left alone until `wait`.
  Outcome copy(std::size_t lane, void* to, const void* from, std::uint64_t bytes) {
    if (const int code = calls_.copy(to, from, bytes, lanes_[lane].stream)) return said("does not copy", code);
    return {};
  }
  Outcome wait(std::size_t lane) {
    if (const int code = calls_.wait_stream(lanes_[lane].stream)) return said("did not copy", code);
    return {};
  }

 private:
  struct Lane {
    void* stream = nullptr;
    void* pinned = nullptr;
    std::vector<std::uint8_t> plain;
  };

  [[nodiscard]] Outcome said(const char* what, int code) const {
    return failed(SHAKEDOWN_CKPT_DEVICE,
                  "the GPU " + std::string(what) + ": " + calls_.name + " error " + std::to_string(code));
  }

  Calls calls_;
  std::array<Lane, kLanes> lanes_;
};

namespace {

/// Bytes of the device that cross the bus together, and which of them are the part's: at so many bytes from the begin.
struct Window {
  struct Run {
    std::uint64_t at = 0;
    std::uint64_t bytes = 0;
  };
  std::uint8_t* begin = nullptr;
  std::uint64_t bytes = 0;
  std::vector<Run> runs;

  [[nodiscard]] bool whole() const { return runs.size() == 1; }
};

std::vector<Window> windows_of(const Protected& part) {
  std::vector<Window> found;
  for_each_run(part, [&](std::uint8_t* run, std::uint64_t length) {
    while (length > 0) {
      const bool near = !found.empty() && run < found.back().begin + kWindowBytes &&
                        run - (found.back().begin + found.back().bytes) <= static_cast<std::ptrdiff_t>(kMostHole);
      if (!near) found.push_back({run, 0, {}});
      Window& last = found.back();
      const auto at = static_cast<std::uint64_t>(run - last.begin);
      const std::uint64_t take = std::min(length, kWindowBytes - at);
      last.runs.push_back({at, take});
      last.bytes = at + take;
      run += take;
      length -= take;
    }
  });
  return found;
}

/// CUDA's driver, cuda.h. Names as the driver exports them; results are 0 or an error.
struct Cuda {
  int (*attribute)(void* data, int which, std::uint64_t pointer) = nullptr;
  int (*push)(void* context) = nullptr;
  int (*pop)(void** context) = nullptr;
  int (*retain)(void** context, int device) = nullptr;
  int (*release)(int device) = nullptr;
  int (*copy)(std::uint64_t to, std::uint64_t from, std::size_t bytes, void* stream) = nullptr;
  Device::Calls calls;

  bool find(const Library& library) {
    calls.name = "CUDA";
    return library.find("cuPointerGetAttribute", attribute) && library.find("cuCtxPushCurrent_v2", push) &&
           library.find("cuCtxPopCurrent_v2", pop) && library.find("cuDevicePrimaryCtxRetain", retain) &&
           library.find("cuDevicePrimaryCtxRelease_v2", release) && library.find("cuMemcpyAsync", copy) &&
           library.find("cuStreamCreate", calls.make_stream) && library.find("cuStreamDestroy_v2", calls.drop_stream) &&
           library.find("cuStreamSynchronize", calls.wait_stream) && library.find("cuCtxSynchronize", calls.wait_all) &&
           library.find("cuMemHostAlloc", calls.pin) && library.find("cuMemFreeHost", calls.unpin);
  }

  /// An attribute of the pointer, also on a thread that no context is current on.
  int ask(void* data, int which, const void* pointer) const {
    constexpr int kInvalidContext = 201;
    const int code = attribute(data, which, reinterpret_cast<std::uint64_t>(pointer));
    void* context = nullptr;
    if (code != kInvalidContext || retain(&context, 0) != 0) return code;
    int again = push(context);
    if (again == 0) {
      again = attribute(data, which, reinterpret_cast<std::uint64_t>(pointer));
      pop(&context);
    }
    release(0);
    return again;
  }
};

Outcome cuda_device(const void* pointer, std::shared_ptr<Device>& device) {
  constexpr int kContext = 1;     // CU_POINTER_ATTRIBUTE_CONTEXT
  constexpr int kMemoryType = 2;  // CU_POINTER_ATTRIBUTE_MEMORY_TYPE
  constexpr int kOrdinal = 9;     // CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
  constexpr unsigned kOnDevice = 2;
  const Library library("libcuda.so.1");
  Cuda cuda;
  if (!library.loaded() || !cuda.find(library)) return {};
  unsigned type = 0;
  // Any error here: the driver knows nothing of it, as of all that malloc gave, or was never started.
  if (cuda.ask(&type, kMemoryType, pointer) != 0 || type != kOnDevice) return {};
  void* context = nullptr;
  int retained = -1;
  int code = 0;
  if (cuda.ask(&context, kContext, pointer) != 0 || context == nullptr) {  // memory of a pool is of a device alone
    int ordinal = 0;
    code = cuda.ask(&ordinal, kOrdinal, pointer);
    if (code == 0) code = cuda.retain(&context, ordinal);
    if (code == 0) retained = ordinal;
  }
  if (code == 0) code = cuda.push(context);
  if (code != 0 && retained >= 0) cuda.release(retained);
  if (code != 0)
    return failed(SHAKEDOWN_CKPT_DEVICE, "the GPU's context cannot be used: CUDA error " + std::to_string(code));
  cuda.calls.copy = [copy = cuda.copy](void* to, const void* from, std::size_t bytes, void* stream) {
    return copy(reinterpret_cast<std::uint64_t>(to), reinterpret_cast<std::uint64_t>(from), bytes, stream);
  };
  cuda.calls.leave = [pop = cuda.pop, release = cuda.release, retained] {
    void* popped = nullptr;
    pop(&popped);
    if (retained >= 0) release(retained);
  };
  device = std::make_shared<Device>(std::move(cuda.calls));
  return {};
}

/// AMD's HIP, hip_runtime_api.h.
Outcome hip_device(const void* pointer, std::shared_ptr<Device>& device) {
  constexpr int kMemoryType = 2;  // HIP_POINTER_ATTRIBUTE_MEMORY_TYPE
  constexpr int kOrdinal = 9;     // HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL
  constexpr int kRocm6 = 60'000'000;
  constexpr int kDefault = 4;  // hipMemcpyDefault: the direction follows from the pointers
  for (const char* name : {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"}) {
    const Library library(name);
    int (*attribute)(void*, int, void*) = nullptr;
    int (*version)(int*) = nullptr;
    int (*current)(int*) = nullptr;
    int (*choose)(int) = nullptr;
    int (*copy)(void*, const void*, std::size_t, int, void*) = nullptr;
    Device::Calls calls;
    if (!library.loaded() || !library.find("hipPointerGetAttribute", attribute) ||
        !library.find("hipRuntimeGetVersion", version) || !library.find("hipGetDevice", current) ||
        !library.find("hipSetDevice", choose) || !library.find("hipMemcpyAsync", copy) ||
        !library.find("hipStreamCreateWithFlags", calls.make_stream) ||
        !library.find("hipStreamDestroy", calls.drop_stream) ||
        !library.find("hipStreamSynchronize", calls.wait_stream) ||
        !library.find("hipDeviceSynchronize", calls.wait_all) || !library.find("hipHostMalloc", calls.pin) ||
        !library.find("hipHostFree", calls.unpin))
      continue;
    auto* const asked = const_cast<void*>(pointer);
    int found = 0;
    int type = 0;
    int ordinal = 0;
    int before = 0;
    if (version(&found) != 0 || attribute(&type, kMemoryType, asked) != 0) return {};
    if (type != (found >= kRocm6 ? 2 : 1)) return {};  // hipMemoryTypeDevice was counted anew
    calls.name = "HIP";
    int code = attribute(&ordinal, kOrdinal, asked);
    if (code == 0) code = current(&before);
    if (code == 0) code = choose(ordinal);
    if (code != 0) return failed(SHAKEDOWN_CKPT_DEVICE, "the GPU cannot be used: HIP error " + std::to_string(code));
    calls.copy = [copy](void* to, const void* from, std::size_t bytes, void* stream) {
      return copy(to, from, bytes, kDefault, stream);
    };
    calls.leave = [choose, before] { choose(before); };
    device = std::make_shared<Device>(std::move(calls));
    return {};
  }
  return {};
}

}  // namespace

Outcome device_of(const void* pointer, std::shared_ptr<Device>& device) {
  device = nullptr;
  Outcome found = cuda_device(pointer, device);
  if (found.good() && device == nullptr) found = hip_device(pointer, device);
  return found;
}

Outcome read_runs(Device& device, const Protected& part,
                  const std::function<void(const std::uint8_t*, std::uint64_t)>& visit) {
  const std::vector<Window> windows = windows_of(part);
  if (Outcome opened = device.open(); !opened.good()) return opened;
  for (std::size_t next = 0; next <= windows.size(); ++next) {
    if (next < windows.size()) {
      const std::size_t lane = next % kLanes;
      Outcome begun = device.copy(lane, device.host(lane), windows[next].begin, windows[next].bytes);
      if (!begun.good()) return begun;
    }
    if (next == 0) continue;
    const std::size_t lane = (next - 1) % kLanes;
    if (Outcome done = device.wait(lane); !done.good()) return done;
    for (const Window::Run& run : windows[next - 1].runs) visit(device.host(lane) + run.at, run.bytes);
  }
  return {};
}

Outcome write_runs(Device& device, const Protected& part,
                   const std::function<void(std::uint8_t*, std::uint64_t)>& fill) {
  if (Outcome opened = device.open(); !opened.good()) return opened;
  std::size_t lane = 0;
  for (const Window& window : windows_of(part)) {
    std::uint8_t* const host = device.host(lane);
    Outcome step = device.wait(lane);
    if (step.good() && !window.whole()) {  // what lies between the runs stays as it is
      step = device.copy(lane, host, window.begin, window.bytes);
      if (step.good()) step = device.wait(lane);
    }
    if (!step.good()) return step;
    for (const Window::Run& run : window.runs) fill(host + run.at, run.bytes);
    if (Outcome begun = device.copy(lane, window.begin, host, window.bytes); !begun.good()) return begun;
    lane = (lane + 1) % kLanes;
  }
  for (lane = 0; lane < kLanes; ++lane) {
    if (Outcome done = device.wait(lane); !done.good()) return done;
  }
  return {};
}

}  // namespace shakedown::checkpoint
