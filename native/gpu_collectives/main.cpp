// Collectives between GPUs: parse -> open -> load the library -> connect -> each operation and size -> exit code.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <set>

#include "common/memory.hpp"
#include "gpu_collectives.hpp"

namespace shakedown::gpu_collectives {
namespace {

/// The job: what is measured on, and who takes part.
struct Job {
  Emitter& emitter;
  const Options& options;
  const Nccl& nccl;
  LogFile& log_file;
  Ranks& ranks;
  Bench& bench;
  std::string& at;              // what is being done
  std::size_t room = 0;         // bytes of each buffer
  std::vector<int> left = {};   // that have not failed
  std::vector<int> seats = {};  // those of them that take part
  bool whole = true;            // every case came to its end
  int unexplained = 0;          // hangs that no rank was named for
  bool fallback_told = false;
  NcclLog log = {};
};

/// What a notice of the first lines of an Error says and advises.
void notice(Emitter& emitter, const char* code, const std::string& text, const std::string& advice) {
  emitter.notice(code, text, advice);
  std::fprintf(stderr, "gpu_collectives: %s\n  next: %s\n", text.c_str(), advice.c_str());
}

std::string words_of(const Shape& shape) {
  return std::string(name_of(shape.operation)) + " of " + show_bytes(whole_bytes(shape)) + " on " +
         std::to_string(shape.ranks) + (shape.ranks == 1 ? " GPU" : " GPUs") + (shape.in_place ? ", in place" : "");
}

Object params_of(const Job& job, const Shape& shape) {
  Object params;
  params.add("operation", name_of(shape.operation)).add("bytes", whole_bytes(shape)).add("gpus", shape.ranks);
  params.add("in_place", shape.in_place).add("type", kTypes[static_cast<std::size_t>(shape.type)]);
  params.add("device", job.ranks.rank(job.seats.front()).device.info().name).add("library", job.nccl.title);
  if (!job.log.algorithm.empty()) params.add("algorithm", job.log.algorithm);
  if (const auto kind = kinds_of(job.log); !kind.empty()) params.add("transport", kind);
  return params;
}

void emit(Job& job, const Shape& shape, const Measured& measured) {
  Case series;
  series.kernel = "collective";
  series.params = params_of(job, shape);
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

/// The setting that forbids what could have been; empty where the environment sets none.
std::string setting_of(const NcclLog& log, const std::vector<std::string>& names) {
  for (const auto& setting : log.settings) {
    for (const auto& name : names) {
      if (setting.starts_with(name + "=")) return setting;
    }
  }
  return "";
}

/// Ranks of one node that are joined by the host's memory or a network, where their GPUs can reach each other.
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

/// Switches that reduce are there, and the library does without.
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

/// What joins the ranks, once it is known.
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

/// Tells what failed, leaves its cause out and connects the others. False: they are too few to go on.
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

/// Whether a case can be: what is too small for a block each, or too large for a GPU, is left out.
bool fits(Job& job, const Shape& shape) {
  if (count_of(shape) == 0) return false;
  if (whole_bytes(shape) <= job.room) return true;
  job.emitter.notice("sizes-left-out", words_of(shape) + ": two buffers of it do not fit each GPU",
                     "name smaller --sizes");
  return false;
}

std::vector<Shape> plan(const Job& job, int ranks) {
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

/// All cases of so many GPUs, on those that have not failed.
void measure_group(Job& job, int asked) {
  const auto most = static_cast<int>(job.left.size());
  job.seats.assign(job.left.begin(), job.left.begin() + (asked == 0 ? most : std::min(asked, most)));
  job.at = "making communicators of " + std::to_string(job.seats.size()) + " GPUs";
  if (auto trouble = job.ranks.connect({job.seats})) {
    if (!go_on(job, *trouble)) return;
  }
  read_log(job);
  bool told = false;
  std::set<std::string> done;  // sizes that are rounded to the same are one case
  for (Shape shape : plan(job, 0)) {
    shape.ranks = static_cast<int>(job.seats.size());
    if (!fits(job, shape) || !done.insert(words_of(shape) + std::to_string(whole_bytes(shape))).second) continue;
    job.at = words_of(shape);
    Measured measured;
    const PhaseMark mark(job.emitter, "measure", words_of(shape));
    if (auto trouble = job.bench.measure(shape, job.seats, measured)) {
      if (!go_on(job, *trouble)) return;
      continue;
    }
    read_log(job);
    if (!told) tell_paths(job);
    told = true;
    tell_fallback(job);
    emit(job, shape, measured);
    tell_no_switch(job, shape);
  }
}

/// Bytes of each of a rank's two buffers: the largest size that is asked, or what all GPUs have room for.
std::size_t room_of(const Options& options, const std::vector<std::unique_ptr<gpu::Device>>& devices) {
  // The library takes buffers of its own for each pair and channel; where the host plays all GPUs they share its
  // memory.
  constexpr std::size_t kLibrary = std::size_t{2} << 30;
  std::size_t room = *std::max_element(options.sizes.begin(), options.sizes.end());
  for (const auto& device : devices) {
    const bool is_host = device->info().backend == "host";
    const std::size_t free = gpu::usable(device->free_bytes()) / (is_host ? devices.size() : 1);
    std::vector<std::size_t> fitting = {4096};
    for (const std::size_t size : options.sizes) {
      if (2 * size + std::min(kLibrary, free / 8) <= free) fitting.push_back(size);
    }
    room = std::min(room, *std::max_element(fitting.begin(), fitting.end()));
  }
  return room;
}

/// Threads that do not come back cannot be ended: what is known is told, and the process goes.
[[noreturn]] void leave(Emitter& emitter, const std::string& at, const Unanswering& error) {
  const auto [what, next] = parts_of(error.what());
  notice(emitter, "gpu-hung", at + ": " + what, next);
  emitter.end();
  std::fflush(stdout);
  _exit(kCouldNotMeasure);
}

int measure_all(Emitter& emitter, const Options& options, const Nccl& nccl, LogFile& log,
                const std::vector<std::unique_ptr<gpu::Device>>& devices) {
  std::vector<gpu::Device*> each;
  each.reserve(devices.size());
  for (const auto& device : devices) each.push_back(device.get());
  const std::size_t room = room_of(options, devices);
  Ranks ranks(nccl, each, options.join_s);
  bool whole = true;
  std::string at = "making buffers";
  try {
    Bench bench(ranks, nccl, options, room);
    Job job{emitter, options, nccl, log, ranks, bench, at, room};
    job.left.resize(devices.size());
    std::iota(job.left.begin(), job.left.end(), 0);
    const std::size_t least = std::min<std::size_t>(devices.size(), 2);
    try {
      for (const int group : options.groups) {
        if (job.left.size() >= least) measure_group(job, group);
      }
      ranks.close();
    } catch (const Unanswering& error) {
      leave(emitter, at, error);  // from here: to take buffers back from such a GPU could hang, too
    }
    whole = job.whole;
  } catch (const gpu::Failure& failure) {
    gpu::tell(emitter, failure);
    whole = false;
  }
  return whole ? kOk : kCouldNotMeasure;
}

int run(int argc, char** argv) {
  const Options options = read_options(argc, argv);
  LogFile log(options.log, options.says_algorithm);
  std::vector<gpu::Failure> refused;
  const auto devices = gpu::open(options.choice, &refused);
  if (devices.size() > kMostRanks) throw usage("more than 256 GPUs", "--devices names fewer");
  const Nccl nccl = options.choice.backend == "cuda" ? load_nccl(options.nccl) : host_nccl();
  Emitter emitter;
  Object facts = gpu::all_facts(devices);
  facts.add("library", nccl.title).add("library_path", nccl.path).add("library_found", nccl.how);
  facts.add("ranks", "threads of one process").add("links", options.links);
  emitter.start("gpu_collectives", argc, argv, facts);
  for (const gpu::Failure& failure : refused) gpu::tell(emitter, failure);
  if (devices.size() == 1) {
    notice(emitter, "gpu-collective-alone",
           "there is one GPU: its operations are copies in its own memory, no link is measured and there is no bus "
           "bandwidth",
           "run it where two GPUs are, or give the job more of them");
  }
  const int code = measure_all(emitter, options, nccl, log, devices);
  emitter.end();
  if (code != kOk || !refused.empty()) return kCouldNotMeasure;
  return emitter.ok() ? kOk : kCheckFailed;
}

}  // namespace
}  // namespace shakedown::gpu_collectives

int main(int argc, char** argv) {
  return shakedown::run_main("gpu_collectives", argc, argv, shakedown::gpu_collectives::run);
}
