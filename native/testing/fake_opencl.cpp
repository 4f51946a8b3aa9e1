// An OpenCL for the tests, of one platform with two devices. It computes the two kernels of native/opencl/bench.cpp on
// the host, by their names, or, as FAKE_OPENCL says, is wrong in one way: "wrong_triad" and "wrong_bodies" damage a
// result, "unwritten" computes nothing, "no_platform", "no_device", "no_double" and "no_build" have none,
// "lost_together" loses a device while another works.
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "fault.hpp"

namespace {

bool fault(const char* name) { return shakedown::testing::fault_is("FAKE_OPENCL", name); }

struct Buffer {
  std::vector<unsigned char> bytes;
};
struct Program {
  bool in_double = false;
};
struct Kernel {
  std::string name;
  Program* program = nullptr;
  std::vector<unsigned char> arguments[4];
};
struct Queue {
  int device = 0;
  bool lost = false;
};

int platform_mark, context_mark, device_marks[2];
std::atomic<int> queues_alive{0};

template <class T>
T argument(const Kernel& kernel, int index) {
  T value;
  std::memcpy(&value, kernel.arguments[index].data(), sizeof value);
  return value;
}

Buffer* pointed(const Kernel& kernel, int index) { return static_cast<Buffer*>(argument<void*>(kernel, index)); }

template <class Real>
Real* data(Buffer* buffer) {
  return reinterpret_cast<Real*>(buffer->bytes.data());
}

template <class Real>
void triad(const Kernel& kernel, std::size_t n) {
  Real* a = data<Real>(pointed(kernel, 0));
  const Real* b = data<Real>(pointed(kernel, 1));
  const Real* c = data<Real>(pointed(kernel, 2));
  for (std::size_t i = 0; i < n; ++i) a[i] = b[i] + argument<Real>(kernel, 3) * c[i];
  if (fault("wrong_triad")) a[n / 2] += 1;
}

template <class Real>
void bodies(const Kernel& kernel, std::size_t n) {
  Real* out = data<Real>(pointed(kernel, 0));
  const Real* body = data<Real>(pointed(kernel, 1));
  const auto all = static_cast<std::size_t>(argument<std::int32_t>(kernel, 2));
  const std::size_t added = fault("wrong_bodies") ? all - all / 64 : all;  // one body of 64 is forgotten
  for (std::size_t i = 0; i < n; ++i) {
    Real sum[3] = {};
    for (std::size_t j = 0; j < added; ++j) {
      Real d[3];
      Real square = argument<Real>(kernel, 3);
      for (std::size_t k = 0; k < 3; ++k) {
        d[k] = body[4 * j + k] - body[4 * i + k];
        square += d[k] * d[k];
      }
      const Real inverse = 1 / std::sqrt(square);
      for (std::size_t k = 0; k < 3; ++k) sum[k] += body[4 * j + 3] * inverse * inverse * inverse * d[k];
    }
    for (std::size_t k = 0; k < 3; ++k) out[4 * i + k] = sum[k];
  }
}

std::int32_t answer(const void* value, std::size_t bytes, std::size_t room, void* out, std::size_t* needed) {
  if (needed != nullptr) *needed = bytes;
  if (out != nullptr && room >= bytes) std::memcpy(out, value, bytes);
  return 0;
}

std::int32_t answer(const std::string& text, std::size_t room, void* out, std::size_t* needed) {
  return answer(text.c_str(), text.size() + 1, room, out, needed);
}

}  // namespace

