// What the kernel's texts about a process say: pure, so that recorded ones are read as well.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shakedown::placement {

/// The words of a text between spaces and ends of lines.
std::vector<std::string_view> words_of(std::string_view text);

/// A whole number that is all of `word`; nothing where it is none.
std::optional<std::uint64_t> number_of(std::string_view word);

/// The file as it is, whole; empty where it cannot be read.
std::string read_file(const std::string& path);

/// /proc/PID/task/TID/schedstat.
struct Schedstat {
  std::uint64_t run_ns = 0;
  std::uint64_t wait_ns = 0;  // ready to run, and another had the CPU
  std::uint64_t slices = 0;
};
std::optional<Schedstat> parse_schedstat(std::string_view text);

/// Of /proc/PID/task/TID/stat, whose second field is a name that may hold anything.
struct Stat {
  std::string name;
  char state = '?';
  std::uint64_t start_ticks = 0;  // field 22: with the id it names a thread for good
  int cpu = -1;                   // field 39: where it ran last
};
std::optional<Stat> parse_stat(std::string_view text);

/// se.nr_migrations of /proc/PID/task/TID/sched, which not every kernel has.
std::optional<std::uint64_t> parse_migrations(std::string_view text);

/// A line of /proc/PID/maps.
struct Mapping {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t offset = 0;
  bool writable = false;
  bool code = false;
  std::string path;
};
std::vector<Mapping> parse_maps(std::string_view text);

/// Addresses of at most `most` pages, evenly over what is writable.
std::vector<std::uint64_t> page_addresses(const std::vector<Mapping>& maps, std::size_t most, std::uint64_t page_bytes);

/// Folder and group of each level of the control group that limits CPU time, the innermost first: of `groups` (what
/// /proc/PID/cgroup says) and `mounts` (/proc/self/mounts), for both versions.
std::vector<std::string> cpu_groups(std::string_view groups, std::string_view mounts);

/// The CPUs' worth of time of a text of cpu.max ("200000 100000"); nothing where there is no limit.
std::optional<double> parse_cpu_max(std::string_view text);

/// A value by its name in lines of "name value" (cpu.stat).
std::optional<std::uint64_t> parse_named(std::string_view text, std::string_view name);

}  // namespace shakedown::placement
