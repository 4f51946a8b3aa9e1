// The OpenCL demonstration on one screen: which devices there are, and two kernels on each, verified.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "api.hpp"
#include "common/json.hpp"

namespace shakedown::opencl {

/// One device of one platform, as both say it.
struct Device {
  Handle platform = nullptr, handle = nullptr;
  int index = 0;  // over all platforms
  std::string platform_name, platform_version, name, driver, version, kind;
  bool available = true, has_double = false;
  std::uint32_t compute_units = 0, clock_mhz = 0;
  std::uint64_t memory_bytes = 0, most_bytes = 0;  // of all, and of one buffer

  [[nodiscard]] Object facts() const;
  [[nodiscard]] Object params(const std::string& precision, const std::string& pattern) const;
};

/// Every device of every platform. Throws "could not measure" where there is no platform, or none has a device.
std::vector<Device> list_devices(const Api& api);

/// Those that `which` names: all, cpu, gpu, accelerator, or indices between commas. Throws where that is none.
std::vector<Device> choose(const std::vector<Device>& devices, const std::vector<std::string>& which);

/// How much is done in one launch.
struct Sizes {
  std::int64_t bodies = 0;    // 0: 4096 on a CPU, 65536 on anything else
  std::int64_t elements = 0;  // 0: 2^24 on a CPU, 2^26 on anything else, less where the memory is smaller
};

struct Effort {
  std::int64_t samples = 10;
  double seconds = 0;            // each case lasts at least so long
  double sample_seconds = 0.01;  // a sample is as many launches as take at least so long
  bool verify = true;
};

/// What one kernel did on one device.
struct Result {
  std::string kernel, precision, error;  // error: the call that failed, empty where none did
  std::int64_t n = 0;
  double work = 0;  // flop or bytes of each sample
  std::vector<double> seconds;
  double residual = std::numeric_limits<double>::quiet_NaN();
  std::int64_t begin_ns = 0, end_ns = 0;
};

/// The limits of the residuals; README.md says what these are.
inline constexpr double kTriadLimit = 0, kBodiesLimit = 16;

/// A device with its context, queue and kernels of one precision ("s" or "d"); released at the end.
class Bench {
 public:
  Bench(const Api& api, const Device& device, const std::string& precision);
  ~Bench();
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  /// a = b + 3 c over whole arrays: bytes.
  Result triad(std::int64_t elements, const Effort& effort);
  /// The gravity of all bodies on each: flop, 20 for each pair.
  Result bodies(std::int64_t n, const Effort& effort);

 private:
  struct Buffers;
  template <class Real>
  Result run_triad(std::int64_t elements, const Effort& effort);
  template <class Real>
  Result run_bodies(std::int64_t n, const Effort& effort);
  void build(const std::string& options);
  double launch_seconds(Handle kernel, std::int64_t items, std::int64_t launches);
  std::vector<double> sample(Handle kernel, std::int64_t items, const Effort& effort, std::int64_t& launches);
  Handle buffer(Flags flags, std::size_t bytes, const void* filled);
  void release();

  const Api& api_;
  const Device& device_;
  bool in_double_;
  Handle context_ = nullptr, queue_ = nullptr, program_ = nullptr, triad_ = nullptr, bodies_ = nullptr;
  std::vector<Handle> buffers_;
};

/// The sizes for a device where none were given, so that they fit its memory.
std::int64_t fitting_elements(const Device& device, const Sizes& sizes, bool in_double);
std::int64_t fitting_bodies(const Device& device, const Sizes& sizes);

}  // namespace shakedown::opencl
