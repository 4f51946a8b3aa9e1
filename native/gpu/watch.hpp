// A device's clock, power, temperature and what slows it, while something runs: NVIDIA's management library, loaded at
// run time and asked by a thread of its own. Where it is absent or refuses, nothing is known and nothing is claimed.
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

#include "gpu.hpp"

namespace shakedown::gpu {

/// Means over the readings; `readings` 0: not known. Reasons are NVML's bits (nvmlClocksEventReasons), all that were
/// seen.
struct Conditions {
  int readings = 0;
  double clock_hz = 0, power_w = 0, temperature_c = 0;
  std::uint64_t reasons = 0;
};

/// From construction to finish(). The library is asked every 20 ms.
class Watch {
 public:
  explicit Watch(const Info& info, const std::string& library = "libnvidia-ml.so.1") {
    if (info.backend != "cuda") return;
    void* nvml = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (nvml == nullptr) return;
    const auto init = find<int()>(nvml, "nvmlInit_v2");
    const auto by_pci = find<int(const char*, Handle*)>(nvml, "nvmlDeviceGetHandleByPciBusId_v2");
    clock_ = find<int(Handle, int, unsigned*)>(nvml, "nvmlDeviceGetClockInfo");
    power_ = find<int(Handle, unsigned*)>(nvml, "nvmlDeviceGetPowerUsage");
    temperature_ = find<int(Handle, int, unsigned*)>(nvml, "nvmlDeviceGetTemperature");
    reasons_ = find<int(Handle, unsigned long long*)>(nvml, "nvmlDeviceGetCurrentClocksThrottleReasons");
    if (init == nullptr || by_pci == nullptr || init() != 0 || by_pci(info.pci.c_str(), &device_) != 0) return;
    thread_ = std::thread([this] {
      while (!stop_.load(std::memory_order_acquire)) {
        read();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    });
  }
  ~Watch() { finish(); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// Stop asking and tell what was seen.
  Conditions finish() {
    stop_.store(true, std::memory_order_release);
    if (thread_.joinable()) {
      thread_.join();
      const double n = seen_.readings > 0 ? seen_.readings : 1;
      seen_.clock_hz /= n;
      seen_.power_w /= n;
      seen_.temperature_c /= n;
    }
    return seen_;
  }

 private:
  template <class Function>
  static Function* find(void* library, const char* name) {
    return reinterpret_cast<Function*>(dlsym(library, name));
  }
  void read() {
    constexpr int kSm = 1, kChip = 0;
    unsigned mhz = 0, milliwatts = 0, celsius = 0;
    unsigned long long bits = 0;
    if (clock_ == nullptr || power_ == nullptr || clock_(device_, kSm, &mhz) != 0 || power_(device_, &milliwatts) != 0)
      return;
    if (temperature_ != nullptr) temperature_(device_, kChip, &celsius);
    if (reasons_ != nullptr && reasons_(device_, &bits) == 0) seen_.reasons |= bits;
    ++seen_.readings;
    seen_.clock_hz += 1e6 * mhz;
    seen_.power_w += 1e-3 * milliwatts;
    seen_.temperature_c += celsius;
  }

  Handle device_ = nullptr;
  int (*clock_)(Handle, int, unsigned*) = nullptr;
  int (*power_)(Handle, unsigned*) = nullptr;
  int (*temperature_)(Handle, int, unsigned*) = nullptr;
  int (*reasons_)(Handle, unsigned long long*) = nullptr;
  Conditions seen_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace shakedown::gpu
