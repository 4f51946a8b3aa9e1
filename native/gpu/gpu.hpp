// What a program needs of a GPU, on one screen. A backend is one file that implements Device: cuda.cpp (the driver and
// cuBLAS, both loaded at run time), host.cpp (threads of this host: the reference, for machines without a GPU).
// README.md beside this says how a program uses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/args.hpp"
#include "common/error.hpp"
#include "common/json.hpp"

namespace shakedown::gpu {

/// What went wrong, so that a caller can go on with other devices. `word(state)` is the notice's code.
enum class State {
  no_driver,
  driver_too_old,
  no_device,
  busy,
  prohibited,
  not_ready,
  not_compiled,
  no_library,
  out_of_memory,
  lost,
  corrupted,
  failed
};
struct Failure : Error {
  Failure(State why, const std::string& what, const std::string& hint)
      : Error(kCouldNotMeasure, what, hint), state(why) {}
  State state;
};
const char* word(State state);

struct Info {
  std::string backend, name, pci, uuid, architecture, compute_mode;  // "cuda", ..., "9.0", "default"
  std::string driver;                                                // the CUDA version that the driver speaks: "13.0"
  int index = 0, multiprocessors = 1, memory_bus_bits = 0;
  std::size_t memory_bytes = 0, l2_bytes = 0, shared_bytes = 0;  // shared memory that one block may ask for
  double clock_hz = 0, memory_clock_hz = 0;                      // highest; 0: not known
  bool mig = false;
};
Object facts(const Info& info);

/// How many blocks of how many threads, and the dynamic shared memory of each block. Blocks that wait for one another
/// are at most Device::resident_blocks, and say how they start. `cooperative`: all at the same moment, when the device
/// has room for all. `waiting`: each as soon as there is room for it, so that they come in between the blocks of
/// another kernel, which goes on where they are not. That ends only if nothing else on the device, in this process or
/// another, keeps its place until these blocks are done: two such kernels at a time could each hold what the other
/// lacks.
struct Grid {
  unsigned blocks = 1, threads = 1, shared_bytes = 0, blocks_y = 1;
  bool cooperative = false, waiting = false;
};

/// A program's kernels: the image that shakedown_gpu_kernels() of CMake embeds (empty where there was no compiler), and
/// for the host backend a plain function by the same name with the same arguments (see host_kernel).
struct HostKernel {
  const char* name;
  void (*run)(const Grid& grid, void** arguments);
};
struct Module {
  std::span<const unsigned char> cuda;
  std::span<const HostKernel> host;
};

enum class Memory { device, pinned };  // pageable memory is the host's own: new, Buffer of common/memory.hpp
using Handle = void*;                  // of a stream, an event, a kernel: the backend's own

/// Products that BLAS does. A and B have this format; C has f64, f32, f32, bf16, f16, i32, bf16. f8 is E4M3.
enum class Format { f64, f32, tf32, bf16, f16, i8, f8 };
/// C = alpha op(A) op(B) + beta C, column-major. f8 asks for op(A) = A^T and op(B) = B.
struct Product {
  Format format = Format::f64;
  char trans_a = 'N', trans_b = 'N';
  std::int64_t m = 0, n = 0, k = 0;
  const void* a = nullptr;
  std::int64_t lda = 0;
  const void* b = nullptr;
  std::int64_t ldb = 0;
  void* c = nullptr;
  std::int64_t ldc = 0;
  double alpha = 1, beta = 0;
  bool single_c = false;  // of f16 and bf16: C has f32
};
/// B = alpha op(A)^-1 B (side 'L') or alpha B op(A)^-1 (side 'R'), A triangular, all of one type.
template <class T>
struct TriangularOf {
  char side = 'L', uplo = 'L', trans = 'N', diag = 'U';
  std::int64_t m = 0, n = 0;
  double alpha = 1;
  const T* a = nullptr;
  std::int64_t lda = 0;
  T* b = nullptr;
  std::int64_t ldb = 0;
};
using Triangular = TriangularOf<double>;
using TriangularSingle = TriangularOf<float>;

/// Matrices on one device. Calls only put work into a stream. Nothing is allocated after the first call on a stream,
/// nor by that where a stream was dropped that had one: its successor takes over what the library keeps for each.
class Blas {
 public:
  virtual ~Blas() = default;
  virtual void forget(Handle /*stream*/) noexcept {}             // which is about to be dropped
  [[nodiscard]] virtual std::string title() const = 0;           // "cublas 13.0.2"
  [[nodiscard]] virtual bool supports(Format format) const = 0;  // on this device
  virtual void gemm(const Product& product, Handle stream) = 0;
  virtual void trsm(const Triangular& solve, Handle stream) = 0;
  virtual void trsm_single(const TriangularSingle& solve, Handle stream) = 0;
};

class Transforms;  // Fourier transforms: transforms.hpp

/// Of free memory, what a program takes: 95 %, as drivers and libraries want some.
inline std::size_t usable(std::size_t free_bytes) { return free_bytes / 20 * 19; }

/// One GPU. Any thread may call, one at a time. Every call throws Failure where it fails; after State::lost or
/// State::corrupted nothing more can be done with this device in this process, the others go on.
class Device {
 public:
  virtual ~Device() = default;
  [[nodiscard]] virtual const Info& info() const = 0;
  [[nodiscard]] virtual std::size_t free_bytes() = 0;
  virtual Blas& blas() = 0;              // loads the library at the first call
  virtual Transforms& transforms() = 0;  // so does this

