// One device: its kernels built, run, timed and verified.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "common/clock.hpp"
#include "opencl.hpp"

namespace shakedown::opencl {

namespace {

constexpr const char* kSource = R"(
#ifdef IN_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double real;
typedef double4 real4;
#else
typedef float real;
typedef float4 real4;
#endif

__kernel void triad(__global real* a, __global const real* b, __global const real* c, real s) {
  const size_t i = get_global_id(0);
  a[i] = b[i] + s * c[i];
}

__kernel void bodies(__global real4* out, __global const real4* body, int n, real softening) {
  const size_t i = get_global_id(0);
  const real4 me = body[i];
  real x = 0, y = 0, z = 0;
  for (int j = 0; j < n; ++j) {
    const real4 other = body[j];
    const real dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
    const real inverse = rsqrt(dx * dx + dy * dy + dz * dz + softening);
    const real force = other.w * inverse * inverse * inverse;
    x += force * dx;
    y += force * dy;
    z += force * dz;
  }
  out[i] = (real4)(x, y, z, 0);
}
)";
constexpr double kFlopPerPair = 20;
constexpr std::int64_t kChecked = 64;  // bodies that are computed again on the host
constexpr double kSoftening = 0.0625;

/// A body's place and mass, a function of its number alone: four numbers in [0, 1).
template <class Real>
void place(std::int64_t i, Real* out) {
  auto state = static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15ULL + 1;
  for (int k = 0; k < 4; ++k) {
    state ^= state >> 31;
    state *= 0xBF58476D1CE4E5B9ULL;
    state ^= state >> 29;
    out[k] = static_cast<Real>(static_cast<double>(state >> 40) * 0x1p-24);  // 24 bits: exact in single precision
  }
}

/// How far the forces on some bodies are from those in long double, over what rounding explains (README.md).
template <class Real>
double bodies_residual(const std::vector<Real>& body, const std::vector<Real>& out, std::int64_t n) {
  const double unit = static_cast<double>(std::numeric_limits<Real>::epsilon()) * std::sqrt(static_cast<double>(n));
  double worst = 0;
  for (std::int64_t k = 0; k < std::min(kChecked, n); ++k) {
    const std::int64_t i = k * (n - 1) / std::max<std::int64_t>(1, std::min(kChecked, n) - 1);
    long double sum[3] = {}, size[3] = {};
    for (std::int64_t j = 0; j < n; ++j) {
      long double d[3], square = kSoftening;
      for (int c = 0; c < 3; ++c) {
        d[c] = static_cast<long double>(body[static_cast<std::size_t>(4 * j + c)]) -
               static_cast<long double>(body[static_cast<std::size_t>(4 * i + c)]);
        square += d[c] * d[c];
      }
      const long double force =
          static_cast<long double>(body[static_cast<std::size_t>(4 * j + 3)]) / (square * std::sqrt(square));
      for (int c = 0; c < 3; ++c) {
        sum[c] += force * d[c];
        size[c] += std::abs(force * d[c]);
      }
    }
    for (int c = 0; c < 3; ++c) {
      const long double found = out[static_cast<std::size_t>(4 * i + c)];
      const double error = static_cast<double>(std::abs(found - sum[c]) / (size[c] + 1e-300L)) / unit;
      if (!(error <= worst)) worst = error;  // also NaN
      if (std::isnan(worst)) return worst;
    }
  }
  return worst;
}

}  // namespace

Bench::Bench(const Api& api, const Device& device, const std::string& precision)
    : api_(api), device_(device), in_double_(precision == "d") {
  try {
    std::int32_t code = kSuccess;
    const std::intptr_t of[] = {0x1084, reinterpret_cast<std::intptr_t>(device.platform), 0};  // CL_CONTEXT_PLATFORM
    context_ = api_.create_context(of, 1, &device_.handle, nullptr, nullptr, &code);
    require(code, "clCreateContext");
    queue_ = api_.create_queue(context_, device_.handle, 0, &code);
    require(code, "clCreateCommandQueue");
    build(in_double_ ? "-DIN_DOUBLE" : "");
    triad_ = api_.create_kernel(program_, "triad", &code);
    require(code, "clCreateKernel");
    bodies_ = api_.create_kernel(program_, "bodies", &code);
    require(code, "clCreateKernel");
  } catch (...) {
    release();
    throw;
  }
}

Bench::~Bench() { release(); }

void Bench::release() {
  for (const Handle one : buffers_) api_.release_buffer(one);
  buffers_.clear();
  for (const Handle one : {triad_, bodies_})
    if (one != nullptr) api_.release_kernel(one);
  if (program_ != nullptr) api_.release_program(program_);
  if (queue_ != nullptr) api_.release_queue(queue_);
  if (context_ != nullptr) api_.release_context(context_);
  triad_ = bodies_ = program_ = queue_ = context_ = nullptr;
}

void Bench::build(const std::string& options) {
  std::int32_t code = kSuccess;
  const char* source = kSource;
  program_ = api_.create_program(context_, 1, &source, nullptr, &code);
  require(code, "clCreateProgramWithSource");
  code = api_.build(program_, 1, &device_.handle, options.c_str(), nullptr, nullptr);
  if (code == kSuccess) return;
  std::size_t length = 0;
  std::string log;
  if (api_.build_info(program_, device_.handle, kBuildLog, 0, nullptr, &length) == kSuccess && length > 0) {
    log.resize(length);
    api_.build_info(program_, device_.handle, kBuildLog, length, log.data(), nullptr);
    log = log.substr(0, std::min(log.find('\0'), std::size_t{300}));
    std::replace(log.begin(), log.end(), '\n', ' ');
  }
  throw std::runtime_error("clBuildProgram: " + error_name(code) + (log.empty() ? "" : ": " + log));
}

