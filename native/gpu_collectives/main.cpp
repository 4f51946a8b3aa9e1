// Collectives between GPUs: parse -> open -> load the library -> connect -> each operation and size -> exit code.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <set>

#include "job.hpp"

namespace shakedown::gpu_collectives {
namespace {

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
  for (Shape shape : shapes_of(job, 0)) {
    shape.ranks = static_cast<int>(job.seats.size());
    if (!fits(job, shape) || !done.insert(words_of(shape) + std::to_string(whole_bytes(shape))).second) continue;
    job.at = words_of(shape);
    std::vector<Measured> measured;
    const PhaseMark mark(job.emitter, "measure", words_of(shape));
    if (auto trouble = job.bench.measure(shape, {job.seats}, measured)) {
      if (!go_on(job, *trouble)) return;
      continue;
    }
    read_log(job);
    if (!told) tell_paths(job);
    told = true;
    tell_fallback(job);
    Case series{.kernel = "collective", .params = params_of(job, shape, whole_bytes(shape)), .work = {}};
    if (!job.log.algorithm.empty()) series.params.add("algorithm", job.log.algorithm);
    if (const auto kind = kinds_of(job.log); !kind.empty()) series.params.add("transport", kind);
    emit(job, series, shape, measured.front());
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
      if (!options.rounds.empty()) measure_rounds(job);
      for (const int group : options.groups) {
        if (options.rounds.empty() && job.left.size() >= least) measure_group(job, group);
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
