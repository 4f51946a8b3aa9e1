// The CUDA backend: one device through the driver's API, in its primary context, which cuBLAS shares.
#include "cuda.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "common/memory.hpp"
#include "transforms.hpp"

namespace shakedown::gpu {
namespace {

// CUdevice_attribute
constexpr int kL2 = 38, kMultiprocessors = 16, kClockKhz = 13, kComputeMode = 20, kMemoryClockKhz = 36, kBusBits = 37,
              kMajor = 75, kMinor = 76, kSharedOptIn = 97;
constexpr int kExclusive = 3, kProhibited = 2;
constexpr int kDynamicShared = 8;               // CUfunction_attribute
constexpr unsigned kPinPortable = 1;            // pinned for every device
constexpr unsigned kNonBlocking = 1;            // streams do not wait for the null stream
constexpr unsigned kOrdinaryShared = 48 << 10;  // dynamic shared memory that needs no leave

class CudaDevice final : public Device {
 public:
  CudaDevice(std::shared_ptr<const CudaDriver> driver, int index, std::string cublas, std::string cufft)
      : driver_(std::move(driver)), cuda_(*driver_), cublas_(std::move(cublas)), cufft_(std::move(cufft)) {
    info_.index = index;
    check(cuda_.device(&device_, index), "cuDeviceGet");
    describe();
    if (const int code = cuda_.retain(&context_, device_); code != 0) refuse(code);
    open_ = true;
    enter();
  }

  ~CudaDevice() override {
    if (open_) cuda_.current(context_);  // a device that is gone gives nothing back, and nothing is lost by it
    blas_.reset();
    transforms_.reset();
    for (const auto& [image, module] : modules_) cuda_.unload(module);
    if (context_ != nullptr) cuda_.drop(device_);
  }
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  [[nodiscard]] const Info& info() const override { return info_; }

  std::size_t free_bytes() override {
    enter();
    std::size_t free = 0, total = 0;
    check(cuda_.memory(&free, &total), "cuMemGetInfo");
    return free;
  }

  Blas& blas() override {
    enter();
    if (blas_ == nullptr) blas_ = cuda_blas(cublas_, info_, cuda_);
    return *blas_;
  }

  Transforms& transforms() override {
    enter();
    if (transforms_ == nullptr) transforms_ = cuda_transforms(cufft_, info_, cuda_, context_);
    return *transforms_;
  }

  void* allocate(std::size_t bytes, Memory kind) override {
    enter();
    void* address = nullptr;
    const std::size_t some = std::max<std::size_t>(bytes, 1);
    const int code = kind == Memory::pinned ? cuda_.pin(&address, some, kPinPortable) : cuda_.allocate(&address, some);
    if (code == 2) throw no_memory(bytes, kind);
    check(code, kind == Memory::pinned ? "cuMemHostAlloc" : "cuMemAlloc");
    return address;
  }

  void release(void* address, Memory kind) noexcept override {
    cuda_.current(context_);  // a device that is gone gives nothing back
    kind == Memory::pinned ? cuda_.unpin(address) : cuda_.release(address);
  }

  void copy(void* to, const void* from, std::size_t bytes, Handle stream) override {
    enter();
    check(cuda_.copy(to, from, bytes, stream), "cuMemcpyAsync");
  }

  void fill(void* to, int byte, std::size_t bytes, Handle stream) override {
    enter();
    check(cuda_.fill(to, static_cast<unsigned char>(byte), bytes, stream), "cuMemsetD8Async");
  }

  bool reach(Device& other) override {
    const auto* peer = dynamic_cast<const CudaDevice*>(&other);
    if (peer == nullptr) return false;
    if (peer == this) return true;
    int can = 0;
    check(cuda_.can_reach(&can, device_, peer->device_), "cuDeviceCanAccessPeer");
    if (can == 0) return false;
    enter();
    constexpr int kAlready = 704;
    if (const int code = cuda_.enable_peer(peer->context_, 0); code != kAlready) check(code, "cuCtxEnablePeerAccess");
    return true;
  }

  Handle make_stream(bool urgent) override {
    enter();
    int least = 0, most = 0;
    check(cuda_.priorities(&least, &most), "cuCtxGetStreamPriorityRange");
    Handle stream = nullptr;
    check(cuda_.make_stream(&stream, kNonBlocking, urgent ? most : least), "cuStreamCreate");
    return stream;
  }
  void drop_stream(Handle stream) noexcept override {
    cuda_.current(context_);
    if (blas_ != nullptr) blas_->forget(stream);
    cuda_.drop_stream(stream);
  }
  void wait(Handle stream) override {
    enter();
    check(cuda_.wait_stream(stream), "cuStreamSynchronize");
  }

