#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

#include "common/affinity.hpp"
#include "common/error.hpp"
#include "common/json.hpp"
#include "placement/proc_text.hpp"
#include "witness.hpp"

namespace shakedown::witness {
namespace {

constexpr int kSchema = 1;
constexpr std::array kNamespaces = {"cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts"};
constexpr int kMostNames = 1 << 16;  // tried for a record

std::map<std::string, std::uint64_t> namespaces(const std::string& root) {
  std::map<std::string, std::uint64_t> found;
  for (const std::string name : kNamespaces) {
    std::array<char, PATH_MAX> link{};
    std::string path = root;
    path.append("/proc/self/ns/").append(name);
    const auto length = readlink(path.c_str(), link.data(), link.size() - 1);
    if (length <= 0) continue;  // an older kernel, or /proc is not mounted
    if (const auto inode = namespace_of(std::string(link.data(), static_cast<std::size_t>(length)))) {
      found[name] = *inode;
    }
  }
  return found;
}

/// The tightest limits of the control group and of those above it.
void limits(Seen& seen, const std::string& root) {
  const std::string mounts = placement::read_file(root + "/proc/self/mounts");
  for (const auto& folder : placement::cpu_groups(seen.cgroup, mounts)) {
    if (const auto quota = placement::parse_cpu_max(placement::read_file(root + folder + "/cpu.max"))) {
      seen.cpu_quota = std::min(*quota, seen.cpu_quota.value_or(*quota));
    }
    if (const auto most = placement::number_of(read_line(root + folder + "/memory.max"))) {
      seen.memory_max = std::min(*most, seen.memory_max.value_or(*most));
    }
  }
}

/// Whether the first processor has the flag that hypervisors of x86 set; nothing on processors without such flags.
std::optional<bool> virtual_machine(const std::string& cpuinfo) {
  const auto begin = cpuinfo.find("\nflags\t");
  if (begin == std::string::npos) return std::nullopt;
  const auto end = cpuinfo.find('\n', begin + 1);
  const std::string line = cpuinfo.substr(begin, end - begin) + ' ';
  return line.find(" hypervisor ") != std::string::npos;
}

int of_status(const std::string& status, const std::string& name) {
  const auto begin = status.find('\n' + name + ":\t");
  if (begin == std::string::npos) return -1;
  const auto from = begin + name.size() + 3;
  const auto number = placement::number_of(std::string_view(status).substr(from, status.find('\n', from) - from));
  return number ? static_cast<int>(*number) : -1;
}

int memory_policy() {
  int mode = -1;
  return syscall(SYS_get_mempolicy, &mode, nullptr, 0UL, nullptr, 0UL) == 0 ? mode : -1;
}

}  // namespace

std::optional<std::uint64_t> namespace_of(const std::string& link) {
  const auto begin = link.find(":[");
  if (begin == std::string::npos || link.back() != ']') return std::nullopt;
  return placement::number_of(std::string_view(link).substr(begin + 2, link.size() - begin - 3));
}

Seen look(const std::string& root) {
  Seen seen;
  utsname system{};
  if (uname(&system) == 0) {
    seen.host = system.nodename;
    seen.kernel = system.release;
  }
  seen.boot_id = read_line(root + "/proc/sys/kernel/random/boot_id");
  seen.namespaces = namespaces(root);
  struct stat top {};
  if (stat((root + "/").c_str(), &top) == 0) {
    seen.root = std::to_string(top.st_dev) + ":" + std::to_string(top.st_ino);
  }
  seen.cgroup = placement::read_file(root + "/proc/self/cgroup");
  limits(seen, root);
  seen.mask = allowed_cpus();
  std::sort(seen.mask.begin(), seen.mask.end());
  seen.virtual_machine = virtual_machine(placement::read_file(root + "/proc/cpuinfo"));
  seen.nice = getpriority(PRIO_PROCESS, 0);
  seen.policy = sched_getscheduler(0);
  seen.memory_policy = memory_policy();
  const std::string status = placement::read_file(root + "/proc/self/status");
  seen.seccomp = of_status(status, "Seccomp");
  seen.no_new_privileges = of_status(status, "NoNewPrivs");
  return seen;
}

std::string record(const Seen& seen, const std::string& side) {
  Object inodes;
  for (const auto& [name, inode] : seen.namespaces) inodes.add(name, inode);
  Object object;
  object.add("schema", kSchema).add("side", side).add("host", seen.host).add("kernel", seen.kernel);
  object.add("boot_id", seen.boot_id).add("pid", getpid()).add("uid", std::int64_t{getuid()});
  object.add("namespaces", inodes).add("root", seen.root).add("cgroup", seen.cgroup);
  if (seen.cpu_quota) object.add("cpu_quota", *seen.cpu_quota);
  if (seen.memory_max) object.add("memory_max_bytes", *seen.memory_max);
  object.add("mask", seen.mask);
  if (seen.virtual_machine) object.add("virtual", *seen.virtual_machine);
  object.add("nice", seen.nice).add("policy", seen.policy).add("memory_policy", seen.memory_policy);
  object.add("seccomp", seen.seccomp).add("no_new_privileges", seen.no_new_privileges);
  return to_json(object) + '\n';
}

void leave(const std::string& folder, const std::string& side, const std::string& text) {
  const std::string hint = "the run's folder must be seen here under the path that it has outside: bind it";
  if (mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) throw cannot(folder + ": " + std::strerror(errno), hint);
  // process numbers begin again in each namespace, so that another rank of this host may have the same one
  const std::string stem = folder + "/" + side + "-" + std::to_string(getpid()) + "-";
  int file = -1;
  for (int number = 0; file < 0 && number < kMostNames; ++number) {
    file = open((stem + std::to_string(number) + ".json").c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0 && errno != EEXIST) break;
  }
  const bool written = file >= 0 && write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const std::string why = std::strerror(errno);
  if (file >= 0) close(file);
  if (!written) throw cannot(stem + "N.json: " + why, hint);
}

}  // namespace shakedown::witness
