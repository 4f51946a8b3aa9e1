// The CUDA driver, loaded at run time: as much of it as the backend calls. Signatures are those of the CUDA Driver API
// reference; the _v2 names are what its header means by the plain ones.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "gpu.hpp"

namespace shakedown::gpu {

struct CudaDriver {
  using Size = std::size_t;
  int (*init)(unsigned) = nullptr;
  int (*version)(int*) = nullptr;
  int (*count)(int*) = nullptr;
  int (*device)(int*, int) = nullptr;
  int (*name)(char*, int, int) = nullptr;
  int (*uuid)(std::array<unsigned char, 16>*, int) = nullptr;
  int (*pci)(char*, int, int) = nullptr;
  int (*total)(Size*, int) = nullptr;
  int (*attribute)(int*, int, int) = nullptr;
  int (*retain)(Handle*, int) = nullptr;
  int (*drop)(int) = nullptr;
  int (*current)(Handle) = nullptr;
  int (*memory)(Size*, Size*) = nullptr;
  int (*can_reach)(int*, int, int) = nullptr;
  int (*enable_peer)(Handle, unsigned) = nullptr;
  int (*allocate)(void**, Size) = nullptr;  // CUdeviceptr is a number as wide as a pointer, and passed alike
  int (*release)(void*) = nullptr;
  int (*pin)(void**, Size, unsigned) = nullptr;
  int (*unpin)(void*) = nullptr;
  int (*copy)(void*, const void*, Size, Handle) = nullptr;
  int (*fill)(void*, unsigned char, Size, Handle) = nullptr;
  int (*priorities)(int*, int*) = nullptr;
  int (*make_stream)(Handle*, unsigned, int) = nullptr;
  int (*drop_stream)(Handle) = nullptr;
  int (*wait_stream)(Handle) = nullptr;
  int (*await)(Handle, Handle, unsigned) = nullptr;
  int (*make_event)(Handle*, unsigned) = nullptr;
  int (*drop_event)(Handle) = nullptr;
  int (*record)(Handle, Handle) = nullptr;
  int (*query)(Handle) = nullptr;
  int (*wait_event)(Handle) = nullptr;
  int (*elapsed)(float*, Handle, Handle) = nullptr;
  int (*load)(Handle*, const void*) = nullptr;
  int (*unload)(Handle) = nullptr;
  int (*function)(Handle*, Handle, const char*) = nullptr;
  int (*set_function)(Handle, int, int) = nullptr;
  int (*launch)(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle, void**,
                void**) = nullptr;
  int (*launch_together)(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle,
                         void**) = nullptr;
  int (*occupancy)(int*, Handle, int, Size) = nullptr;
  int (*error_name)(int, const char**) = nullptr;
  int (*error_text)(int, const char**) = nullptr;

  int speaks = 0;                                   // the CUDA version that it speaks: 13000
  [[nodiscard]] std::string words(int code) const;  // "CUDA_ERROR_OUT_OF_MEMORY (2), out of memory"
};

/// 13000 as "13.0".
std::string cuda_version_word(int version);

/// The driver's library as the loader finds it.
inline constexpr const char* kCudaLibrary = "libcuda.so.1";

/// What it means that `library` cannot be loaded. `why`: the loader's words. `module_is_loaded`: of the kernel's
/// module, which a container shows whether or not the library was brought into it.
Failure no_driver(const std::string& library, const std::string& why, bool module_is_loaded);

/// Load and start the driver. Throws Failure: no_driver, driver_too_old, no_device, not_ready.
std::shared_ptr<const CudaDriver> cuda_driver(const std::string& library);
int cuda_count(const CudaDriver& driver);
std::unique_ptr<Device> cuda_device(const std::shared_ptr<const CudaDriver>& driver, int index,
                                    const std::string& cublas, const std::string& cufft);

/// cuBLAS on the device whose context is current. Throws Failure: no_library, driver_too_old.
std::unique_ptr<Blas> cuda_blas(const std::string& library, const Info& info, const CudaDriver& driver);

}  // namespace shakedown::gpu
