// Platforms and devices, as they describe themselves.
#include <algorithm>
#include <cstdlib>

#include "common/error.hpp"
#include "opencl.hpp"

namespace shakedown::opencl {

namespace {

using Asks = std::int32_t (*)(Handle, std::uint32_t, std::size_t, void*, std::size_t*);

/// A text property; empty where it is refused.
std::string text(Asks ask, Handle of, std::uint32_t what) {
  std::size_t length = 0;
  if (ask(of, what, 0, nullptr, &length) != kSuccess || length == 0) return "";
  std::string found(length, '\0');
  if (ask(of, what, length, found.data(), nullptr) != kSuccess) return "";
  found.resize(std::min(found.find('\0'), found.size()));
  const auto first = found.find_first_not_of(' ');
  const auto last = found.find_last_not_of(' ');
  return first == std::string::npos ? "" : found.substr(first, last - first + 1);
}

template <class Number>
Number number(Asks ask, Handle of, std::uint32_t what, Number otherwise) {
  Number found{};
  return ask(of, what, sizeof found, &found, nullptr) == kSuccess ? found : otherwise;
}

std::string kind_of(Flags type) {
  if ((type & kGpu) != 0) return "gpu";
  if ((type & kCpu) != 0) return "cpu";
  return (type & kAccelerator) != 0 ? "accelerator" : "other";
}

Device describe(const Api& api, Handle platform, Handle handle, int index) {
  Device one;
  one.platform = platform;
  one.handle = handle;
  one.index = index;
  one.platform_name = text(api.platform_info, platform, kPlatformName);
  one.platform_version = text(api.platform_info, platform, kPlatformVersion);
  one.name = text(api.device_info, handle, kDeviceName);
  one.driver = text(api.device_info, handle, kDriver);
  one.version = text(api.device_info, handle, kDeviceVersion);
  one.kind = kind_of(number<Flags>(api.device_info, handle, kDeviceType, 0));
  one.available = number<std::uint32_t>(api.device_info, handle, kAvailable, 1) != 0;
  std::string extensions(1, ' ');
  extensions.append(text(api.device_info, handle, kExtensions)).append(1, ' ');
  one.has_double = extensions.find(" cl_khr_fp64 ") != std::string::npos;
  one.compute_units = number<std::uint32_t>(api.device_info, handle, kComputeUnits, 0);
  one.clock_mhz = number<std::uint32_t>(api.device_info, handle, kClock, 0);
  one.memory_bytes = number<std::uint64_t>(api.device_info, handle, kGlobalBytes, 0);
  one.most_bytes = number<std::uint64_t>(api.device_info, handle, kMaxAlloc, 0);
  return one;
}

}  // namespace

Object Device::facts() const {
  Object all;
  all.add("index", index).add("platform", platform_name).add("platform_version", platform_version);
  all.add("name", name).add("kind", kind).add("driver", driver).add("version", version).add("available", available);
  all.add("compute_units", compute_units).add("clock_mhz", clock_mhz).add("memory_bytes", memory_bytes);
  all.add("double", has_double);
  return all;
}

Object Device::params(const std::string& precision, const std::string& pattern) const {
  Object all;
  all.add("device", name).add("index", index).add("kind", kind).add("platform", platform_name);
  if (!precision.empty()) all.add("precision", precision == "d" ? "double" : "single");
  all.add("pattern", pattern);
  return all;
}

std::vector<Device> list_devices(const Api& api) {
  const std::string hint =
      "install a driver with its .icd file in /etc/OpenCL/vendors: the GPU vendor's, or pocl-opencl-icd for CPUs";
  std::uint32_t count = 0;
  const std::int32_t code = api.platforms(0, nullptr, &count);
  if (code == kNoPlatform || (code == kSuccess && count == 0))
    throw cannot("the OpenCL loader is here, but no driver is registered with it", hint);
  if (code != kSuccess) throw cannot("the OpenCL platforms cannot be listed: " + error_name(code), hint);
  std::vector<Handle> platforms(count);
  if (const std::int32_t again = api.platforms(count, platforms.data(), nullptr); again != kSuccess)
    throw cannot("the OpenCL platforms cannot be listed: " + error_name(again), hint);
  std::vector<Device> found;
  std::string empty;
  for (const Handle platform : platforms) {
    std::uint32_t devices = 0;
    const std::int32_t answer = api.devices(platform, kAllDevices, 0, nullptr, &devices);
    std::vector<Handle> handles(answer == kSuccess ? devices : 0);
    if (!handles.empty() && api.devices(platform, kAllDevices, devices, handles.data(), nullptr) != kSuccess)
      handles.clear();
    if (handles.empty()) {
      empty += (empty.empty() ? "" : ", ") + text(api.platform_info, platform, kPlatformName);
      if (answer != kSuccess && answer != kDeviceNotFound) empty += ": " + error_name(answer);
    }
    for (const Handle handle : handles) {
      found.push_back(describe(api, platform, handle, static_cast<int>(found.size())));
    }
  }
  if (found.empty()) throw cannot("no OpenCL platform has a device (" + empty + ")", "check the driver: clinfo, dmesg");
  return found;
}

std::vector<Device> choose(const std::vector<Device>& devices, const std::vector<std::string>& which) {
  std::vector<Device> chosen;
  for (const auto& one : devices) {
    const bool wanted = std::any_of(which.begin(), which.end(), [&](const std::string& word) {
      return word == "all" || word == one.kind || word == std::to_string(one.index);
    });
    if (wanted) chosen.push_back(one);
  }
  if (chosen.empty()) {
    std::string here;
    for (const auto& one : devices)
      here += (here.empty() ? "" : ", ") + std::to_string(one.index) + " " + one.name + " (" + one.kind + ")";
    throw cannot("none of the OpenCL devices is requested; here are: " + here, "choose with --devices: all, gpu, 0,1");
  }
  return chosen;
}

std::int64_t fitting_elements(const Device& device, const Sizes& sizes, bool in_double) {
  const std::uint64_t entry = in_double ? 8 : 4;
  auto most = static_cast<std::int64_t>(device.memory_bytes / 4 / entry);  // three arrays and some room
  if (device.most_bytes != 0) most = std::min(most, static_cast<std::int64_t>(device.most_bytes / entry));
  const std::int64_t asked = sizes.elements != 0 ? sizes.elements : std::int64_t{1} << (device.kind == "cpu" ? 24 : 26);
  if (device.memory_bytes == 0 || asked <= most) return asked;
  return std::max<std::int64_t>(most / 1024 * 1024, 1024);
}

std::int64_t fitting_bodies(const Device& device, const Sizes& sizes) {
  if (sizes.bodies != 0) return sizes.bodies;
  return device.kind == "cpu" ? 4096 : 65536;
}

}  // namespace shakedown::opencl
