// Products of matrices on every chosen device: parse -> open -> measure -> exit code.
#include "gpu_gemm.hpp"

namespace shakedown::gpu_gemm {
namespace {

Options parse(int argc, char** argv) {
  Args args(argc, argv, "gpu_gemm: C = A B by the BLAS of GPUs, in every format, verified");
  Options o;
  o.choice = gpu::read_choice(args);
  o.timing = gpu::read_timing(args, {.samples = 10, .seconds = 0, .sample_s = 5e-3, .warm_s = 0.2});
  o.formats = args.words("formats", "f64,f32,tf32,bf16,f16,i8,f8", "formats of A and B (f8 is E4M3)");
  o.sizes = args.integers("sizes", "1024,2048,4096,8192,16384", 1, "orders n of the matrices");
  o.data =
      args.words("data", "random,ones", "what the matrices hold: random, ones, zeros (figures are those of random)");
  o.rows = args.integer("rows", 8, 1, "rows of C that the host computes again");
  o.nvml = args.text("nvml", "libnvidia-ml.so.1", "the management library that is queried for clock and power");
  o.bare = args.flag("bare", "beside each case a loop of cuBLAS alone, by turns, as cases beside and bare");
  o.spoil = args.flag("spoil", "damage C before the check, to see it fail");
  o.verify = !args.flag("no-verify", "leave the check out");
  args.finish();
  gpu::require_known(o.formats, kFormats, "formats");
  gpu::require_known(o.data, kData, "data");
  for (const auto n : o.sizes) {
    if (n >= std::int64_t{1} << 31) throw usage("--sizes " + std::to_string(n), "orders below 2^31");
  }
  return o;
}

int run(int argc, char** argv) {
  const Options options = parse(argc, argv);
  std::vector<gpu::Failure> refused;
  const auto devices = gpu::open(options.choice, &refused);
  Emitter emitter;
  emitter.start("gpu_gemm", argc, argv, gpu::all_facts(devices));
  const int code =
      gpu::on_each(emitter, devices, refused, [&](gpu::Device& device) { measure(emitter, device, options); });
  emitter.end();
  return code;
}

}  // namespace
}  // namespace shakedown::gpu_gemm

int main(int argc, char** argv) { return shakedown::run_main("gpu_gemm", argc, argv, shakedown::gpu_gemm::run); }
