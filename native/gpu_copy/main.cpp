// Copies between host and devices: parse -> open -> each device, then each pair of devices -> exit code.
#include "gpu_copy.hpp"

namespace shakedown::gpu_copy {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;  // more than any memory, so that sums of some do not wrap

Options parse(int argc, char** argv) {
  Args args(argc, argv, "gpu_copy: copies between host and GPUs and between GPUs, their latency, and SHOC's triad");
  Options o;
  o.choice = gpu::read_choice(args);
  o.timing = gpu::read_timing(args, {.samples = 10, .seconds = 0, .sample_s = 2e-3, .warm_s = 0.02});
  o.sizes = args.integers("sizes", "4096,65536,1048576,16777216,268435456", 8, "bytes of a copy, for each case");
  o.kernels = args.words("kernels", "h2d,d2h,bidirectional,peer,latency,triad", "which measurements");
  o.memory = args.words("memory", "pinned,pageable", "memory of the host for h2d, d2h and bidirectional");
  o.triad_bytes =
      args.integer("triad-bytes", 1 << 28, 4, "bytes of each of the triad's arrays in the host's memory", kMostBytes);
  o.blocks = args.integers("blocks", "65536,262144,1048576,4194304,16777216", 4, "bytes of the triad's blocks");
  const std::string placement = args.text(
      "placement", "near", "near: the host's side on the NUMA node of the device; any: where the system puts it");
  o.spoil = args.flag("spoil", "damage what arrived before the check, to see it fail");
  o.verify = !args.flag("no-verify", "leave the check out");
  args.finish();
  gpu::require_known(o.kernels, kKernels, "kernels");
  gpu::require_known(o.memory, kMemories, "memory");
  if (placement != "near" && placement != "any") throw usage("--placement '" + placement + "'", "near or any");
  o.near = placement == "near";
  for (const auto* const list : {&o.sizes, &o.blocks}) {
    for (const auto bytes : *list) {
      if (bytes > kMostBytes) throw usage("--sizes, --blocks: " + std::to_string(bytes) + " bytes", "at most 2^50");
    }
  }
  return o;
}

int run(int argc, char** argv) {
  const Options options = parse(argc, argv);
  std::vector<gpu::Failure> refused;
  const auto devices = gpu::open(options.choice, &refused);
  Emitter emitter;
  emitter.start("gpu_copy", argc, argv, gpu::all_facts(devices));
  LeftOuts left_outs;
  for (const auto& device : devices) left_outs.try_emplace(device.get(), emitter, *device, "gpu-size-left-out");
  int code = gpu::on_each(emitter, devices, refused, [&](gpu::Device& device) {
    measure_host(emitter, device, options, left_outs.at(&device));
    if (asked(options.kernels, "triad")) measure_triad(emitter, device, options, left_outs.at(&device));
  });
  if (asked(options.kernels, "peer") && devices.size() > 1) {
    try {
      measure_peers(emitter, devices, options, left_outs);
    } catch (const gpu::Failure& failure) {
      gpu::tell(emitter, failure);
      code = kCouldNotMeasure;
    }
  }
  for (const auto& [device, left_out] : left_outs) {
    try {
      left_out.require_any();
    } catch (const gpu::Failure& failure) {
      gpu::tell(emitter, failure);
      code = kCouldNotMeasure;
    }
  }
  emitter.end();
  return code == kOk && !emitter.ok() ? kCheckFailed : code;
}

}  // namespace
}  // namespace shakedown::gpu_copy

int main(int argc, char** argv) { return shakedown::run_main("gpu_copy", argc, argv, shakedown::gpu_copy::run); }
