// What is said of a case and of the library's ways; who fails, and who goes on.
#include "job.hpp"

#include <algorithm>
#include <cstdio>

#include "common/memory.hpp"

namespace shakedown::gpu_collectives {

void notice(Emitter& emitter, const char* code, const std::string& text, const std::string& advice) {
  emitter.notice(code, text, advice);
  std::fprintf(stderr, "gpu_collectives: %s\n  next: %s\n", text.c_str(), advice.c_str());
}

std::string words_of(const Shape& shape) {
  return std::string(name_of(shape.operation)) + " of " + show_bytes(whole_bytes(shape)) + " on " +
         std::to_string(shape.ranks) + (shape.ranks == 1 ? " GPU" : " GPUs") + (shape.in_place ? ", in place" : "");
}

Object params_of(const Job& job, const Shape& shape, std::size_t bytes) {
  Object params;
  params.add("operation", name_of(shape.operation)).add("bytes", bytes).add("gpus", shape.ranks);
  params.add("in_place", shape.in_place).add("type", kTypes[static_cast<std::size_t>(shape.type)]);
  params.add("device", job.ranks.rank(job.seats.front()).device.info().name).add("library", job.nccl.title);
  return params;
}

void emit(Job& job, Case series, const Shape& shape, const Measured& measured) {
  series.seconds = measured.seconds;
  series.spans = measured.spans;
  const double bytes = static_cast<double>(whole_bytes(shape)) * static_cast<double>(measured.calls);
  series.work.add("bytes", bytes);
  if (shape.ranks > 1) series.work.add("bus_bytes", bytes * bus_factor(shape.operation, shape.ranks));
  series.work.add("op", measured.calls);
  const Residual residual{measured.wrong.count, 0, "wrong elements"};
  job.emitter.series(series, job.options.verify ? &residual : nullptr);
  if (measured.wrong.seat < 0) return;
  char bits[80];
  std::snprintf(bits, sizeof bits, "%#llx where %#llx was due (bits %#llx)", measured.wrong.found,
                measured.wrong.expected, measured.wrong.found ^ measured.wrong.expected);
  notice(
      job.emitter, "element-wrong",
      words_of(shape) + ": " + job.ranks.name_of(measured.wrong.seat) + " has a wrong element " +
          std::to_string(measured.wrong.element) + ", " + bits + ", the first of " +
          std::to_string(static_cast<long long>(measured.wrong.count)),
      "run it with NCCL_NVLS_ENABLE=0 and with NCCL_ALGO=Ring: what is right then is a fault of the switch or of that "
      "algorithm; look for NVLink and memory errors (nvidia-smi nvlink -e, nvidia-smi -q -d ECC)");
}

// ------------------------------------------------------------------------------------------------ what the log says

namespace {

/// The setting that forbids what could have been; empty where the environment sets none.
std::string setting_of(const NcclLog& log, const std::vector<std::string>& names) {
  for (const auto& setting : log.settings) {
    for (const auto& name : names) {
      if (setting.starts_with(name + "=")) return setting;
    }
  }
  return "";
}

}  // namespace

void tell_fallback(Job& job) {
  std::string pairs;
  int count = 0;
  std::string kind;
  for (const auto& [ranks, path] : job.log.paths) {
    if (path.starts_with("P2P")) continue;
    kind = path.substr(0, path.find('/'));
    if (++count <= 3)
      pairs += (pairs.empty() ? "" : ", ") + std::to_string(ranks.first) + " to " + std::to_string(ranks.second);
  }
  const auto& seats = job.seats;
  const bool reach = seats.size() > 1 && job.ranks.rank(seats[0]).device.reach(job.ranks.rank(seats[1]).device);
  const bool nvlink = job.options.links == "switch" || job.options.links == "nvlink";
  if (count == 0 || job.fallback_told || !(reach || nvlink)) return;
  job.fallback_told = true;
  const auto setting =
      setting_of(job.log, {"NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL", "NCCL_SHM_DISABLE", "NCCL_IGNORE_DISABLED_P2P"});
  const std::string through =
      kind == "SHM" ? "through shared memory of the host (SHM)" : "through the network (" + kind + ")";
  notice(job.emitter, "gpu-collective-fallback",
         "ranks " + pairs + (count > 3 ? " and others" : "") + " are joined " + through + " although " +
             (nvlink ? "NVLink is there" : "their GPUs can reach each other's memory"),
         setting.empty()
             ? "look at `nvidia-smi topo -p2p r`; in a container or virtual machine an IOMMU, PCIe access control "
               "services (ACS) or a hidden topology can be the cause"
             : "the environment sets " + setting + ": take it away");
}

void tell_no_switch(Job& job, const Shape& shape) {
  constexpr std::size_t kLarge = std::size_t{16} << 20;
  const bool reduces = shape.operation == Operation::all_reduce && shape.bytes >= kLarge && shape.ranks > 2;
  if (!reduces || job.options.links != "switch" || job.log.algorithm.empty() || job.log.algorithm.starts_with("nvls"))
    return;
  const auto setting = setting_of(job.log, {"NCCL_NVLS_ENABLE", "NCCL_ALGO"});
  job.emitter.notice("gpu-collective-no-switch",
                     "an all-reduce went by " + job.log.algorithm + " although the NVLink switches can reduce" +
                         (job.log.nvls_refused ? ": NCCL says that NVLS multicast is not available" : ""),
                     setting.empty()
                         ? "look for NVLS in NCCL_DEBUG=INFO; the fabric manager must run, and the driver be of "
                           "CUDA 12.1 or newer"
                         : "the environment sets " + setting + ": take it away");
}

void read_log(Job& job) {
  job.log.algorithm.clear();
  job.log.protocol.clear();
  read_nccl_log(job.log_file.more(), job.log);
}

void tell_paths(Job& job) {
  Object paths;
  for (const auto& [ranks, path] : job.log.paths)
    paths.add(std::to_string(ranks.first) + " to " + std::to_string(ranks.second), path);
  Object facts;
  facts.add("paths", paths).add("library_settings", job.log.settings);
  if (job.log.channels >= 0) facts.add("channels", job.log.channels);
  if (job.log.nvls_channels >= 0) facts.add("nvls_channels", job.log.nvls_channels);
  job.emitter.facts(facts);
}

// ----------------------------------------------------------------------------------------------- who fails, and who
// goes on

bool go_on(Job& job, const Trouble& trouble) {
  const std::string what = job.at;
  job.whole = false;
  const std::string code = trouble.hung ? "gpu-hung" : gpu::word(trouble.state);
  read_log(job);
  std::string warned;
  for (const auto& warning : job.log.warnings) {
    if (trouble.text.find(warning) == std::string::npos) warned += "; NCCL: " + warning;
  }
  notice(job.emitter, code.c_str(), what + ": " + trouble.text + warned,
         trouble.hung             ? "which rank it is follows"
         : trouble.advice.empty() ? "look for an Xid in dmesg; drain the node where it comes again"
                                  : trouble.advice);
  const Cause cause = find_cause(job.ranks, job.bench, job.seats, trouble, job.options.try_s);
  if (trouble.hung) {
    const bool named = !trouble.seats.empty();
    notice(job.emitter, "gpu-hung",
           what + " hung: " + (named ? job.ranks.names_of(trouble.seats) + " is behind all others" : cause.text),
           "look for an Xid in dmesg and for NVLink errors (nvidia-smi nvlink -e) of what is named; drain the node");
  }
  for (auto* const list : {&job.left, &job.seats}) {
    std::erase_if(*list, [&](int seat) {
      return std::find(cause.leave_out.begin(), cause.leave_out.end(), seat) != cause.leave_out.end();
    });
  }
  if (cause.leave_out.empty() && ++job.unexplained > 1) job.left.clear();
  if (job.seats.size() < 2 || job.left.empty()) return false;
  return !job.ranks.connect({job.seats});
}

bool fits(Job& job, const Shape& shape) {
  if (count_of(shape) == 0) return false;
  if (whole_bytes(shape) <= job.room) return true;
  job.emitter.notice("sizes-left-out", words_of(shape) + ": two buffers of it do not fit each GPU",
                     "name smaller --sizes");
  return false;
}

std::vector<Shape> shapes_of(const Job& job, int ranks) {
  std::vector<Shape> shapes;
  for (const Operation operation : job.options.operations) {
    for (const std::size_t bytes : job.options.sizes) {
      for (const bool in_place : job.options.places) {
        if (!in_place || can_be_in_place(operation))
          shapes.push_back({operation, job.options.type, bytes, ranks, in_place});
      }
    }
  }
  return shapes;
}

}  // namespace shakedown::gpu_collectives
