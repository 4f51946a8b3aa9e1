// What a witness sees of where it is: see README.md.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace shakedown::witness {

struct Seen {
  std::string host;
  std::string kernel;
  std::string boot_id;  // of the running kernel: containers share it, virtual machines have their own
  std::map<std::string, std::uint64_t> namespaces;
  std::string root;  // device and number of "/"
  std::string cgroup;
  std::optional<double> cpu_quota;  // CPUs' worth of time
  std::optional<std::uint64_t> memory_max;
  std::vector<int> mask;
  std::optional<bool> virtual_machine;  // nothing: the processor does not say
  int nice = 0;
  int policy = 0;
  int memory_policy = -1;  // -1: the kernel does not say
  int seccomp = -1;
  int no_new_privileges = -1;
};

/// What holds for this process now. `root` is "" but in tests: a folder with a copy of /proc and /sys.
Seen look(const std::string& root = "");

/// The inode of a link of /proc/PID/ns, such as "mnt:[4026531841]"; nothing where it is none.
std::optional<std::uint64_t> namespace_of(const std::string& link);

/// The record as JSON, in one line.
std::string record(const Seen& seen, const std::string& side);

/// Writes a record into `folder`, which is made where it is not there, under a name that no other has. Throws where
/// that fails.
void leave(const std::string& folder, const std::string& side, const std::string& text);

}  // namespace shakedown::witness