extern "C" {

std::int32_t clGetPlatformIDs(std::uint32_t, void** out, std::uint32_t* count) {
  if (fault("no_platform")) return -1001;
  if (count != nullptr) *count = 1;
  if (out != nullptr) out[0] = &platform_mark;
  return 0;
}

std::int32_t clGetPlatformInfo(void*, std::uint32_t what, std::size_t room, void* out, std::size_t* needed) {
  return answer(what == 0x0902 ? "Fake platform" : "OpenCL 1.2 fake", room, out, needed);
}

std::int32_t clGetDeviceIDs(void*, std::uint64_t, std::uint32_t, void** out, std::uint32_t* count) {
  if (fault("no_device")) return -1;
  if (count != nullptr) *count = 2;
  if (out != nullptr) out[0] = &device_marks[0], out[1] = &device_marks[1];
  return 0;
}

std::int32_t clGetDeviceInfo(void* device, std::uint32_t what, std::size_t room, void* out, std::size_t* needed) {
  const std::uint64_t large = std::uint64_t{1} << 30, kind = device == &device_marks[0] ? 4 : 2;
  const std::uint32_t few = 7;
  switch (what) {
    case 0x1000:
      return answer(&kind, sizeof kind, room, out, needed);
    case 0x1002:
    case 0x100C:
    case 0x1027:
      return answer(&few, sizeof few, room, out, needed);
    case 0x1010:
    case 0x101F:
      return answer(&large, sizeof large, room, out, needed);
    case 0x102B:
      return answer(device == &device_marks[0] ? "  Fake GPU " : "Fake CPU", room, out, needed);
    case 0x1030:
      return answer(fault("no_double") ? "cl_khr_global_int32_base_atomics" : "cl_khr_fp64", room, out, needed);
    default:
      return answer("fake 1.0", room, out, needed);
  }
}

void* clCreateContext(const std::intptr_t*, std::uint32_t, void* const*, void (*)(), void*, std::int32_t* code) {
  *code = 0;
  return &context_mark;
}

void* clCreateCommandQueue(void*, void* device, std::uint64_t, std::int32_t* code) {
  *code = 0;
  auto* queue = new Queue;
  queue->device = device == &device_marks[1] ? 1 : 0;
  ++queues_alive;
  return queue;
}

void* clCreateProgramWithSource(void*, std::uint32_t, const char**, const std::size_t*, std::int32_t* code) {
  *code = 0;
  return new Program;
}

std::int32_t clBuildProgram(void* program, std::uint32_t, void* const*, const char* options, void (*)(), void*) {
  if (fault("no_build")) return -11;
  static_cast<Program*>(program)->in_double = std::strstr(options, "IN_DOUBLE") != nullptr;
  return 0;
}

std::int32_t clGetProgramBuildInfo(void*, void*, std::uint32_t, std::size_t room, void* out, std::size_t* needed) {
  return answer("line 3: no such word", room, out, needed);
}

void* clCreateKernel(void* program, const char* name, std::int32_t* code) {
  *code = 0;
  auto* kernel = new Kernel;
  kernel->name = name;
  kernel->program = static_cast<Program*>(program);
  return kernel;
}

std::int32_t clSetKernelArg(void* kernel, std::uint32_t index, std::size_t bytes, const void* value) {
  const auto* from = static_cast<const unsigned char*>(value);
  static_cast<Kernel*>(kernel)->arguments[index].assign(from, from + bytes);
  return 0;
}

void* clCreateBuffer(void*, std::uint64_t, std::size_t bytes, void*, std::int32_t* code) {
  *code = 0;
  auto* buffer = new Buffer;
  buffer->bytes.resize(bytes);
  return buffer;
}

std::int32_t clEnqueueWriteBuffer(void*, void* buffer, std::uint32_t, std::size_t, std::size_t bytes, const void* from,
                                  std::uint32_t, void* const*, void**) {
  std::memcpy(static_cast<Buffer*>(buffer)->bytes.data(), from, bytes);
  return 0;
}

std::int32_t clEnqueueReadBuffer(void*, void* buffer, std::uint32_t, std::size_t, std::size_t bytes, void* to,
                                 std::uint32_t, void* const*, void**) {
  std::memcpy(to, static_cast<Buffer*>(buffer)->bytes.data(), bytes);
  return 0;
}

std::int32_t clEnqueueNDRangeKernel(void* queue, void* of, std::uint32_t, const std::size_t*, const std::size_t* global,
                                    const std::size_t*, std::uint32_t, void* const*, void**) {
  auto& kernel = *static_cast<Kernel*>(of);
  auto* one = static_cast<Queue*>(queue);
  // A device that fails only while another works, too.
  if (fault("lost_together") && one->device == 0 && queues_alive > 1) one->lost = true;
  if (one->lost) return -36;
  if (fault("unwritten")) return 0;
  const bool in_double = kernel.program->in_double;
  if (kernel.name == "triad") in_double ? triad<double>(kernel, *global) : triad<float>(kernel, *global);
  if (kernel.name == "bodies") in_double ? bodies<double>(kernel, *global) : bodies<float>(kernel, *global);
  return 0;
}

std::int32_t clFinish(void*) { return 0; }
std::int32_t clReleaseMemObject(void* buffer) {
  delete static_cast<Buffer*>(buffer);
  return 0;
}
std::int32_t clReleaseKernel(void* kernel) {
  delete static_cast<Kernel*>(kernel);
  return 0;
}
std::int32_t clReleaseProgram(void* program) {
  delete static_cast<Program*>(program);
  return 0;
}
std::int32_t clReleaseCommandQueue(void* queue) {
  --queues_alive;
  delete static_cast<Queue*>(queue);
  return 0;
}
std::int32_t clReleaseContext(void*) { return 0; }
}
