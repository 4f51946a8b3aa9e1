#include "observer.hpp"

#include <dirent.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "common/affinity.hpp"

namespace shakedown::placement {
namespace {

constexpr int kDeepest = 16;              // a script that starts a script
constexpr std::size_t kMostPages = 1024;  // asked of the kernel at a time
constexpr std::size_t kMostCode = 64;
constexpr std::uint64_t kSeldom = 8;  // masks and the kernel's count of migrations: the dearest texts

std::vector<pid_t> numbers_in(const std::string& folder) {
  std::vector<pid_t> found;
  DIR* const open = opendir(folder.c_str());
  if (open == nullptr) return found;
  while (const dirent* entry = readdir(open)) {
    if (const auto number = number_of(entry->d_name)) found.push_back(static_cast<pid_t>(*number));
  }
  closedir(open);
  std::sort(found.begin(), found.end());
  return found;
}

std::string folder_of(pid_t pid, pid_t tid) {
  return "/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + '/';
}

std::vector<int> mask_of(pid_t tid) {
  CpuMask mask;
  if (sched_getaffinity(tid, CpuMask::bytes(), mask.set()) != 0) return {};
  return mask.cpus();
}

}  // namespace

void Observer::sample(bool whole) {
  whole_ = whole || samples_ % kSeldom == 0;
  ++samples_;
  sample_process(child_, 0);
}

void Observer::sample_process(pid_t pid, int depth) {
  for (const pid_t tid : numbers_in("/proc/" + std::to_string(pid) + "/task")) {
    sample_thread(pid, tid);
    if (depth == kDeepest) continue;
    const std::string children = read_file(folder_of(pid, tid) + "children");
    for (const auto word : words_of(children)) {
      if (const auto child = number_of(word)) sample_process(static_cast<pid_t>(*child), depth + 1);
    }
  }
}

void Observer::sample_thread(pid_t pid, pid_t tid) {
  const std::string folder = folder_of(pid, tid);
  const auto stat = parse_stat(read_file(folder + "stat"));
  if (!stat) return;  // it has ended meanwhile
  const Key key{pid, tid, stat->start_ticks};
  auto place = threads_.find(key);
  if (place == threads_.end()) {
    if (threads_.size() == most_) {
      ++left_out_;
      return;
    }
    place = threads_.emplace(key, ThreadSeen()).first;
    place->second.pid = pid;
    place->second.tid = tid;
  }
  ThreadSeen& seen = place->second;
  seen.name = stat->name;
  if (const auto times = parse_schedstat(read_file(folder + "schedstat"))) {
    seen.times = *times;
    seen.timed = true;
  }
  if (whole_ || seen.mask.empty()) {
    if (auto mask = mask_of(tid); !mask.empty()) seen.mask = std::move(mask);
    if (const auto count = parse_migrations(read_file(folder + "sched"))) {
      if (!seen.migrations) seen.migrations_before = *count;  // fork and exec choose a CPU, too
      seen.migrations = *count - seen.migrations_before;
    }
  }
  if (seen.cpu >= 0 && seen.cpu != stat->cpu) ++seen.moves;
  seen.cpu = stat->cpu;
  if (stat->state == 'R' || seen.cpus.empty()) ++seen.cpus[stat->cpu];
}

pid_t Observer::busiest() const {
  std::map<pid_t, std::uint64_t> run;
  for (const auto& [key, seen] : threads_) run[seen.pid] += seen.times.run_ns + seen.times.wait_ns;
  pid_t found = child_;
  std::uint64_t most = 0;
  for (const auto& [pid, time] : run) {
    if (time <= most || access(("/proc/" + std::to_string(pid) + "/maps").c_str(), R_OK) != 0) continue;
    found = pid;
    most = time;
  }
  return found;
}

void Observer::look_at_memory() {
  const pid_t pid = busiest();
  const auto maps = parse_maps(read_file("/proc/" + std::to_string(pid) + "/maps"));
  if (maps.empty()) return;
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const auto pages = page_addresses(maps, kMostPages, page);
  static_assert(sizeof pages[0] == sizeof(void*), "the kernel takes addresses of that process");
  std::vector<int> nodes(pages.size(), -ENOENT);
  PagesSeen seen;
  seen.asked = pages.size();
  if (!pages.empty() && syscall(SYS_move_pages, pid, pages.size(), pages.data(), nullptr, nodes.data(), 0) < 0) {
    seen.absent = std::string("move_pages: ") + std::strerror(errno);
  }
  for (const int node : nodes) {
    if (node >= 0) ++seen.nodes[node];  // below zero: not there yet, or not in memory
  }
  pages_ = std::move(seen);
  std::vector<CodeSeen> code;
  std::set<std::string> known;
  for (const auto& map : maps) {
    if (!map.code || map.path.empty() || code.size() == kMostCode || !known.insert(map.path).second) continue;
    code.push_back({map.path, map.begin, map.offset});
  }
  code_ = std::move(code);
}

void Observer::look_at_groups() {
  GroupSeen seen;
  const std::string mounts = read_file("/proc/self/mounts");
  for (const auto& level : cpu_groups(read_file("/proc/" + std::to_string(child_) + "/cgroup"), mounts)) {
    auto quota = parse_cpu_max(read_file(level + "/cpu.max"));
    if (!quota) {
      const std::string period = read_line(level + "/cpu.cfs_period_us");
      std::string both = read_line(level + "/cpu.cfs_quota_us");
      both.append(1, ' ').append(period);
      quota = period.empty() ? quota : parse_cpu_max(both);
    }
    if (!quota) continue;
    const std::string stat = read_file(level + "/cpu.stat");
    auto throttled = parse_named(stat, "throttled_usec");
    if (!throttled) {
      throttled = parse_named(stat, "throttled_time");  // version 1: in nanoseconds
      if (throttled) *throttled /= 1000;
    }
    if (!seen.quota_cpus || *quota < *seen.quota_cpus) seen = {quota, throttled};
  }
  group_ = seen;
}

std::vector<ThreadSeen> Observer::threads() const {
  std::vector<ThreadSeen> found;
  found.reserve(threads_.size());
  for (const auto& [key, seen] : threads_) found.push_back(seen);
  return found;
}

}  // namespace shakedown::placement
