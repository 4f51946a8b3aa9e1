#include "memory.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

namespace shakedown {
namespace {

/// The number behind a word at the beginning of a line; `none` where there is no such line.
std::uint64_t field(const std::string& path, const std::string& name, std::uint64_t none) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string key;
    std::uint64_t value = 0;
    if (words >> key >> value && key == name) return value;
  }
  return none;
}

/// The number in a file of one number; `none` for "max", nonsense or no file.
std::uint64_t number(const std::string& path, std::uint64_t none) {
  const std::string line = read_line(path);
  char* end = nullptr;
  errno = 0;
  const auto value = std::strtoull(line.c_str(), &end, 10);
  return errno != 0 || end == line.c_str() ? none : value;
}

/// Take the smallest room from a control group up to the top: a limit anywhere above holds too. Page cache that the
/// group could drop counts as room. A container often sees its own group as the top, so absent folders are passed over.
void group_room(const std::string& mount, std::string group, bool second_version, MemoryRoom& room) {
  constexpr auto kNone = std::numeric_limits<std::uint64_t>::max();
  for (;;) {
    const std::string folder = mount + (group == "/" ? "" : group);
    const auto limit = number(folder + (second_version ? "/memory.max" : "/memory.limit_in_bytes"), kNone);
    const auto used = number(folder + (second_version ? "/memory.current" : "/memory.usage_in_bytes"), 0);
    const auto cache = field(folder + "/memory.stat", second_version ? "inactive_file" : "total_inactive_file", 0);
    if (limit < kNone / 4) {  // version 1 writes "no limit" as a number near 2^63
      const auto held = used > cache ? used - cache : 0;
      const auto left = limit > held ? limit - held : 0;
      if (left < room.bytes)
        room = {left, "the limit of control group " + group + " (" + std::to_string(limit) + " B)"};
    }
    if (group.empty() || group == "/") return;
    group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
    if (group.empty()) group.assign(1, '/');
  }
}

/// Of a NUMA node's memory, what programs can have without swapping: free, and page cache that can be dropped. 0 where
/// it has none.
std::uint64_t node_bytes(const std::string& folder) {
  std::ifstream file(folder + "/meminfo");
  std::uint64_t total = 0;
  for (std::string line; std::getline(file, line);) {  // "Node 0 MemFree:   123 kB"
    std::istringstream words(line);
    std::string node, number_of, key;
    std::uint64_t kib = 0;
    if (!(words >> node >> number_of >> key >> kib)) continue;
    if (key == "MemFree:" || key == "Active(file):" || key == "Inactive(file):" || key == "SReclaimable:") total += kib;
  }
  return total * 1024;
}

/// Take the free memory of the nodes that have CPUs and that cpuset.mems allows, where there are others: those are of
/// GPUs and CXL devices, and MemAvailable counts them. A list that cannot be read is as if there were none.
void node_room(const std::string& root, MemoryRoom& room) try {
  const std::string nodes = root + "/sys/devices/system/node";
  std::ifstream status(root + "/proc/self/status");
  std::optional<std::vector<int>> allowed;
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Mems_allowed_list:")) allowed = parse_cpu_list(line.substr(line.find_last_of(" \t:") + 1));
  }
  std::uint64_t bytes = 0;
  std::vector<int> usable;
  bool others = false;
  for (const int node : parse_cpu_list(read_line(nodes + "/has_memory"))) {
    const std::string folder = nodes + "/node" + std::to_string(node);
    const bool near = !read_line(folder + "/cpulist").empty() &&
                      (!allowed || std::find(allowed->begin(), allowed->end(), node) != allowed->end());
    others = others || !near;
    if (!near) continue;
    usable.push_back(node);
    bytes += node_bytes(folder);
  }
  if (others && bytes > 0 && bytes < room.bytes)
    room = {bytes, "memory of the NUMA nodes with CPUs that this process may use (" + format_cpu_list(usable) + ")"};
} catch (const Error&) {
}

}  // namespace

Pages parse_pages(const std::string& word) {
  if (word == "base") return Pages::base;
  if (word == "huge") return Pages::huge;
  if (word == "hugetlb") return Pages::hugetlb;
  throw usage("unknown page size '" + word + "'", "known: huge, base, hugetlb");
}

std::vector<int> memory_nodes(const std::string& root) {
  try {
    auto nodes = parse_cpu_list(read_line(root + "/sys/devices/system/node/has_memory"));
    if (!nodes.empty()) return nodes;
  } catch (const Error&) {  // not a list: as if there were none
  }
  return {0};
}

MemoryRoom memory_room(const std::string& root) {
  MemoryRoom room;
  const auto available = field(root + "/proc/meminfo", "MemAvailable:", 0);
  if (available > 0) room = {available * 1024, "available memory"};
  node_room(root, room);
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "4:memory:/path" or "0::/path"
    const auto first = line.find(':');
    const auto second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string controllers(1, ',');
    controllers.append(line, first + 1, second - first - 1).append(1, ',');
    const std::string path = line.substr(second + 1);
    if (controllers == ",,") {
      group_room(root + "/sys/fs/cgroup", path, true, room);
    } else if (controllers.find(",memory,") != std::string::npos) {
      group_room(root + "/sys/fs/cgroup/memory", path, false, room);
    }
  }
  return room;
}

std::string show_bytes(std::uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  std::ostringstream out;
  out.precision(4);
  out << value << ' ' << kUnits[unit];
  return out.str();
}

