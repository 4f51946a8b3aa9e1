// Fourier transforms by a device's library, beside Blas in gpu.hpp. A backend is one file that implements Transforms:
// cufft.cpp (cuFFT, loaded at run time), host_transforms.cpp (the host backend's reference).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpu.hpp"

namespace shakedown::gpu {

struct CudaDriver;

/// Complex transforms of one shape, `batch` of them one after another in memory: each in row-major order, the slowest
/// dimension first.
struct TransformShape {
  std::vector<int> lengths;
  std::int64_t batch = 1;
  bool in_double = true;

  [[nodiscard]] std::int64_t points() const {  // of one transform
    std::int64_t n = 1;
    for (const int length : lengths) n *= length;
    return n;
  }
  [[nodiscard]] std::size_t bytes() const {  // of all of them
    return static_cast<std::size_t>(points() * batch) * (in_double ? 16 : 8);
  }
};

/// Forward is exp(-2 pi i j k / n); neither way is scaled, so that there and back again is N times the data.
enum class Way { forward, backward };

/// A plan. Calls only put work into a stream; nothing is allocated then.
class Transform {
 public:
  virtual ~Transform() = default;
  [[nodiscard]] virtual std::size_t work_bytes() const = 0;  // of the device's memory that it works in
  virtual void lend(void* work) = 0;                         // that memory, before the first run
  /// Out of place; `in` keeps what it holds.
  virtual void run(const void* in, void* out, Way way, Handle stream) = 0;
};

class Transforms {
 public:
  virtual ~Transforms() = default;
  [[nodiscard]] virtual std::string title() const = 0;  // "cufft 12.0.0"
  /// Throws Failure: out_of_memory, driver_too_old, lost; failed with the library's words where it has no such plan.
  virtual std::unique_ptr<Transform> plan(const TransformShape& shape) = 0;
};

/// cuFFT on the device whose context this is. Throws Failure: no_library.
std::unique_ptr<Transforms> cuda_transforms(const std::string& library, const Info& info, const CudaDriver& driver,
                                            Handle context);
std::unique_ptr<Transforms> host_transforms();

}  // namespace shakedown::gpu
