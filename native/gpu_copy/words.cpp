// What all measurements share: words to move and compare, and being near a device.
#include <algorithm>

#include "common/memory.hpp"
#include "gpu/near.hpp"
#include "gpu_copy.hpp"

namespace shakedown::gpu_copy {

namespace {
constexpr gpu::Grid kGrid{.blocks = 2048, .threads = 256};
}

Words::Words(gpu::Device& device, std::size_t bytes)
    : device_(device),
      stream_(device),
      data_(device, bytes / sizeof(Word)),
      wrong_(device, 1),
      fill_(device, kModule, "words"),
      compare_(device, kModule, "compare") {}

void Words::fill(Word seed) {
  fill_(kGrid, stream_, data_.data(), seed, data_.size());
  stream_.wait();
}

double Words::wrong(Word seed) {
  Word found = 0;
  device_.fill(wrong_.data(), 0, wrong_.bytes(), stream_);
  compare_(kGrid, stream_, data_.data(), seed, data_.size(), wrong_.data());
  device_.copy(&found, wrong_.data(), sizeof found, stream_);
  stream_.wait();
  return static_cast<double>(found);
}

void Words::spoil() {
  const Word value = 0;
  device_.copy(data_.data() + data_.size() / 2, &value, sizeof value, stream_);
  stream_.wait();
}

void go_near(Emitter& emitter, const gpu::Info& info) {
  static const std::vector<int> kAll = allowed_cpus();
  bind_thread(kAll);
  const int node = gpu::numa_node(info.pci);
  const std::vector<int> near = gpu::near_cpus(info, kAll);
  Object facts;
  const std::string which = "device " + std::to_string(info.index);
  facts.add("numa node of " + which, node);
  if (node >= 0 && near.empty()) {
    emitter.notice("gpu-far",
                   which + " is on NUMA node " + std::to_string(node) + ", none of whose CPUs this process may use",
                   "bind the job to CPUs near its GPU; copies cross the sockets otherwise");
  }
  if (!near.empty()) bind_thread(near);
  facts.add("host CPUs for " + which, format_cpu_list(near.empty() ? kAll : near));
  emitter.facts(facts);
}

bool has_room(gpu::Device& device, const Need& need, const std::string& what, gpu::LeftOut& left_out) {
  const char* const advice = "name smaller --sizes, --triad-bytes or --blocks";
  const std::size_t free = device.free_bytes(), on_host = memory_room().bytes;
  // Where the host plays the device, both parts lie in one memory.
  const std::size_t there = need.on_device + (device.info().backend == "host" ? need.on_host : 0);
  if (there > gpu::usable(free)) {
    left_out.add(what + ": " + show_bytes(there) + " do not fit the device, " + show_bytes(free) + " are free", advice);
    return false;
  }
  if (need.on_host > gpu::usable(on_host)) {
    left_out.add(what + ": " + show_bytes(need.on_host) + " do not fit the host, " + show_bytes(on_host) + " are free",
                 advice);
    return false;
  }
  return true;
}

bool asked(const std::vector<std::string>& words, const char* word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

void emit(Emitter& emitter, const Options& options, const Case& series, double wrong, const char* kind) {
  const Residual residual{wrong, 0, kind};
  emitter.series(series, options.verify ? &residual : nullptr);
}

}  // namespace shakedown::gpu_copy
