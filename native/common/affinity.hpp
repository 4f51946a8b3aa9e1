// Which CPUs this process may use, in which order threads take them, and pinning.
#pragma once

#include <sched.h>

#include <string>
#include <vector>

#include "error.hpp"

namespace shakedown {

/// The first line of a file, or empty where it cannot be read.
std::string read_line(const std::string& path);

/// The CPUs of a kernel list such as "0-3,8,10-11", in the order written. Throws a usage error on anything else.
std::vector<int> parse_cpu_list(const std::string& text);

/// The kernel's way to write a set of CPUs: "0-3,8".
std::string format_cpu_list(std::vector<int> cpus);

/// A set of CPUs of any size: sched.h's fixed one ends at 1,024.
class CpuMask {
 public:
  CpuMask() : words_(kWords, 0) {}
  explicit CpuMask(const std::vector<int>& cpus);
  [[nodiscard]] std::vector<int> cpus() const;
  [[nodiscard]] static std::size_t bytes() { return kWords * sizeof(unsigned long); }
  cpu_set_t* set() { return reinterpret_cast<cpu_set_t*>(words_.data()); }
  [[nodiscard]] const cpu_set_t* set() const { return reinterpret_cast<const cpu_set_t*>(words_.data()); }

 private:
  static constexpr std::size_t kBits = 8 * sizeof(unsigned long);
  static constexpr std::size_t kWords = 65536 / kBits;
  std::vector<unsigned long> words_;
};

/// The CPUs that the calling thread may run on, as the kernel says: before pinning those of the process, after it the
/// binding that was really got.
std::vector<int> allowed_cpus();

/// Let the calling thread run on these CPUs only. Throws where the kernel refuses.
void bind_thread(const std::vector<int>& cpus);

void pin_thread(int cpu);

/// Where a logical CPU lies. Fields that /sys does not tell are 0 (socket, node) or the CPU itself (core).
struct CpuPlace {
  int cpu = 0;
  int core = 0;  // the lowest logical CPU of the same physical core
  int socket = 0;
  int node = 0;
};

/// The places of `cpus`; `root` is "" but in tests.
std::vector<CpuPlace> cpu_places(const std::vector<int>& cpus, const std::string& root = "");

/// The order in which threads take CPUs: one logical CPU of each physical core first, in turn over the sockets and NUMA
/// nodes, so that any number of threads has the most cores and the most memory controllers.
std::vector<int> spread_order(const std::vector<CpuPlace>& places);

/// The CPUs in the order in which neighbouring ranks take them: one logical CPU of each core first, and neighbours next
/// to each other, so that ranks 0 and 1 are two cores of one socket.
std::vector<int> compact_order(std::vector<CpuPlace> places);

/// The usable CPUs in the default order.
std::vector<int> default_cpu_order();

/// How many physical cores this process may use.
int usable_cores();

/// One CPU for each of `threads`: the first of `list` (a kernel list as given by --cpus, in its order; empty: the
/// default order). Throws a usage error where there are too few or one may not be used.
std::vector<int> choose_cpus(int threads, const std::string& list);

}  // namespace shakedown
