// OpenCL as far as it is used here, loaded at run time: the build needs neither headers nor a library, and one build
// runs with whatever the site has. Types and numbers are those of the OpenCL 1.2 specification, which are fixed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace shakedown::opencl {

using Handle = void*;  // platforms, devices, contexts, queues, programs, kernels and buffers alike
using Flags = std::uint64_t;

inline constexpr std::int32_t kSuccess = 0;
inline constexpr std::int32_t kDeviceNotFound = -1;
inline constexpr std::int32_t kNoPlatform = -1001;  // the ICD loader found no driver
inline constexpr Flags kAllDevices = 0xFFFFFFFF, kCpu = 2, kGpu = 4, kAccelerator = 8;
inline constexpr std::uint32_t kPlatformVersion = 0x0901, kPlatformName = 0x0902;
inline constexpr std::uint32_t kDeviceType = 0x1000, kComputeUnits = 0x1002, kClock = 0x100C, kMaxAlloc = 0x1010,
                               kGlobalBytes = 0x101F, kAvailable = 0x1027, kDeviceName = 0x102B, kDriver = 0x102D,
                               kDeviceVersion = 0x102F, kExtensions = 0x1030;
inline constexpr std::uint32_t kBuildLog = 0x1183;
inline constexpr Flags kReadWrite = 1, kReadOnly = 4;

/// The functions of one library.
struct Api {
  std::int32_t (*platforms)(std::uint32_t, Handle*, std::uint32_t*);
  std::int32_t (*platform_info)(Handle, std::uint32_t, std::size_t, void*, std::size_t*);
  std::int32_t (*devices)(Handle, Flags, std::uint32_t, Handle*, std::uint32_t*);
  std::int32_t (*device_info)(Handle, std::uint32_t, std::size_t, void*, std::size_t*);
  Handle (*create_context)(const std::intptr_t*, std::uint32_t, const Handle*, void (*)(), void*, std::int32_t*);
  Handle (*create_queue)(Handle, Handle, Flags, std::int32_t*);
  Handle (*create_program)(Handle, std::uint32_t, const char**, const std::size_t*, std::int32_t*);
  std::int32_t (*build)(Handle, std::uint32_t, const Handle*, const char*, void (*)(), void*);
  std::int32_t (*build_info)(Handle, Handle, std::uint32_t, std::size_t, void*, std::size_t*);
  Handle (*create_kernel)(Handle, const char*, std::int32_t*);
  std::int32_t (*set_argument)(Handle, std::uint32_t, std::size_t, const void*);
  Handle (*create_buffer)(Handle, Flags, std::size_t, void*, std::int32_t*);
  std::int32_t (*write)(Handle, Handle, std::uint32_t, std::size_t, std::size_t, const void*, std::uint32_t,
                        const Handle*, Handle*);
  std::int32_t (*read)(Handle, Handle, std::uint32_t, std::size_t, std::size_t, void*, std::uint32_t, const Handle*,
                       Handle*);
  std::int32_t (*launch)(Handle, Handle, std::uint32_t, const std::size_t*, const std::size_t*, const std::size_t*,
                         std::uint32_t, const Handle*, Handle*);
  std::int32_t (*finish)(Handle);
  std::int32_t (*release_buffer)(Handle);
  std::int32_t (*release_kernel)(Handle);
  std::int32_t (*release_program)(Handle);
  std::int32_t (*release_queue)(Handle);
  std::int32_t (*release_context)(Handle);

  /// Throws "could not measure" where the library is not there, or lacks a function.
  static Api load(const std::string& path);
};

/// "CL_OUT_OF_RESOURCES (-5)"; the number alone where it has no name here.
std::string error_name(std::int32_t code);

/// Throws std::runtime_error, naming the call, where `code` is an error. It is one device's: the others go on.
void require(std::int32_t code, const char* call);

}  // namespace shakedown::opencl
