#include "api.hpp"

#include <dlfcn.h>

#include <array>
#include <stdexcept>
#include <utility>

#include "common/error.hpp"

namespace shakedown::opencl {

namespace {

template <class Function>
void find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  if (function == nullptr)
    throw cannot(std::string("this OpenCL library has no ") + name, "install an OpenCL loader of version 1.2 or later");
}

}  // namespace

Api Api::load(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();  // NOLINT(concurrency-mt-unsafe): no other thread yet
    throw cannot("there is no OpenCL here: " + std::string(why != nullptr ? why : path),
                 "install a loader and a driver: the GPU vendor's, or ocl-icd-libopencl1 and pocl-opencl-icd for CPUs");
  }
  Api api{};
  find(library, "clGetPlatformIDs", api.platforms);
  find(library, "clGetPlatformInfo", api.platform_info);
  find(library, "clGetDeviceIDs", api.devices);
  find(library, "clGetDeviceInfo", api.device_info);
  find(library, "clCreateContext", api.create_context);
  find(library, "clCreateCommandQueue", api.create_queue);
  find(library, "clCreateProgramWithSource", api.create_program);
  find(library, "clBuildProgram", api.build);
  find(library, "clGetProgramBuildInfo", api.build_info);
  find(library, "clCreateKernel", api.create_kernel);
  find(library, "clSetKernelArg", api.set_argument);
  find(library, "clCreateBuffer", api.create_buffer);
  find(library, "clEnqueueWriteBuffer", api.write);
  find(library, "clEnqueueReadBuffer", api.read);
  find(library, "clEnqueueNDRangeKernel", api.launch);
  find(library, "clFinish", api.finish);
  find(library, "clReleaseMemObject", api.release_buffer);
  find(library, "clReleaseKernel", api.release_kernel);
  find(library, "clReleaseProgram", api.release_program);
  find(library, "clReleaseCommandQueue", api.release_queue);
  find(library, "clReleaseContext", api.release_context);
  return api;
}

std::string error_name(std::int32_t code) {
  static constexpr std::array kNames{
      std::pair{-1, "CL_DEVICE_NOT_FOUND"},         std::pair{-2, "CL_DEVICE_NOT_AVAILABLE"},
      std::pair{-3, "CL_COMPILER_NOT_AVAILABLE"},   std::pair{-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
      std::pair{-5, "CL_OUT_OF_RESOURCES"},         std::pair{-6, "CL_OUT_OF_HOST_MEMORY"},
      std::pair{-11, "CL_BUILD_PROGRAM_FAILURE"},   std::pair{-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
      std::pair{-30, "CL_INVALID_VALUE"},           std::pair{-34, "CL_INVALID_CONTEXT"},
      std::pair{-36, "CL_INVALID_COMMAND_QUEUE"},   std::pair{-46, "CL_INVALID_KERNEL_NAME"},
      std::pair{-54, "CL_INVALID_WORK_GROUP_SIZE"}, std::pair{-61, "CL_INVALID_BUFFER_SIZE"},
      std::pair{-1001, "CL_PLATFORM_NOT_FOUND_KHR"}};
  for (const auto& [number, name] : kNames)
    if (number == code) return std::string(name) + " (" + std::to_string(code) + ")";
  return "error " + std::to_string(code);
}

void require(std::int32_t code, const char* call) {
  if (code != kSuccess) throw std::runtime_error(std::string(call) + ": " + error_name(code));
}

}  // namespace shakedown::opencl
