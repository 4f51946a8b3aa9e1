#include "affinity.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace shakedown {

std::string read_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::vector<int> parse_cpu_list(const std::string& text) {
  const auto wrong = [&] { return usage("'" + text + "' is not a list of CPUs", "write it as 0-3,8,10-11"); };
  const auto number = [&](const std::string& word) {
    int value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (word.empty() || error != std::errc{} || end != word.data() + word.size() || value < 0) throw wrong();
    return value;
  };
  std::vector<int> cpus;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto comma = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, comma - begin);
    const auto dash = part.find('-');
    const int low = number(part.substr(0, dash));
    const int high = dash == std::string::npos ? low : number(part.substr(dash + 1));
    if (high < low || high - low > (1 << 20)) throw wrong();
    for (int cpu = low; cpu <= high; ++cpu) cpus.push_back(cpu);
    begin = comma + 1;
    if (begin == text.size() && comma < text.size()) throw wrong();  // a comma at the end
  }
  return cpus;
}

std::string format_cpu_list(std::vector<int> cpus) {
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  std::string out;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    if (!out.empty()) out += ',';
    out += std::to_string(cpus[i]);
    if (last > i) out += '-' + std::to_string(cpus[last]);
    i = last + 1;
  }
  return out;
}

std::vector<int> allowed_cpus() {
  CpuMask mask;
  if (sched_getaffinity(0, CpuMask::bytes(), mask.set()) != 0) {
    throw cannot(std::string("cannot read the CPU affinity: ") + std::strerror(errno));
  }
  return mask.cpus();
}

void bind_thread(const std::vector<int>& cpus) {
  const CpuMask mask(cpus);
  if (sched_setaffinity(0, CpuMask::bytes(), mask.set()) != 0) {
    throw cannot("cannot pin a thread to CPU " + format_cpu_list(cpus) + ": " + std::strerror(errno),
                 "choose among the CPUs that this process may use: " + format_cpu_list(allowed_cpus()));
  }
}

void pin_thread(int cpu) { bind_thread({cpu}); }

std::vector<CpuPlace> cpu_places(const std::vector<int>& cpus, const std::string& root) {
  const auto integer = [](const std::string& word, int otherwise) {
    int value = otherwise;
    std::from_chars(word.data(), word.data() + word.size(), value);
    return value < 0 ? otherwise : value;
  };
  std::map<int, int> nodes;
  try {
    for (const int node : parse_cpu_list(read_line(root + "/sys/devices/system/node/online"))) {
      const auto path = root + "/sys/devices/system/node/node" + std::to_string(node) + "/cpulist";
      for (const int cpu : parse_cpu_list(read_line(path))) nodes[cpu] = node;
    }
  } catch (const Error&) {
    nodes.clear();  // a kernel without NUMA, or a /sys that is hidden: one node
  }
  std::vector<CpuPlace> places;
  for (const int cpu : cpus) {
    const std::string topology = root + "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    CpuPlace place;
    place.cpu = cpu;
    place.core = integer(read_line(topology + "thread_siblings_list"), cpu);  // its first number is the lowest
    place.socket = integer(read_line(topology + "physical_package_id"), 0);
    place.node = nodes.contains(cpu) ? nodes[cpu] : 0;
    places.push_back(place);
  }
  return places;
}

std::vector<int> spread_order(const std::vector<CpuPlace>& places) {
  std::map<int, int> siblings_seen;                     // core -> logical CPUs so far
  std::map<std::tuple<int, int, int>, int> group_seen;  // sibling rank, socket, node -> CPUs so far
  std::vector<std::pair<std::tuple<int, int, int, int>, int>> keyed;
  auto sorted = places;
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.cpu < b.cpu; });
  for (const auto& place : sorted) {
    const int rank = siblings_seen[place.core]++;
    const int turn = group_seen[{rank, place.socket, place.node}]++;
    keyed.push_back({{rank, turn, place.node, place.socket}, place.cpu});
  }
  std::sort(keyed.begin(), keyed.end());
  std::vector<int> order;
  order.reserve(keyed.size());
  for (const auto& [key, cpu] : keyed) order.push_back(cpu);
  return order;
}

std::vector<int> compact_order(std::vector<CpuPlace> places) {
  std::sort(places.begin(), places.end(), [](const auto& a, const auto& b) { return a.cpu < b.cpu; });
  std::map<int, int> siblings_seen;                        // core -> logical CPUs so far
  std::vector<std::tuple<int, int, int, int, int>> keyed;  // sibling, socket, node, core, CPU
  keyed.reserve(places.size());
  for (const auto& place : places) {
    keyed.emplace_back(siblings_seen[place.core]++, place.socket, place.node, place.core, place.cpu);
  }
  std::sort(keyed.begin(), keyed.end());
  std::vector<int> order;
  order.reserve(keyed.size());
  for (const auto& key : keyed) order.push_back(std::get<4>(key));
  return order;
}

std::vector<int> default_cpu_order() { return spread_order(cpu_places(allowed_cpus())); }

int usable_cores() {
  std::set<int> cores;
  for (const auto& place : cpu_places(allowed_cpus())) cores.insert(place.core);
  return static_cast<int>(cores.size());
}

std::vector<int> choose_cpus(int threads, const std::string& list) {
  const auto usable = allowed_cpus();
  auto cpus = list.empty() ? default_cpu_order() : parse_cpu_list(list);
  for (const int cpu : cpus) {
    if (std::find(usable.begin(), usable.end(), cpu) == usable.end()) {
      throw usage("CPU " + std::to_string(cpu) + " may not be used", "usable: " + format_cpu_list(usable));
    }
  }
  if (threads < 1 || static_cast<std::size_t>(threads) > cpus.size()) {
    throw usage(std::to_string(threads) + " threads requested, with " + std::to_string(cpus.size()) +
                    " CPUs to pin to (" + format_cpu_list(cpus) + ")",
                "ask for 1 to " + std::to_string(cpus.size()) + " threads");
  }
  cpus.resize(static_cast<std::size_t>(threads));
  return cpus;
}

CpuMask::CpuMask(const std::vector<int>& cpus) : CpuMask() {
  for (const int cpu : cpus) {
    if (cpu < 0 || static_cast<std::size_t>(cpu) >= kWords * kBits)
      throw usage("no CPU has number " + std::to_string(cpu));
    words_[static_cast<std::size_t>(cpu) / kBits] |= 1UL << (static_cast<std::size_t>(cpu) % kBits);
  }
}

std::vector<int> CpuMask::cpus() const {
  std::vector<int> out;
  for (std::size_t i = 0; i < kWords * kBits; ++i) {
    if ((words_[i / kBits] >> (i % kBits)) & 1UL) out.push_back(static_cast<int>(i));
  }
  return out;
}

}  // namespace shakedown
