// STREAM on every chosen device: parse -> open -> measure each device, kernel and size -> exit code.
#include <algorithm>

#include "gpu_stream.hpp"

namespace shakedown::gpu_stream {
namespace {

Options parse(int argc, char** argv) {
  Args args(argc, argv, "gpu_stream: McCalpin's copy, scale, add and triad in the memory of GPUs, verified");
  Options o;
  o.choice = gpu::read_choice(args);
  o.timing = gpu::read_timing(args);
  o.sizes = args.integers("sizes", "4194304,67108864,1073741824,4294967296", 16, "bytes of one array, for each case");
  o.kernels = args.words("kernels", "copy,scale,add,triad,memcpy",
                         "which; memcpy is the driver's copy within the device, the limit of the others");
  o.shape =
      args.text("shape", "auto", "auto: the fastest in a trial; or u1, u2, u4 (16-byte loads under way), s: streamed");
  o.break_element = args.integer("break-element", -1, -1, "damage this element before the check, to see it fail");
  o.verify = !args.flag("no-verify", "leave the check out");
  args.finish();
  static constexpr const char* kAll[] = {"copy", "scale", "add", "triad", "memcpy"};
  gpu::require_known(o.kernels, kAll, "kernels");
  if (o.shape != "auto" && std::find(std::begin(kShapes), std::end(kShapes), o.shape) == std::end(kShapes))
    throw usage("--shape '" + o.shape + "'", "auto, u1, u2, u4, u1s, u2s, u4s");
  if (o.sizes.empty()) throw usage("nothing to measure", "give --sizes");
  return o;
}

int run(int argc, char** argv) {
  const Options options = parse(argc, argv);
  std::vector<gpu::Failure> refused;
  const auto devices = gpu::open(options.choice, &refused);
  Emitter emitter;
  emitter.start("gpu_stream", argc, argv, gpu::all_facts(devices));
  const int code =
      gpu::on_each(emitter, devices, refused, [&](gpu::Device& device) { measure(emitter, device, options); });
  emitter.end();
  return code;
}

}  // namespace
}  // namespace shakedown::gpu_stream

int main(int argc, char** argv) { return shakedown::run_main("gpu_stream", argc, argv, shakedown::gpu_stream::run); }
