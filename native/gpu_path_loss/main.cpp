// Path loss on every chosen device: parse -> open -> make the terrain -> measure each device -> exit code.
#include "gpu_path_loss.hpp"

namespace shakedown::gpu_path_loss {
namespace {

Options parse(int argc, char** argv) {
  Args args(argc, argv,
            "gpu_path_loss: the loss of all pairs of radios by the Irregular Terrain Model on GPUs, over terrain made "
            "from a seed.");
  Options options;
  options.choice = gpu::read_choice(args);
  options.timing = gpu::read_timing(args);
  options.course = radio::read_course(args, "5000", "fp32");
  args.finish();
  radio::require_course(options.course);
  return options;
}

int run(int argc, char** argv) {
  const Options options = parse(argc, argv);
  std::vector<gpu::Failure> refused;
  const auto devices = gpu::open(options.choice, &refused);
  Emitter emitter;
  Object facts = gpu::all_facts(devices);
  radio::add_facts(facts, options.course);
  emitter.start("gpu_path_loss", argc, argv, facts);
  const radio::Ground ground = [&] {
    const PhaseMark phase(emitter, "init", "terrain");
    return radio::ground_of(options.course);
  }();
  const int code =
      gpu::on_each(emitter, devices, refused, [&](gpu::Device& device) { measure(emitter, device, options, ground); });
  emitter.end();
  return code;
}

}  // namespace
}  // namespace shakedown::gpu_path_loss

int main(int argc, char** argv) {
  return shakedown::run_main("gpu_path_loss", argc, argv, shakedown::gpu_path_loss::run);
}