  Handle make_event() override {
    enter();
    Handle event = nullptr;
    check(cuda_.make_event(&event, 0), "cuEventCreate");
    return event;
  }
  void drop_event(Handle event) noexcept override { cuda_.drop_event(event); }
  void record(Handle event, Handle stream) override {
    enter();
    check(cuda_.record(event, stream), "cuEventRecord");
  }
  void await(Handle stream, Handle event) override {
    enter();
    check(cuda_.await(stream, event, 0), "cuStreamWaitEvent");
  }
  bool happened(Handle event) override {
    enter();
    constexpr int kNotReady = 600;
    const int code = cuda_.query(event);
    if (code != kNotReady) check(code, "cuEventQuery");
    return code == 0;
  }
  double seconds(Handle begin, Handle end) override {
    enter();
    float milliseconds = 0;
    check(cuda_.wait_event(end), "cuEventSynchronize");
    check(cuda_.elapsed(&milliseconds, begin, end), "cuEventElapsedTime");
    return static_cast<double>(milliseconds) * 1e-3;
  }

  Handle find_kernel(const Module& module, const char* name) override {
    enter();
    if (module.cuda.empty()) {
      throw Failure(State::not_compiled, "this build has no code for CUDA devices",
                    "build where there is an nvcc (scripts/setup cuda brings one); --backend host runs without a GPU");
    }
    auto& loaded = modules_[module.cuda.data()];
    if (loaded == nullptr) {
      if (const int code = cuda_.load(&loaded, module.cuda.data()); code != 0) {
        loaded = nullptr;
        modules_.erase(module.cuda.data());
        throw unloadable(code);
      }
    }
    Handle kernel = nullptr;
    check(cuda_.function(&kernel, loaded, name), name);
    return kernel;
  }

  void start(Handle kernel, const Grid& grid, Handle stream, void** arguments) override {
    enter();
    admit(kernel, grid);
    if (grid.waiting) hold_all(kernel, grid);
    const int code = grid.cooperative ? cuda_.launch_together(kernel, grid.blocks, grid.blocks_y, 1, grid.threads, 1, 1,
                                                              grid.shared_bytes, stream, arguments)
                                      : cuda_.launch(kernel, grid.blocks, grid.blocks_y, 1, grid.threads, 1, 1,
                                                     grid.shared_bytes, stream, arguments, nullptr);
    check(code, "cuLaunchKernel");
  }

  unsigned resident_blocks(Handle kernel, const Grid& grid) override {
    enter();
    admit(kernel, grid);
    int blocks = 0;
    check(cuda_.occupancy(&blocks, kernel, static_cast<int>(grid.threads), grid.shared_bytes),
          "cuOccupancyMaxActiveBlocksPerMultiprocessor");
    return static_cast<unsigned>(blocks * info_.multiprocessors);
  }

 private:
  void enter() {
    if (const int code = cuda_.current(context_); code != 0) check(code, "cuCtxSetCurrent");
  }

  int attribute(int which) const {
    int value = 0;
    return cuda_.attribute(&value, which, device_) == 0 ? value : 0;
  }

