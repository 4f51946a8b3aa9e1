// A management library for tests: every device has 1.5 GHz, 500 W and 60 degrees under its power limit; the one at
// 0000:02:00.0 has FAKE_NVML_REASONS besides.
#include <cstdlib>
#include <cstring>

#pragma GCC diagnostic ignored "-Wmissing-declarations"
extern "C" {

int nvmlInit_v2() { return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char* pci, void** device) {
  static char devices[16];
  *device = &devices[(pci[6] - '0') % 16];
  return std::strlen(pci) == 12 ? 0 : 2;
}
int nvmlDeviceGetClockInfo(void*, int kind, unsigned* mhz) { return *mhz = 1500, kind == 1 ? 0 : 2; }
int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) { return *milliwatts = 500'000, 0; }
int nvmlDeviceGetTemperature(void*, int, unsigned* celsius) { return *celsius = 60, 0; }
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* bits) {
  void* second = nullptr;
  nvmlDeviceGetHandleByPciBusId_v2("0000:02:00.0", &second);
  const char* text = std::getenv("FAKE_NVML_REASONS");
  *bits = 4 | (device == second && text != nullptr ? std::strtoull(text, nullptr, 10) : 0);
  return 0;
}

}  // extern "C"
