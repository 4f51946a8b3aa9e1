#include "record.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "common/affinity.hpp"
#include "common/emit.hpp"
#include "common/json.hpp"

namespace shakedown::placement {
namespace {

constexpr int kSchema = 1;
constexpr int kMostCaches = 8;  // of a CPU

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

Object counts(const std::map<int, std::uint64_t>& counted) {
  Object object;
  for (const auto& [number, count] : counted) object.add(std::to_string(number), count);
  return object;
}

Object of_thread(const ThreadSeen& seen) {
  Object object;
  object.add("pid", seen.pid).add("tid", seen.tid).add("name", seen.name).add("mask", seen.mask);
  object.add("cpus", counts(seen.cpus)).add("moves", seen.moves);
  if (seen.migrations) object.add("migrations", *seen.migrations);
  if (seen.timed) {
    object.add("run_s", 1e-9 * static_cast<double>(seen.times.run_ns));
    object.add("wait_s", 1e-9 * static_cast<double>(seen.times.wait_ns));
    object.add("slices", seen.times.slices);
  }
  return object;
}

Object of_memory(const PagesSeen& seen) {
  Object object;
  object.add("nodes", counts(seen.nodes)).add("asked", seen.asked);
  if (!seen.absent.empty()) object.add("absent", seen.absent);
  return object;
}

/// A CPU with its core, socket, node and the lowest CPU that shares its instruction cache of level 1 (itself where the
/// kernel does not say).
std::vector<Json> of_places(const std::vector<CpuPlace>& places) {
  std::vector<Json> rows;
  rows.reserve(places.size());
  for (const auto& place : places) {
    int fetches = place.cpu;
    for (int index = 0; index < kMostCaches; ++index) {
      const std::string cache =
          "/sys/devices/system/cpu/cpu" + std::to_string(place.cpu) + "/cache/index" + std::to_string(index);
      if (read_line(cache + "/type") != "Instruction") continue;
      const std::string shared = read_line(cache + "/shared_cpu_list");
      if (const auto first = number_of(std::string_view(shared).substr(0, shared.find_first_of(",-")))) {
        fetches = static_cast<int>(*first);
      }
    }
    rows.push_back({to_json(std::vector<int>{place.cpu, place.core, place.socket, place.node, fetches})});
  }
  return rows;
}

/// A field of /proc/cpuinfo, of its first processor.
std::string of_processor(const std::string& cpuinfo, const std::string& name) {
  const auto begin = cpuinfo.find(name + "\t");
  if (begin == std::string::npos) return "";
  const auto colon = cpuinfo.find(": ", begin);
  const auto end = cpuinfo.find('\n', begin);
  return colon == std::string::npos || colon > end ? "" : cpuinfo.substr(colon + 2, end - colon - 2);
}

Object of_usage(const rusage& usage) {
  Object object;
  object.add("user_s", seconds(usage.ru_utime)).add("system_s", seconds(usage.ru_stime));
  object.add("voluntary", static_cast<std::int64_t>(usage.ru_nvcsw));
  object.add("involuntary", static_cast<std::int64_t>(usage.ru_nivcsw));
  object.add("max_rss_bytes", std::int64_t{usage.ru_maxrss} * 1024);
  return object;
}

Object of(const Record& record, const Observer& seen) {
  Object object;
  object.add("schema", kSchema).add("rank", record.rank.rank).add("size", record.rank.size);
  object.add("local_rank", record.rank.local_rank).add("launcher", record.rank.launcher);
  object.add("host", host_name()).add("boot_id", read_line("/proc/sys/kernel/random/boot_id"));
  object.add("argv", record.argv).add("arrange", record.arrange);
  object.add("launched_mask", record.launched_mask).add("reachable", record.reachable);
  object.add("arranged", record.arranged);
  const std::string cpuinfo = read_file("/proc/cpuinfo");
  object.add("places", of_places(record.places)).add("vendor", of_processor(cpuinfo, "vendor_id"));
  object.add("family", of_processor(cpuinfo, "cpu family"));
  object.add("begin_unix_ns", record.begin_unix_ns).add("wall_s", record.wall_s);
  object.add("finished", record.finished).add("exit_code", record.exit_code).add("signal", record.signal);
  object.add("samples", seen.samples()).add("period_s", record.period_s).add("own_cpu_s", record.own_cpu_s);
  if (record.pressure_us) object.add("pressure_s", 1e-6 * static_cast<double>(*record.pressure_us));
  if (record.finished) object.add("usage", of_usage(record.usage));
  std::vector<Object> threads;
  for (const auto& thread : seen.threads()) threads.push_back(of_thread(thread));
  object.add("threads", threads).add("threads_left_out", seen.left_out());
  object.add("pages", of_memory(seen.pages()));
  std::vector<Object> code;
  for (const auto& one : seen.code()) {
    Object map;
    map.add("path", one.path).add("address", one.address).add("offset", one.offset);
    code.push_back(map);
  }
  object.add("code", code);
  if (seen.group().quota_cpus) object.add("quota_cpus", *seen.group().quota_cpus);
  if (seen.group().throttled_us) object.add("throttled_s", 1e-6 * static_cast<double>(*seen.group().throttled_us));
  return object;
}

}  // namespace

std::optional<std::uint64_t> pressure_us() {
  const std::string line = read_line("/proc/pressure/cpu");
  const auto total = line.find("total=");
  return total == std::string::npos ? std::nullopt : number_of(std::string_view(line).substr(total + 6));
}

void write_record(const std::string& path, const Record& record, const Observer& seen) {
  const std::string text = to_json(of(record, seen)) + '\n';
  const std::string temporary = path + ".new";
  std::FILE* const file = std::fopen(temporary.c_str(), "we");
  const bool written = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = file != nullptr && std::fclose(file) == 0;
  if (written && closed && std::rename(temporary.c_str(), path.c_str()) == 0) return;
  const std::string why = std::strerror(errno);
  static_cast<void>(std::remove(temporary.c_str()));
  throw cannot(path + ": " + why, "give a folder that every host of the job sees and may write");
}

}  // namespace shakedown::placement
