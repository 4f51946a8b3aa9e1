// Loading the CUDA driver, and what its refusals mean before there is a device.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>

#include "cuda.hpp"

namespace shakedown::gpu {
namespace {

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) {
    throw Failure(State::driver_too_old, std::string("the CUDA driver has no ") + name,
                  "install a driver of CUDA 11 or newer");
  }
}

/// A newer form of the same function, where the driver has it.
template <class Function>
void find(void* library, const char* newer, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, newer));
  if (function == nullptr) find(library, name, function);
}

void find_all(void* library, CudaDriver& cuda) {
  find(library, "cuInit", cuda.init);
  find(library, "cuDriverGetVersion", cuda.version);
  find(library, "cuDeviceGetCount", cuda.count);
  find(library, "cuDeviceGet", cuda.device);
  find(library, "cuDeviceGetName", cuda.name);
  find(library, "cuDeviceGetUuid_v2", "cuDeviceGetUuid", cuda.uuid);
  find(library, "cuDeviceGetPCIBusId", cuda.pci);
  find(library, "cuDeviceTotalMem_v2", cuda.total);
  find(library, "cuDeviceGetAttribute", cuda.attribute);
  find(library, "cuDevicePrimaryCtxRetain", cuda.retain);
  find(library, "cuDevicePrimaryCtxRelease_v2", cuda.drop);
  find(library, "cuCtxSetCurrent", cuda.current);
  find(library, "cuMemGetInfo_v2", cuda.memory);
  find(library, "cuDeviceCanAccessPeer", cuda.can_reach);
  find(library, "cuCtxEnablePeerAccess", cuda.enable_peer);
  find(library, "cuMemAlloc_v2", cuda.allocate);
  find(library, "cuMemFree_v2", cuda.release);
  find(library, "cuMemHostAlloc", cuda.pin);
  find(library, "cuMemFreeHost", cuda.unpin);
  find(library, "cuMemcpyAsync", cuda.copy);
  find(library, "cuMemsetD8Async", cuda.fill);
  find(library, "cuCtxGetStreamPriorityRange", cuda.priorities);
  find(library, "cuStreamCreateWithPriority", cuda.make_stream);
  find(library, "cuStreamDestroy_v2", cuda.drop_stream);
  find(library, "cuStreamSynchronize", cuda.wait_stream);
  find(library, "cuStreamWaitEvent", cuda.await);
  find(library, "cuEventCreate", cuda.make_event);
  find(library, "cuEventDestroy_v2", cuda.drop_event);
  find(library, "cuEventRecord", cuda.record);
  find(library, "cuEventQuery", cuda.query);
  find(library, "cuEventSynchronize", cuda.wait_event);
  find(library, "cuEventElapsedTime_v2", "cuEventElapsedTime", cuda.elapsed);
  find(library, "cuModuleLoadData", cuda.load);
  find(library, "cuModuleUnload", cuda.unload);
  find(library, "cuModuleGetFunction", cuda.function);
  find(library, "cuFuncSetAttribute", cuda.set_function);
  find(library, "cuLaunchKernel", cuda.launch);
  find(library, "cuLaunchCooperativeKernel", cuda.launch_together);
  find(library, "cuOccupancyMaxActiveBlocksPerMultiprocessor", cuda.occupancy);
  find(library, "cuGetErrorName", cuda.error_name);
  find(library, "cuGetErrorString", cuda.error_text);
}

constexpr const char* kInJob = "in a batch job ask for a GPU (--gres=gpu:1); else look at `nvidia-smi` and dmesg";

/// What a refusal of cuInit means (CUresult of the driver API reference).
Failure refusal(const CudaDriver& cuda, int code) {
  const std::string said = cuda.words(code);
  if (code == 100) {
    const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    const std::string shown = visible != nullptr ? std::string(" (CUDA_VISIBLE_DEVICES=") + visible + ")" : "";
    return {State::no_device, "the CUDA driver shows no device" + shown, kInJob};
  }
  if (code == 802) {
    return {State::not_ready, "the GPUs are not ready: " + said,
            "systems with NVSwitch need their fabric manager: systemctl status nvidia-fabricmanager"};
  }
  if (code == 803 || code == 804 || code == 35) {
    return {State::driver_too_old, "the driver's library and its kernel module do not fit: " + said,
            "reboot after an update of the driver; drop a CUDA compat folder from LD_LIBRARY_PATH"};
  }
  return {State::no_driver, "the CUDA driver does not start: " + said, kInJob};
}

}  // namespace

std::string cuda_version_word(int version) {
  return std::to_string(version / 1000) + '.' + std::to_string(version % 1000 / 10);
}

std::string CudaDriver::words(int code) const {
  const char* text = nullptr;
  std::string said = "error";
  if (error_name(code, &text) == 0 && text != nullptr) said = text;
  said += " (" + std::to_string(code) + ")";
  text = nullptr;
  if (error_text(code, &text) == 0 && text != nullptr) said += std::string(", ") + text;
  return said;
}

Failure no_driver(const std::string& library, const std::string& why, bool module_is_loaded) {
  if (library != kCudaLibrary) {
    return {State::no_driver, "there is no CUDA driver at the path of --driver, " + library + ": " + why,
            std::string("name the file of NVIDIA's driver, or leave --driver out: the loader then looks for ") +
                kCudaLibrary};
  }
  if (module_is_loaded) {
    return {
        State::no_driver, "NVIDIA's kernel module is loaded, but the library of its CUDA driver is not here: " + why,
        "start the container with NVIDIA_DRIVER_CAPABILITIES=compute,utility (utility alone brings nvidia-smi and no "
        "CUDA); without a container, install the driver's libcuda1 or nvidia-driver-cuda-libs package"};
  }
  return {State::no_driver, "there is no CUDA driver here: " + why,
          "install NVIDIA's driver on the GPU nodes; in a batch job ask for a GPU (--gres=gpu:1)"};
}

std::shared_ptr<const CudaDriver> cuda_driver(const std::string& library) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = dlerror();
    throw no_driver(library, why == nullptr ? library : why, access("/proc/driver/nvidia/version", F_OK) == 0);
  }
  auto cuda = std::make_shared<CudaDriver>();
  find_all(handle, *cuda);
  if (const int code = cuda->init(0); code != 0) throw refusal(*cuda, code);
  if (cuda->version(&cuda->speaks) != 0) cuda->speaks = 0;
  return cuda;
}

int cuda_count(const CudaDriver& driver) {
  int count = 0;
  if (const int code = driver.count(&count); code != 0) throw refusal(driver, code);
  if (count == 0) throw refusal(driver, 100);
  return count;
}

}  // namespace shakedown::gpu
