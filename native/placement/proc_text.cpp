#include "proc_text.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <iterator>

namespace shakedown::placement {
namespace {

template <class Take>
void each_line(std::string_view text, Take&& take) {
  while (!text.empty()) {
    const auto end = text.find('\n');
    take(text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

std::optional<std::uint64_t> hexadecimal(std::string_view word) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, 16);
  if (word.empty() || error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return value;
}

/// Where controllers are mounted: of version 1 the one with CPU time, of version 2 all.
struct Mounts {
  std::string cpu;
  std::string unified;
};

Mounts mounts_of(std::string_view text) {
  Mounts found;
  each_line(text, [&](std::string_view line) {
    const auto words = words_of(line);
    if (words.size() < 4) return;
    if (words[2] == "cgroup2" && found.unified.empty()) found.unified = words[1];
    if (words[2] != "cgroup") return;
    const std::string options = ',' + std::string(words[3]) + ',';
    if (options.find(",cpu,") != std::string::npos && found.cpu.empty()) found.cpu = words[1];
  });
  return found;
}

/// The folder of a group and those of all above it, the innermost first.
void add_levels(std::vector<std::string>& levels, const std::string& mount, std::string path) {
  while (!path.empty() && path != "/") {
    levels.push_back(mount + path);
    path.resize(path.find_last_of('/'));
  }
  levels.push_back(mount);
}

}  // namespace

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    const auto begin = text.find_first_not_of(" \t\n");
    if (begin == std::string_view::npos) return words;
    text.remove_prefix(begin);
    const auto length = std::min(text.find_first_of(" \t\n"), text.size());
    words.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
}

std::optional<std::uint64_t> number_of(std::string_view word) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (word.empty() || error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return value;
}

std::string read_file(const std::string& path) {
  // Not a stream's buffer: that throws where a process ends between open and read.
  std::string text;
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  std::array<char, 4096> part{};
  for (;;) {
    const ssize_t got = read(file, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  close(file);
  return text;
}

std::optional<Schedstat> parse_schedstat(std::string_view text) {
  const auto words = words_of(text);
  if (words.size() < 3) return std::nullopt;
  const auto run = number_of(words[0]);
  const auto wait = number_of(words[1]);
  const auto slices = number_of(words[2]);
  if (!run || !wait || !slices) return std::nullopt;
  return Schedstat{*run, *wait, *slices};
}

std::optional<Stat> parse_stat(std::string_view text) {
  const auto open = text.find('(');
  const auto close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::nullopt;
  const auto words = words_of(text.substr(close + 1));  // from field 3 on
  constexpr std::size_t kStart = 22 - 3;
  constexpr std::size_t kCpu = 39 - 3;
  if (words.size() <= kCpu) return std::nullopt;
  const auto start = number_of(words[kStart]);
  const auto cpu = number_of(words[kCpu]);
  if (!start || !cpu || *cpu > 1U << 20U) return std::nullopt;
  return Stat{std::string(text.substr(open + 1, close - open - 1)), words[0].front(), *start, static_cast<int>(*cpu)};
}

std::optional<std::uint64_t> parse_migrations(std::string_view text) {
  std::optional<std::uint64_t> found;
  each_line(text, [&](std::string_view line) {
    const auto words = words_of(line);
    if (words.size() == 3 && words[0] == "se.nr_migrations" && words[1] == ":") found = number_of(words[2]);
  });
  return found;
}

std::vector<Mapping> parse_maps(std::string_view text) {
  std::vector<Mapping> maps;
  each_line(text, [&](std::string_view line) {
    const auto words = words_of(line);
    if (words.size() < 5 || words[1].size() < 4) return;
    const auto dash = words[0].find('-');
    if (dash == std::string_view::npos) return;
    const auto begin = hexadecimal(words[0].substr(0, dash));
    const auto end = hexadecimal(words[0].substr(dash + 1));
    const auto offset = hexadecimal(words[2]);
    if (!begin || !end || !offset || *end <= *begin) return;
    const auto slash = line.find('/');
    const auto path = slash == std::string_view::npos ? std::string_view() : line.substr(slash);
    maps.push_back({*begin, *end, *offset, words[1][1] == 'w', words[1][2] == 'x', std::string(path)});
  });
  return maps;
}

std::vector<std::uint64_t> page_addresses(const std::vector<Mapping>& maps, std::size_t most,
                                          std::uint64_t page_bytes) {
  std::uint64_t pages = 0;
  for (const auto& map : maps) pages += map.writable ? (map.end - map.begin) / page_bytes : 0;
  std::vector<std::uint64_t> addresses;
  if (pages == 0 || most == 0) return addresses;
  const std::uint64_t step = std::max<std::uint64_t>(1, (pages + most - 1) / most);
  addresses.reserve(pages / step + 1);
  std::uint64_t skip = step / 2;
  for (const auto& map : maps) {
    if (!map.writable) continue;
    const std::uint64_t count = (map.end - map.begin) / page_bytes;
    for (; skip < count; skip += step) addresses.push_back(map.begin + skip * page_bytes);
    skip -= count;
  }
  return addresses;
}

std::vector<std::string> cpu_groups(std::string_view groups, std::string_view mounts) {
  const Mounts where = mounts_of(mounts);
  std::vector<std::string> levels;
  each_line(groups, [&](std::string_view line) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) return;
    const std::string controllers = ',' + std::string(line.substr(first + 1, second - first - 1)) + ',';
    const std::string path(line.substr(second + 1));
    if (path.empty() || path.front() != '/') return;
    if (controllers.find(",cpu,") != std::string::npos && !where.cpu.empty()) add_levels(levels, where.cpu, path);
    if (controllers == ",," && !where.unified.empty()) add_levels(levels, where.unified, path);
  });
  return levels;
}

std::optional<double> parse_cpu_max(std::string_view text) {
  constexpr std::uint64_t kPeriod = 100'000;  // us, the kernel's own
  const auto words = words_of(text);
  if (words.empty()) return std::nullopt;
  const std::uint64_t quota = number_of(words[0]).value_or(0);  // "max": none
  const std::uint64_t period = words.size() < 2 ? kPeriod : number_of(words[1]).value_or(0);
  if (quota == 0 || period == 0) return std::nullopt;
  return static_cast<double>(quota) / static_cast<double>(period);
}

std::optional<std::uint64_t> parse_named(std::string_view text, std::string_view name) {
  std::optional<std::uint64_t> found;
  each_line(text, [&](std::string_view line) {
    const auto words = words_of(line);
    if (words.size() == 2 && words[0] == name) found = number_of(words[1]);
  });
  return found;
}

}  // namespace shakedown::placement