  virtual void* allocate(std::size_t bytes, Memory kind) = 0;
  virtual void release(void* address, Memory kind) noexcept = 0;
  virtual void copy(void* to, const void* from, std::size_t bytes, Handle stream) = 0;  // any memory to any, peers too
  virtual void fill(void* to, int byte, std::size_t bytes, Handle stream) = 0;
  virtual bool reach(Device& other) = 0;  // let kernels and copies of this one into the other's memory; false: cannot

  virtual Handle make_stream(bool urgent) = 0;
  virtual void drop_stream(Handle stream) noexcept = 0;
  virtual void wait(Handle stream) = 0;  // until all in the stream is done
  virtual Handle make_event() = 0;
  virtual void drop_event(Handle event) noexcept = 0;
  virtual void record(Handle event, Handle stream) = 0;
  virtual void await(Handle stream, Handle event) = 0;   // the stream goes on when the event has happened
  virtual bool happened(Handle event) = 0;               // without waiting
  virtual double seconds(Handle begin, Handle end) = 0;  // between two recorded events; waits for the second

  virtual Handle find_kernel(const Module& module, const char* name) = 0;
  virtual void start(Handle kernel, const Grid& grid, Handle stream, void** arguments) = 0;
  virtual unsigned resident_blocks(Handle kernel, const Grid& grid) = 0;  // at once on the whole device
};

/// `--backend`, `--devices`, `--driver`, `--cublas`: declared for every program alike.
struct Choice {
  std::string backend, devices, driver, cublas;
  std::string cufft = "auto";  // the path of libcufft.so: asked for by programs that transform
};
Choice read_choice(Args& args);
/// The chosen devices in order. Throws Failure, or a usage error for a device that is not there. With `refused`,
/// devices that fail are told there and left out, as long as one is left.
std::vector<std::unique_ptr<Device>> open(const Choice& choice, std::vector<Failure>* refused = nullptr);

// --------------------------------------------------------------------------------------- what a program holds in hands

/// Memory of a device, or pinned memory of the host that it copies fast.
template <class T>
class Array {
 public:
  Array() = default;
  Array(Device& device, std::size_t count, Memory kind = Memory::device)
      : device_(&device),
        data_(static_cast<T*>(device.allocate(count * sizeof(T), kind))),
        count_(count),
        kind_(kind) {}
  ~Array() {
    if (data_ != nullptr) device_->release(data_, kind_);
  }
  Array(Array&& other) noexcept { swap(other); }
  Array& operator=(Array&& other) noexcept {
    swap(other);
    return *this;
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  [[nodiscard]] T* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] std::size_t bytes() const { return count_ * sizeof(T); }

 private:
  void swap(Array& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    std::swap(kind_, other.kind_);
  }
  Device* device_ = nullptr;
  T* data_ = nullptr;
  std::size_t count_ = 0;
  Memory kind_ = Memory::device;
};

/// Work in order. Streams run beside each other; an urgent one's blocks go first.
class Stream {
 public:
  explicit Stream(Device& device, bool urgent = false) : device_(device), handle_(device.make_stream(urgent)) {}
  ~Stream() { device_.drop_stream(handle_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  void wait() const { device_.wait(handle_); }
  [[nodiscard]] Device& device() const { return device_; }
  operator Handle() const { return handle_; }  // NOLINT(google-explicit-constructor): a stream is its handle

 private:
  Device& device_;
  Handle handle_;
};

class Event {
 public:
  explicit Event(Device& device) : device_(device), handle_(device.make_event()) {}
  ~Event() { device_.drop_event(handle_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record(Handle stream) const { device_.record(handle_, stream); }
  [[nodiscard]] double seconds_until(const Event& end) const { return device_.seconds(handle_, end.handle_); }
  operator Handle() const { return handle_; }  // NOLINT(google-explicit-constructor): an event is its handle

 private:
  Device& device_;
  Handle handle_;
};

/// A kernel with the types of its arguments, which are those of its definition in the .cu file, in order.
template <class... A>
class Kernel {
 public:
  Kernel(Device& device, const Module& module, const char* name)
      : device_(&device), handle_(device.find_kernel(module, name)) {}
  void operator()(const Grid& grid, Handle stream, A... arguments) const {
    void* addresses[] = {const_cast<void*>(static_cast<const void*>(&arguments))...};
    device_->start(handle_, grid, stream, addresses);
  }
  [[nodiscard]] unsigned resident_blocks(const Grid& grid) const { return device_->resident_blocks(handle_, grid); }

 private:
  Device* device_;
  Handle handle_;
};

template <class... A, std::size_t... I>
void call_host(void (*function)(const Grid&, A...), const Grid& grid, void** arguments, std::index_sequence<I...>) {
  function(grid, *static_cast<A*>(arguments[I])...);
}
template <auto Function>
struct HostCall;
template <class... A, void (*Function)(const Grid&, A...)>
struct HostCall<Function> {
  static void run(const Grid& grid, void** arguments) {
    call_host(Function, grid, arguments, std::index_sequence_for<A...>{});
  }
};
/// An entry of a module's host table: host_kernel<triad>("triad"), where void triad(const Grid&, double* a, ...).
template <auto Function>
constexpr HostKernel host_kernel(const char* name) {
  return {name, &HostCall<Function>::run};
}

}  // namespace shakedown::gpu