void require_memory(std::uint64_t bytes, const std::string& what, const MemoryRoom& room) {
  const std::uint64_t spare = std::max<std::uint64_t>(std::uint64_t{32} << 20, bytes / 256);
  if (bytes <= room.bytes && room.bytes - bytes >= spare) return;
  if (bytes < (std::uint64_t{1} << 20)) return;  // too small to be the cause, even on a full machine
  throw cannot(
      what + " need " + show_bytes(bytes) + ", but only " + show_bytes(room.bytes) + " are left by " + room.what,
      "ask for smaller arrays, or free memory");
}

PageReport page_report(const void* address) {
  PageReport report;
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0;
    char dash = 0;
    std::istringstream words(line);
    std::string key;
    std::uint64_t kib = 0;
    if (std::istringstream range(line); range >> std::hex >> begin >> dash >> end && dash == '-') {
      const auto at = reinterpret_cast<std::uintptr_t>(address);
      if (inside) break;
      inside = begin <= at && at < end;
      report.known = report.known || inside;
    } else if (inside && words >> key >> kib) {
      if (key == "Rss:") report.resident_bytes += kib * 1024;
      if (key == "AnonHugePages:") report.huge_bytes += kib * 1024;
      if (key == "KernelPageSize:") report.kernel_page_bytes = kib * 1024;
      if (key == "Private_Hugetlb:" || key == "Shared_Hugetlb:") report.resident_bytes += kib * 1024;
    }
  }
  return report;
}

std::vector<int> nodes_of(const Buffer& buffer) {
  const std::size_t step = std::max<std::size_t>(buffer.bytes() / 256 / 4096, 1) * 4096;
  std::vector<void*> pages;
  for (std::size_t at = 0; at < buffer.bytes(); at += step) pages.push_back(static_cast<char*>(buffer.data()) + at);
  std::vector<int> nodes(pages.size(), -1);
  if (syscall(SYS_move_pages, 0, pages.size(), pages.data(), nullptr, nodes.data(), 0) != 0) return {};
  std::erase_if(nodes, [](int node) { return node < 0; });
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

std::string PageReport::word() const {
  if (!known || resident_bytes == 0) return "unknown";
  if (kernel_page_bytes >= kHugePage) return "hugetlb";
  if (10 * huge_bytes >= 9 * resident_bytes) return "huge";
  return 10 * huge_bytes < resident_bytes ? "base" : "mixed";
}

Buffer::Buffer(std::size_t bytes, Pages pages, const Placement& placement) : bytes_(bytes) {
  if (bytes == 0) throw usage("a buffer of no bytes was requested");
  pages == Pages::hugetlb ? map_hugetlb() : map_ordinary(pages);
  if (placement.kind != Placement::Kind::local) set_policy(placement);
}

void Buffer::map_ordinary(Pages pages) {
  const std::size_t whole = round_up(bytes_, kHugePage);
  mapped_bytes_ = whole + 3 * kHugePage;  // room to align, and a guard on either side
  mapped_ = mmap(nullptr, mapped_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped_ == MAP_FAILED) refuse("map");
  const auto mapped_at = reinterpret_cast<std::uintptr_t>(mapped_);
  data_ = static_cast<char*>(mapped_) + (round_up(mapped_at + kHugePage, kHugePage) - mapped_at);
  if (mprotect(data_, whole, PROT_READ | PROT_WRITE) != 0) refuse("use");
  // Advice that a kernel without transparent huge pages refuses: page_report() tells what was got.
  madvise(data_, whole, pages == Pages::huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

void Buffer::map_hugetlb() {
  constexpr int kHuge2MiB = 21 << 26;  // MAP_HUGE_2MB of <linux/mman.h>: the default pool may be of 1 GiB pages
  mapped_bytes_ = round_up(bytes_, kHugePage);
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | kHuge2MiB;
  mapped_ = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, kFlags, -1, 0);
  if (mapped_ == MAP_FAILED) {
    mapped_ = nullptr;
    throw cannot("no hugetlb pages for " + show_bytes(bytes_) + ": " + std::strerror(errno),
                 "reserve them as root (sysctl vm.nr_hugepages=" + std::to_string(mapped_bytes_ / kHugePage) +
                     " or more), or use --pages huge");
  }
  data_ = mapped_;
}

void Buffer::trim() const {
  const std::size_t whole = bytes_ / kHugePage * kHugePage;
  if (whole < bytes_) madvise(static_cast<char*>(data_) + whole, kHugePage, MADV_NOHUGEPAGE);
}

void Buffer::set_policy(const Placement& placement) {
  constexpr unsigned long kBind = 2, kInterleave = 3;  // <linux/mempolicy.h>, absent where only libc is installed
  CpuMask nodes(placement.nodes);                      // the kernel's node masks have the layout of its CPU masks
  const unsigned long mode = placement.kind == Placement::Kind::bind ? kBind : kInterleave;
  if (syscall(SYS_mbind, data_, round_up(bytes_, kHugePage), mode, nodes.set(), 1024UL, 0UL) != 0) {
    const std::string why = std::strerror(errno);
    release();
    throw cannot("cannot place memory on NUMA node " + format_cpu_list(placement.nodes) + ": " + why,
                 "use --placement local; a container may need the capability SYS_NICE");
  }
}

void Buffer::refuse(const char* verb) {
  const std::string why = std::strerror(errno);
  if (mapped_ == MAP_FAILED) mapped_ = nullptr;
  release();
  throw cannot(std::string("cannot ") + verb + " " + show_bytes(bytes_) + " of memory: " + why,
               "ask for smaller arrays");
}

void Buffer::release() noexcept {
  if (mapped_ != nullptr) munmap(mapped_, mapped_bytes_);
  mapped_ = data_ = nullptr;
}

void Buffer::swap(Buffer& other) noexcept {
  std::swap(mapped_, other.mapped_);
  std::swap(mapped_bytes_, other.mapped_bytes_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
}

}  // namespace shakedown
