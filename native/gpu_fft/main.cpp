// Fourier transforms on every chosen device: parse -> open -> measure each device and case -> exit code.
#include "gpu_fft.hpp"

namespace shakedown::gpu_fft {
namespace {

/// "1,auto" as numbers, auto as 0.
std::vector<std::int64_t> batches_of(const std::vector<std::string>& words) {
  std::vector<std::int64_t> batches;
  for (const auto& word : words) {
    const bool number = !word.empty() && word.size() < 10 && word.find_first_not_of("0123456789") == std::string::npos;
    const std::int64_t batch = number ? std::stoll(word) : 0;
    if (word != "auto" && batch < 1) throw usage("--batch: '" + word + "'", "numbers of transforms, or auto");
    batches.push_back(batch);
  }
  if (batches.empty()) throw usage("--batch names nothing", "numbers of transforms, or auto");
  return batches;
}

Options parse(int argc, char** argv) {
  Args args(argc, argv, "gpu_fft: complex Fourier transforms on GPUs by their library, verified");
  Options o;
  o.choice = gpu::read_choice(args);
  o.choice.cufft = args.text("cufft", "auto", "the path of libcufft.so; auto: as the loader finds it");
  o.timing = gpu::read_timing(args);
  const auto sizes = args.words("sizes", "256,1024,4096,16384,65536,262144,1048576,4096x4096,256x256x256",
                                "lengths of the transforms between commas; 1024x1024 and 128x128x128 have dimensions");
  const auto batch =
      args.words("batch", "1,auto", "transforms of one call, between commas; auto: as many as read --bytes");
  o.bytes = args.integer("bytes", 256 << 20, 1, "what a batch that is auto reads, and writes");
  const auto precision = args.words("precision", "d,s", "d (double), s (single) or both");
  o.seed = args.integer("seed", 1, 0, "chooses the modes of the check");
  o.break_point = args.integer("break-point", -1, -1, "damage this point before the check, to see it fail");
  o.verify = !args.flag("no-verify", "leave the check out");
  args.finish();
  static constexpr const char* kPrecisions[] = {"d", "s", "both"};
  gpu::require_known(precision, kPrecisions, "precision");
  for (const auto& word : precision) {
    o.in_double = o.in_double || word != "s";
    o.in_single = o.in_single || word != "d";
  }
  for (const auto& word : sizes) o.shapes.push_back(fft::parse_shape(word));
  if (o.shapes.empty()) throw usage("nothing to measure", "give --sizes");
  o.batches = batches_of(batch);
  for (const auto& shape : o.shapes) {
    for (const auto one : o.batches) {
      if (one > (std::int64_t{1} << 40) / shape.points())
        throw usage("--batch " + std::to_string(one) + " of " + shape.text() + " is more than any device holds",
                    "a smaller batch");
    }
  }
  return o;
}

int run(int argc, char** argv) {
  const Options options = parse(argc, argv);
  std::vector<gpu::Failure> refused;
  const auto devices = gpu::open(options.choice, &refused);
  Emitter emitter;
  emitter.start("gpu_fft", argc, argv, gpu::all_facts(devices));
  bool whole = true;
  const int code = gpu::on_each(emitter, devices, refused,
                                [&](gpu::Device& device) { whole = measure(emitter, device, options) && whole; });
  emitter.end();
  return whole ? code : kCouldNotMeasure;
}

}  // namespace
}  // namespace shakedown::gpu_fft

int main(int argc, char** argv) { return shakedown::run_main("gpu_fft", argc, argv, shakedown::gpu_fft::run); }