Handle Bench::buffer(Flags flags, std::size_t bytes, const void* filled) {
  std::int32_t code = kSuccess;
  const Handle made = api_.create_buffer(context_, flags, bytes, nullptr, &code);
  require(code, "clCreateBuffer");
  buffers_.push_back(made);
  require(api_.write(queue_, made, 1, 0, bytes, filled, 0, nullptr, nullptr), "clEnqueueWriteBuffer");
  return made;
}

double Bench::launch_seconds(Handle kernel, std::int64_t items, std::int64_t launches) {
  const auto global = static_cast<std::size_t>(items);
  const double begin = now_s();
  for (std::int64_t i = 0; i < launches; ++i)
    require(api_.launch(queue_, kernel, 1, nullptr, &global, nullptr, 0, nullptr, nullptr), "clEnqueueNDRangeKernel");
  require(api_.finish(queue_), "clFinish");
  return now_s() - begin;
}

std::vector<double> Bench::sample(Handle kernel, std::int64_t items, const Effort& effort, std::int64_t& launches) {
  launch_seconds(kernel, items, 1);  // the first launch may still compile
  const double once = std::max(launch_seconds(kernel, items, 1), 1e-7);
  launches = std::max<std::int64_t>(1, std::llround(std::min(effort.sample_seconds / once, 1e5)));
  std::vector<double> seconds;
  double total = 0;
  while (static_cast<std::int64_t>(seconds.size()) < effort.samples || total < effort.seconds) {
    seconds.push_back(launch_seconds(kernel, items, launches));
    total += seconds.back();
  }
  return seconds;
}

template <class Real>
Result Bench::run_triad(std::int64_t elements, const Effort& effort) {
  Result result{.kernel = "triad", .precision = in_double_ ? "d" : "s", .error = {}, .n = elements, .seconds = {}};
  const auto count = static_cast<std::size_t>(elements);
  const std::size_t bytes = count * sizeof(Real);
  std::vector<Real> host(count);
  // Small whole numbers: the right result is exact in either precision, fused or not.
  for (std::size_t i = 0; i < count; ++i) host[i] = static_cast<Real>(i % 1024);
  const Handle b = buffer(kReadOnly, bytes, host.data());
  for (std::size_t i = 0; i < count; ++i) host[i] = static_cast<Real>(i * 7 % 509);
  const Handle c = buffer(kReadOnly, bytes, host.data());
  std::fill(host.begin(), host.end(), std::numeric_limits<Real>::quiet_NaN());
  const Handle a = buffer(kReadWrite, bytes, host.data());
  const Real s = 3;
  require(api_.set_argument(triad_, 0, sizeof a, &a), "clSetKernelArg");
  require(api_.set_argument(triad_, 1, sizeof b, &b), "clSetKernelArg");
  require(api_.set_argument(triad_, 2, sizeof c, &c), "clSetKernelArg");
  require(api_.set_argument(triad_, 3, sizeof s, &s), "clSetKernelArg");
  std::int64_t launches = 1;
  result.begin_ns = unix_ns();
  result.seconds = sample(triad_, elements, effort, launches);
  result.end_ns = unix_ns();
  result.work = 3.0 * static_cast<double>(bytes) * static_cast<double>(launches);
  if (!effort.verify) return result;
  require(api_.read(queue_, a, 1, 0, bytes, host.data(), 0, nullptr, nullptr), "clEnqueueReadBuffer");
  double wrong = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (host[i] != static_cast<Real>(i % 1024) + s * static_cast<Real>(i * 7 % 509)) wrong += 1;  // NaN is wrong, too
  }
  result.residual = wrong;
  return result;
}

template <class Real>
Result Bench::run_bodies(std::int64_t n, const Effort& effort) {
  Result result{.kernel = "nbody", .precision = in_double_ ? "d" : "s", .error = {}, .n = n, .seconds = {}};
  const auto count = static_cast<std::size_t>(4 * n);
  std::vector<Real> body(count), out(count, std::numeric_limits<Real>::quiet_NaN());
  for (std::int64_t i = 0; i < n; ++i) place(i, &body[static_cast<std::size_t>(4 * i)]);
  const Handle from = buffer(kReadOnly, count * sizeof(Real), body.data());
  const Handle to = buffer(kReadWrite, count * sizeof(Real), out.data());
  const auto number = static_cast<std::int32_t>(n);
  const Real softening = kSoftening;
  require(api_.set_argument(bodies_, 0, sizeof to, &to), "clSetKernelArg");
  require(api_.set_argument(bodies_, 1, sizeof from, &from), "clSetKernelArg");
  require(api_.set_argument(bodies_, 2, sizeof number, &number), "clSetKernelArg");
  require(api_.set_argument(bodies_, 3, sizeof softening, &softening), "clSetKernelArg");
  std::int64_t launches = 1;
  result.begin_ns = unix_ns();
  result.seconds = sample(bodies_, n, effort, launches);
  result.end_ns = unix_ns();
  result.work = kFlopPerPair * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(launches);
  if (!effort.verify) return result;
  require(api_.read(queue_, to, 1, 0, count * sizeof(Real), out.data(), 0, nullptr, nullptr), "clEnqueueReadBuffer");
  result.residual = bodies_residual(body, out, n);
  return result;
}

Result Bench::triad(std::int64_t elements, const Effort& effort) {
  return in_double_ ? run_triad<double>(elements, effort) : run_triad<float>(elements, effort);
}

Result Bench::bodies(std::int64_t n, const Effort& effort) {
  return in_double_ ? run_bodies<double>(n, effort) : run_bodies<float>(n, effort);
}

}  // namespace shakedown::opencl
