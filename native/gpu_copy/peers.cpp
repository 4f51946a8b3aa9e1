// Between devices: from each to each other, alone and both ways at once. Where one cannot reach the other, the driver
// copies by way of the host, and the case says so.
#include "common/memory.hpp"
#include "gpu_copy.hpp"

namespace shakedown::gpu_copy {
namespace {

struct Pair {
  gpu::Device& from;
  gpu::Device& to;
  bool direct;
};

void measure_pair(Emitter& emitter, const Pair& pair, std::size_t bytes, bool both, const Options& options) {
  Words source(pair.from, bytes), target(pair.to, bytes), back_source(pair.to, bytes), back_target(pair.from, bytes);
  const Word seed = static_cast<Word>(pair.from.info().index) + 3, back = seed + 1000;
  source.fill(seed);
  back_source.fill(back);
  target.fill(0);
  back_target.fill(0);
  const gpu::Stream stream(pair.from), other(pair.to);
  const gpu::Event ready(pair.from), done(pair.to);
  const auto work = [&] {
    if (both) {
      ready.record(stream);
      pair.to.await(other, ready);
      pair.to.copy(back_target.data(), back_source.data(), bytes, other);
    }
    pair.from.copy(target.data(), source.data(), bytes, stream);
    if (both) {
      done.record(other);
      pair.from.await(stream, done);
    }
  };
  const std::string label = std::to_string(pair.from.info().index) + (both ? " and " : " to ") +
                            std::to_string(pair.to.info().index) + ", " + show_bytes(bytes);
  gpu::Samples samples;
  {
    const PhaseMark mark(emitter, "measure", label);
    samples = gpu::sample(stream, options.timing, work);
  }
  Case series = gpu::case_of(both ? "peer_bidirectional" : "peer", samples);
  series.params.add("device", pair.from.info().name).add("from", pair.from.info().index);
  series.params.add("to", pair.to.info().index).add("path", pair.direct ? "direct" : "host").add("bytes", bytes);
  series.work.add("bytes", static_cast<double>(bytes) * static_cast<double>(samples.calls) * (both ? 2 : 1));
  series.work.add("copies", samples.calls * (both ? 2 : 1));
  if (options.spoil) target.spoil();
  const double wrong = target.wrong(seed) + (both ? back_target.wrong(back) : 0);
  emit(emitter, options, series, wrong, "wrong words");
}

}  // namespace

void measure_peers(Emitter& emitter, const std::vector<std::unique_ptr<gpu::Device>>& devices, const Options& options,
                   LeftOuts& left_outs) {
  for (const auto& from : devices) {
    for (const auto& to : devices) {
      if (from == to) continue;
      const bool direct = from->reach(*to) && to->reach(*from);
      if (!direct && from->info().index < to->info().index) {
        emitter.notice("gpu-no-peer",
                       "devices " + std::to_string(from->info().index) + " and " + std::to_string(to->info().index) +
                           " cannot reach each other: their copies go by way of the host",
                       "see `nvidia-smi topo -p2p r`; an IOMMU or PCIe access control services (ACS) can be the cause");
      }
      for (const auto size : options.sizes) {
        const std::size_t bytes = static_cast<std::size_t>(size) / sizeof(Word) * sizeof(Word);
        const Need need{.on_device = 2 * bytes, .on_host = 0};
        const std::string what = "copies of " + show_bytes(bytes) + " between devices";
        if (!has_room(*from, need, what, left_outs.at(from.get()))) continue;
        if (!has_room(*to, need, what, left_outs.at(to.get()))) continue;
        left_outs.at(from.get()).measured();
        measure_pair(emitter, {*from, *to, direct}, bytes, false, options);
        if (from->info().index < to->info().index) measure_pair(emitter, {*from, *to, direct}, bytes, true, options);
      }
    }
  }
}

}  // namespace shakedown::gpu_copy
