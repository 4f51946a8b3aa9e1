#include "query.hpp"

#include "cuda.hpp"
#include "host.hpp"

namespace shakedown::gpu {
namespace {

struct Attribute {
  const char* name;
  int number;       // CUdevice_attribute of the driver API reference
  double unit = 1;  // what one of the driver's is in the unit of the name
};
constexpr Attribute kNumbers[] = {
    {"multiprocessors", 16},
    {"clock_hz", 13, 1e3},
    {"memory_clock_hz", 36, 1e3},
    {"memory_bus_bits", 37},
    {"l2_bytes", 38},
    {"l2_persisting_bytes", 108},
    {"constant_memory_bytes", 9},
    {"shared_memory_per_block_bytes", 8},
    {"shared_memory_per_block_most_bytes", 97},
    {"shared_memory_per_multiprocessor_bytes", 81},
    {"registers_per_block", 12},
    {"registers_per_multiprocessor", 82},
    {"warp_size", 10},
    {"threads_per_block", 1},
    {"threads_per_multiprocessor", 39},
    {"blocks_per_multiprocessor", 106},
    {"texture_alignment_bytes", 14},
    {"copy_engines", 40},
    {"numa_node", 134},
};
constexpr Attribute kTruths[] = {
    {"concurrent_kernels", 31},
    {"ecc", 32},
    {"integrated", 18},
    {"unified_addressing", 41},
    {"managed_memory", 83},
    {"cooperative_launch", 95},
    {"maps_host_memory", 19},
    {"kernel_time_limit", 17},
    {"pageable_memory_access", 88},
};

Object query_cuda(const CudaDriver& cuda, int index, int count) {
  Object found;
  int device = 0;
  char text[256] = "";
  found.add("index", index);
  if (const int code = cuda.device(&device, index); code != 0) return found.add("error", cuda.words(code));
  if (cuda.name(text, sizeof text, device) == 0) found.add("name", text);
  if (cuda.pci(text, sizeof text, device) == 0) found.add("pci", text);
  std::size_t bytes = 0;
  if (cuda.total(&bytes, device) == 0) found.add("memory_bytes", bytes);
  const auto read = [&](int number, int& value) { return cuda.attribute(&value, number, device) == 0; };
  int major = 0, minor = 0, mode = 0, value = 0;
  if (read(75, major) && read(76, minor))
    found.add("compute_capability", std::to_string(major) + '.' + std::to_string(minor));
  if (read(20, mode)) found.add("compute_mode", mode == 3 ? "exclusive process" : mode == 2 ? "prohibited" : "default");
  for (const auto& [name, number, unit] : kNumbers) {
    if (!read(number, value) || value < 0) continue;
    unit == 1 ? found.add(name, value) : found.add(name, unit * value);
  }
  for (const auto& [name, number, unit] : kTruths) {
    if (read(number, value)) found.add(name, value != 0);
  }
  std::vector<Json> reaches;
  for (int other = 0; other < count; ++other) {
    int handle = 0, can = 0;
    if (other == index || cuda.device(&handle, other) != 0) continue;
    if (cuda.can_reach(&can, device, handle) == 0 && can != 0) reaches.push_back({to_json(other)});
  }
  return found.add("reaches", reaches);
}

}  // namespace

std::vector<Object> query(const Choice& choice) {
  std::vector<Object> all;
  if (choice.backend == "cuda") {
    const auto driver = cuda_driver(choice.driver);
    const int count = cuda_count(*driver);
    for (int index = 0; index < count; ++index) all.push_back(query_cuda(*driver, index, count));
    for (auto& one : all) one.add("cuda", cuda_version_word(driver->speaks));
    return all;
  }
  for (const auto& device : open(choice)) all.push_back(facts(device->info()));
  return all;
}

}  // namespace shakedown::gpu
