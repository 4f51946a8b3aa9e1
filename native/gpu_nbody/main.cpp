// N-body on every chosen device, one after another or all at once: parse -> open -> measure -> exit code.
#include "gpu_nbody.hpp"

namespace shakedown::gpu_nbody {
namespace {

constexpr double kWarmMs = 500;  // clocks have risen, or sunk under the power limit, after this

Options parse(int argc, char** argv) {
  Args args(
      argc, argv,
      "gpu_nbody: gravity of n bodies on each other on GPUs, all pairs, in leapfrog steps, verified. Units: G = 1, "
      "mass 1.");
  Options o;
  o.choice = gpu::read_choice(args);
  o.course = nbody::read_course(args, "1048576");
  o.course.warm_s = 1e-3 * args.real("warm-ms", kWarmMs, 0, "warm up each case for so many ms at least");
  o.together = args.flag("together", "all devices at the same time instead of one after another");
  o.shape =
      args.text("shape", "auto",
                "targets of a thread and steps written out: r2u8, r4u4, r4u8, r6u4, r8u2 (fp32), r1u8, r2u4, r4u4 "
                "(fp64); auto: the fastest");
  o.nvml = args.text("nvml", "libnvidia-ml.so.1", "the management library that is queried for clock and power");
  args.finish();
  nbody::require_course(o.course);
  for (const Precision precision : o.course.precisions) {
    if (!shapes_of(o.shape, precision).empty()) continue;
    std::string known = "auto";
    for (const Shape& one : shapes_of("auto", precision)) known.append(", ").append(one.word);
    throw usage("--shape '" + o.shape + "' is none of " + nbody::word(precision), known);
  }
  return o;
}

int run(int argc, char** argv) {
  const Options options = parse(argc, argv);
  std::vector<gpu::Failure> refused;
  const auto devices = gpu::open(options.choice, &refused);
  Emitter emitter;
  Object facts = gpu::all_facts(devices);
  facts.add("softening", options.course.physics.softening).add("dt", options.course.physics.dt);
  facts.add("flop_each", nbody::kFlopEach).add("together", options.together);
  emitter.start("gpu_nbody", argc, argv, facts);
  for (const auto& failure : refused) gpu::tell(emitter, failure);
  bool whole = refused.empty();
  std::vector<std::vector<gpu::Device*>> groups(options.together ? 1 : devices.size());
  for (std::size_t i = 0; i < devices.size(); ++i) groups[options.together ? 0 : i].push_back(devices[i].get());
  for (const auto& group : groups) whole = measure_group(emitter, group, options) && whole;
  emitter.end();
  return !whole ? kCouldNotMeasure : emitter.ok() ? kOk : kCheckFailed;
}

}  // namespace
}  // namespace shakedown::gpu_nbody

int main(int argc, char** argv) { return shakedown::run_main("gpu_nbody", argc, argv, shakedown::gpu_nbody::run); }