  void describe() {
    info_.backend = "cuda";
    char text[256] = "";
    if (cuda_.name(text, sizeof text, device_) == 0) info_.name = text;
    if (cuda_.pci(text, sizeof text, device_) == 0) info_.pci = text;
    std::array<unsigned char, 16> id{};
    if (cuda_.uuid(&id, device_) == 0) {
      info_.uuid = "GPU";
      for (std::size_t i = 0; i < id.size(); ++i) {
        std::snprintf(text, sizeof text, "%s%02x", i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", id[i]);
        info_.uuid += text;
      }
    }
    std::size_t total = 0;
    if (cuda_.total(&total, device_) == 0) info_.memory_bytes = total;
    info_.architecture = std::to_string(attribute(kMajor)) + '.' + std::to_string(attribute(kMinor));
    info_.multiprocessors = attribute(kMultiprocessors);
    info_.l2_bytes = static_cast<std::size_t>(attribute(kL2));
    info_.shared_bytes = static_cast<std::size_t>(attribute(kSharedOptIn));
    info_.memory_bus_bits = attribute(kBusBits);
    info_.clock_hz = 1e3 * attribute(kClockKhz);
    info_.memory_clock_hz = 1e3 * attribute(kMemoryClockKhz);
    const int mode = attribute(kComputeMode);
    info_.compute_mode = mode == kExclusive ? "exclusive process" : mode == kProhibited ? "prohibited" : "default";
    info_.driver = cuda_version_word(cuda_.speaks);
    info_.mig = info_.name.find(" MIG ") != std::string::npos;
  }

  [[nodiscard]] std::string label() const {
    return "GPU " + std::to_string(info_.index) + " (" + info_.name + (info_.pci.empty() ? "" : ", " + info_.pci) + ")";
  }

  /// A context that the device does not give.
  [[noreturn]] void refuse(int code) {
    constexpr int kUnavailable = 46;
    if (info_.compute_mode == "prohibited") {
      throw Failure(State::prohibited, label() + " is in compute mode prohibited: " + cuda_.words(code),
                    "nvidia-smi -i " + std::to_string(info_.index) + " -c 0");
    }
    if (code == kUnavailable && info_.compute_mode == "exclusive process") {
      throw Failure(State::busy, label() + " is in exclusive mode and another process holds it",
                    "see who (nvidia-smi); wait for it, or nvidia-smi -c 0 allows several");
    }
    if (code == kUnavailable) {
      throw Failure(
          State::busy, label() + " is busy or unavailable: " + cuda_.words(code),
          "see nvidia-smi and dmesg; with MIG enabled a GPU without an instance is unavailable (nvidia-smi -L)");
    }
    if (code == 2) {
      throw Failure(State::out_of_memory, label() + " has no memory left even to start: " + cuda_.words(code),
                    "see who holds it (nvidia-smi)");
    }
    check(code, "cuDevicePrimaryCtxRetain");
    throw Failure(State::failed, label() + " gave no context", "look at nvidia-smi and dmesg");
  }

  Failure no_memory(std::size_t bytes, Memory kind) {
    if (kind == Memory::pinned) {
      return {State::out_of_memory, "the host gives no " + show_bytes(bytes) + " of pinned memory",
              "ask for less; see the limits of the job and `ulimit -l`"};
    }
    std::size_t free = 0, total = 0;
    const bool known = cuda_.memory(&free, &total) == 0;
    return {State::out_of_memory,
            label() + " gives no " + show_bytes(bytes) +
                (known ? ": " + show_bytes(free) + " of " + show_bytes(total) + " are free" : std::string()),
            "ask for less; `nvidia-smi` shows which processes hold memory"};
  }

  Failure unloadable(int code) {
    // invalid image, invalid PTX, unsupported PTX version: made by a newer compiler than the driver knows
    const bool newer = cuda_.speaks < SHAKEDOWN_CUDA_VERSION;
    if (newer && (code == 200 || code == 209 || code == 218 || code == 222)) {
      return {State::driver_too_old,
              "the driver speaks CUDA " + cuda_version_word(cuda_.speaks) + " and the kernels were made with " +
                  cuda_version_word(SHAKEDOWN_CUDA_VERSION) + ": " + cuda_.words(code),
              "update the driver, or build with an older nvcc (SHAKEDOWN_NVCC=PATH)"};
    }
    if (code == 200 || code == 209 || code == 218 || code == 222) {
      return {State::not_compiled, "this build has no code for " + label() + ", architecture " + info_.architecture,
              "build again with SHAKEDOWN_CUDA_ARCHITECTURES naming it"};
    }
    return failure(code, "cuModuleLoadData");
  }

  /// Raise the limit of a kernel's dynamic shared memory, once for each size above the ordinary.
  void admit(Handle kernel, const Grid& grid) {
    if (grid.shared_bytes <= kOrdinaryShared || admitted_[kernel] >= grid.shared_bytes) return;
    check(cuda_.set_function(kernel, kDynamicShared, static_cast<int>(grid.shared_bytes)), "cuFuncSetAttribute");
    admitted_[kernel] = grid.shared_bytes;
  }

  /// Blocks that wait for one another and do not fit the device together would wait for ever; of a cooperative launch
  /// the driver looks after it.
  void hold_all(Handle kernel, const Grid& grid) {
    const unsigned blocks = grid.blocks * grid.blocks_y, most = resident_blocks(kernel, grid);
    if (blocks <= most) return;
    throw Failure(State::failed,
                  label() + ": " + std::to_string(blocks) + " blocks wait for one another and the device holds " +
                      std::to_string(most) + " of them",
                  "ask for fewer blocks");
  }

  void check(int code, const char* call) const {
    if (code != 0) throw failure(code, call);
  }

  /// What a failed call means once there is a device. CUDA reports an error of earlier work at a later call.
  [[nodiscard]] Failure failure(int code, const char* call) const {
    const std::string said = label() + ": " + call + ": " + cuda_.words(code);
    if (code == 214 || code == 220) {  // ECC uncorrectable, NVLink uncorrectable
      return {State::corrupted, said,
              "drain the node; reset the GPU; see `nvidia-smi -q -d ECC` and dmesg for its Xid"};
    }
    // no device, invalid device, unavailable, unknown: of a device that was there before
    if (open_ && (code == 100 || code == 101 || code == 46 || code == 999)) {
      return {State::lost, said + ": it was there and is gone",
              "dmesg shows the Xid (79: fallen off the bus); drain the node, power it off and on"};
    }
    if (code == 2) return {State::out_of_memory, said, "ask for less memory"};
    return {State::failed, said, "look for NVRM: Xid in dmesg; compute-sanitizer finds wrong accesses of a kernel"};
  }

  std::shared_ptr<const CudaDriver> driver_;
  const CudaDriver& cuda_;
  std::string cublas_, cufft_;
  Info info_;
  int device_ = 0;
  Handle context_ = nullptr;
  bool open_ = false;
  std::map<const unsigned char*, Handle> modules_;
  std::map<Handle, unsigned> admitted_;
  std::unique_ptr<Blas> blas_;
  std::unique_ptr<Transforms> transforms_;
};

}  // namespace

std::unique_ptr<Device> cuda_device(const std::shared_ptr<const CudaDriver>& driver, int index,
                                    const std::string& cublas, const std::string& cufft) {
  return std::make_unique<CudaDevice>(driver, index, cublas, cufft);
}

}  // namespace shakedown::gpu
