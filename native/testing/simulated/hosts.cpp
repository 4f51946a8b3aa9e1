// What a simulated host says of itself.
#include <simgrid/host.h>

#include <cstdio>

namespace shakedown::simulated {
namespace {
constexpr int kCpus = 64;
}

int host_name(char* name, std::size_t size) {
  std::snprintf(name, size, "%s", sg_host_self_get_name());
  return 0;
}

int allowed_cpus(std::size_t bytes, cpu_set_t* set) {
  CPU_ZERO_S(bytes, set);
  for (int cpu = 0; cpu < kCpus; ++cpu) CPU_SET_S(cpu, bytes, set);
  return 0;
}

}  // namespace shakedown::simulated
