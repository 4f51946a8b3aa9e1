#include "moved.hpp"

#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "common/emit.hpp"
#include "folder.hpp"

namespace shakedown::storage {
namespace {

constexpr std::uint64_t kSectorBytes = 512;
constexpr int kLoops = 8;  // loop devices on loop devices
constexpr std::size_t kPage = 4096;

std::optional<std::string> text_of(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string real_path(const std::string& path) {
  std::array<char, PATH_MAX> resolved{};
  const char* found = realpath(path.c_str(), resolved.data());
  return found == nullptr ? path : found;
}

/// The folder of a block device in /sys, by the number of what lies on it or, where that is not a device's (btrfs,
/// overlay), by the source of the mount.
std::string device_folder(const std::string& path, const Mount& mount) {
  struct stat about {};
  if (stat(path.c_str(), &about) != 0) return "";
  const auto folder = [](dev_t number) {
    return "/sys/dev/block/" + std::to_string(major(number)) + ':' + std::to_string(minor(number));
  };
  if (major(about.st_dev) != 0) return folder(about.st_dev);
  struct stat device {};
  if (mount.source.starts_with("/dev/") && stat(mount.source.c_str(), &device) == 0 && S_ISBLK(device.st_mode))
    return folder(device.st_rdev);
  return "";
}

Mount mount_below(const std::string& path) {
  return mount_of(text_of("/proc/self/mountinfo").value_or(""), real_path(path));
}

/// The file that a loop device serves; empty for another device.
std::string loop_file(const std::string& folder) {
  std::string text = text_of(folder + "/loop/backing_file").value_or("");
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

/// What every rank wrote of its counters, added up.
std::optional<double> total(const std::vector<std::string>& texts, bool reading) {
  std::vector<Seen> seen;
  for (const auto& text : texts) {
    std::vector<std::string> lines;
    for (std::size_t at = 0, end = 0; at <= text.size(); at = end + 1) {
      end = std::min(text.find('\n', at), text.size());
      lines.push_back(text.substr(at, end - at));
    }
    for (std::size_t i = 2; i < lines.size(); ++i) {
      Seen one{lines[0], "", std::nullopt, std::nullopt};
      // The process's bytes are of all its counters at once: they are counted with the first.
      if (lines[1] != "?") one.process = Moved{i == 2 ? std::strtoull(lines[1].c_str(), nullptr, 10) : 0, 0};
      if (lines[i] != "?") {
        char* rest = nullptr;
        Moved moved;
        moved.read_bytes = std::strtoull(lines[i].c_str(), &rest, 10);
        moved.written_bytes = std::strtoull(rest, &rest, 10);
        one.device = moved;
        one.counter = rest;
        if (one.counter.starts_with(" /proc/")) one.process = std::nullopt;  // NFS counts nothing for the process
      }
      seen.push_back(one);
    }
  }
  return seen.empty() ? std::nullopt : all_moved(seen, reading);
}

}  // namespace

CounterFound counter_of(const std::string& folder) {
  std::string path = folder;
  for (int depth = 0; depth < kLoops; ++depth) {
    const Mount mount = mount_below(path);
    if (mount.type == "nfs" || mount.type == "nfs4")
      return {{"the mount " + mount.point, "/proc/self/mountstats", mount.point}, ""};
    const std::string device = device_folder(path, mount);
    if (device.empty() || access((device + "/stat").c_str(), R_OK) != 0)
      return {{}, mount.type + " at " + mount.point + " has no counter that this program knows"};
    const std::string name = real_path(device).substr(real_path(device).rfind('/') + 1);
    if (name.starts_with("zram") || name.starts_with("ram")) return {{}, name + " lies in memory"};
    const std::string below = loop_file(device);
    if (below.empty()) return {{name, device + "/stat", ""}, ""};
    path = below;
  }
  return {{}, "loop devices lie on loop devices"};
}

std::optional<Moved> read_counter(const Counter& counter) {
  if (counter.path.empty()) return std::nullopt;
  const auto text = text_of(counter.path);
  if (!text) return std::nullopt;
  return counter.mount_point.empty() ? parse_block(*text) : parse_mountstats(*text, counter.mount_point);
}

std::optional<Moved> read_process() {
  const auto text = text_of("/proc/self/io");
  return text ? parse_process(*text) : std::nullopt;
}

std::optional<Moved> parse_block(const std::string& text) {
  std::istringstream words(text);
  std::array<std::uint64_t, 7> numbers{};  // reads, merged, sectors, ms; writes, merged, sectors
  for (auto& number : numbers) {
    if (!(words >> number)) return std::nullopt;
  }
  return Moved{numbers[2] * kSectorBytes, numbers[6] * kSectorBytes};
}

std::optional<Moved> parse_mountstats(const std::string& text, const std::string& mount_point) {
  std::istringstream lines(text);
  bool within = false;
  std::optional<Moved> found;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("device ")) {
      // "device SOURCE mounted on POINT with fstype nfs4 statvers=1.1": of two on one point the later covers the
      // earlier
      within = line.find(" mounted on " + mount_point + " with fstype nfs") != std::string::npos;
      continue;
    }
    std::istringstream words(line);
    std::string label;
    std::array<std::uint64_t, 6> numbers{};  // normal and direct reads and writes, then server's
    if (!within || !(words >> label) || label != "bytes:") continue;
    for (auto& number : numbers) {
      if (!(words >> number)) return std::nullopt;
    }
    found = Moved{numbers[4], numbers[5]};
  }
  return found;
}

std::optional<Moved> parse_process(const std::string& text) {
  std::istringstream lines(text);
  std::optional<std::uint64_t> read;
  std::optional<std::uint64_t> written;
  std::string label;
  std::uint64_t number = 0;
  while (lines >> label >> number) {
    if (label == "read_bytes:") read = number;
    if (label == "write_bytes:") written = number;
  }
  if (!read || !written) return std::nullopt;
  return Moved{*read, *written};
}

std::optional<double> all_moved(const std::vector<Seen>& seen, bool reading) {
  double devices = 0;
  double processes = 0;
  bool processes_known = reading;
  std::set<std::pair<std::string, std::string>> counted;
  for (const Seen& one : seen) {
    if (!one.device) return std::nullopt;
    if (counted.insert({one.host, one.counter}).second)
      devices += static_cast<double>(reading ? one.device->read_bytes : one.device->written_bytes);
    processes_known = processes_known && one.process;
    if (processes_known) processes += static_cast<double>(one.process->read_bytes);
  }
  return processes_known ? std::min(devices, processes) : devices;
}

Watch::Watch(const std::vector<std::string>& folders) {
  for (const auto& folder : folders) found_.push_back(counter_of(folder));
  for (const auto& one : found_) before_.push_back(read_counter(one.counter));
  process_ = read_process();
}

std::optional<double> Watch::moved(Peers& peers, bool reading) const {
  const auto own = read_process();
  std::string text = own && process_ ? std::to_string(own->read_bytes - process_->read_bytes) : "?";
  for (std::size_t i = 0; i < found_.size(); ++i) {
    const auto now = read_counter(found_[i].counter);
    if (!now || !before_[i]) {
      text += "\n?";
      continue;
    }
    text += '\n' + std::to_string(now->read_bytes - before_[i]->read_bytes) + ' ' +
            std::to_string(now->written_bytes - before_[i]->written_bytes) + ' ' + found_[i].counter.path +
            found_[i].counter.mount_point;
  }
  return total(peers.gather(host_name() + '\n' + text), reading);
}

std::string Watch::why_not() const {
  for (const auto& one : found_) {
    if (!one.why_not.empty()) return one.why_not;
  }
  return "the kernel's counter of " + (found_.empty() ? "it" : found_[0].counter.name) + " cannot be read";
}
std::string Watch::name() const {
  std::set<std::string> names;
  for (const auto& one : found_) names.insert(one.counter.name);
  std::string all;
  for (const auto& one : names) all += (all.empty() || one.empty() ? "" : ", ") + one;
  return all;
}

std::optional<double> share_in_memory(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat about {};
  const bool sized = fd >= 0 && fstat(fd, &about) == 0 && about.st_size > 0;
  const auto bytes = static_cast<std::size_t>(sized ? about.st_size : 0);
  void* map =
      sized ? mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;  // NOLINT(performance-no-int-to-ptr)
  if (fd >= 0) close(fd);
  if (map == MAP_FAILED) return std::nullopt;  // NOLINT(performance-no-int-to-ptr)
  std::vector<unsigned char> state((bytes + kPage - 1) / kPage);
  const bool known = mincore(map, bytes, state.data()) == 0;
  munmap(map, bytes);
  if (!known) return std::nullopt;
  const auto there = std::count_if(state.begin(), state.end(), [](unsigned char one) { return (one & 1) != 0; });
  return static_cast<double>(there) / static_cast<double>(state.size());
}

}  // namespace shakedown::storage
