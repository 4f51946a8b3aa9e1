// Burns in one device: products and memory patterns along a schedule, every result checked to the bit. One process for
// each device, so that one that hangs or dies takes no other with it; `shakedown burnin` starts and watches them all.
#include <sys/prctl.h>
#include <unistd.h>

#include <cmath>
#include <csignal>

#include "burnin.hpp"
#include "common/affinity.hpp"
#include "common/args.hpp"
#include "common/emit.hpp"
#include "gpu.hpp"

namespace shakedown::burnin {
namespace {

volatile std::sig_atomic_t stopping = 0;
void on_signal(int) { stopping = 1; }
bool stop() { return stopping != 0; }

struct Options {
  CpuOptions cpu;
  GpuOptions gpu;
  bool on_gpu = false;
  WorkerOptions worker;
  std::string device;
};

std::uint64_t parse_bytes(const std::string& word) {
  char* end = nullptr;
  const double value = std::strtod(word.c_str(), &end);
  const std::string unit = end;
  const double factor = unit.empty() ? 1 : unit == "KiB" ? 0x1p10 : unit == "MiB" ? 0x1p20 : unit == "GiB" ? 0x1p30 : 0;
  if (end == word.c_str() || factor == 0 || !(value >= 0 && value < 1e18))
    throw usage("--memory '" + word + "' is not a valid size", "bytes, or with KiB, MiB or GiB");
  return static_cast<std::uint64_t>(value * factor);
}

Options parse(int argc, char** argv) {
  Args args(argc, argv, "burnin: burns in one device, every result checked to the bit; `shakedown burnin` watches all");
  Options o;
  o.device = args.text("device", "cpu:0",
                       "cpu:N, the logical CPU of that number; gpu:N, the GPU of that number (with --pci over all, as "
                       "nvidia-smi counts, else of those in CUDA_VISIBLE_DEVICES)");
  o.cpu.isa = args.text("isa", "auto", "instruction set of the products, such as avx2; auto: the widest");
  const auto memory =
      args.text("memory", "64MiB", "how much memory the patterns go through; 0: none; auto (GPU): most");
  o.gpu.choice = gpu::read_choice(args);
  o.gpu.pci = args.text("pci", "", "address that the GPU must have, such as 0000:9b:00");
  o.gpu.order = args.integer("order", 4096, 16, "order of the GPU's matrices", 65536);
  const auto stages =
      args.words("stages", "product:60,steps:30,memory:30", "stages and their seconds, again and again");
  for (const auto& word : args.words("periods", "1,0.1,0.01", "seconds of a power step, up and down")) {
    char* end = nullptr;
    o.worker.periods_s.push_back(std::strtod(word.c_str(), &end));
    if (*end != '\0') throw usage("--periods: '" + word + "' is not a number");
  }
  o.worker.start_unix_ns = args.integer("start", 0, 0, "Unix time in ns of the schedule's start (0: now)");
  o.worker.length_ns = std::llround(1e9 * args.real("seconds", 60, 0, "how long, from the start on"));
  o.worker.beat_s = args.real("beat", 1, 0.01, "seconds between two beats");
  o.worker.seed = static_cast<std::uint64_t>(args.integer("seed", 1, 0, "of the operands"));
  o.worker.drill =
      args.text("drill", "", "be wrong on purpose: result, result-always, operand, memory, memory-always, die, stop");
  o.worker.drill_s = args.real("drill-after", 1, 0, "seconds after the start");
  args.finish();
  o.gpu.most_memory = memory == "auto";
  o.cpu.memory_bytes = o.gpu.memory_bytes = memory == "auto" ? 0 : parse_bytes(memory);
  o.worker.stages = parse_stages(stages);
  const Schedule checked(o.worker.stages, o.worker.periods_s);
  if (o.worker.start_unix_ns == 0) o.worker.start_unix_ns = unix_ns();
  const auto colon = o.device.find(':');
  o.on_gpu = o.device.substr(0, colon) == "gpu";
  if ((!o.on_gpu && o.device.substr(0, colon) != "cpu") || colon == std::string::npos)
    throw usage("--device '" + o.device + "' is none that this program knows", "cpu:N or gpu:N");
  const auto numbers = parse_cpu_list(o.device.substr(colon + 1));
  if (numbers.size() != 1) throw usage("--device '" + o.device + "' is not one device", "one process for each: cpu:0");
  o.cpu.cpu = o.gpu.index = numbers.front();
  return o;
}

int run(int argc, char** argv) {
  const Options options = parse(argc, argv);
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // nobody would read what a worker without its watcher finds
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) std::signal(number, on_signal);
  const auto device = options.on_gpu ? open_gpu(options.gpu) : open_cpu(options.cpu);
  Emitter emitter;
  Object facts = device->facts();
  facts.add("device", options.device).add("drill", options.worker.drill);
  emitter.start("burnin", argc, argv, facts);
  const std::int64_t begin_ns = unix_ns();
  const Tally tally = drive(*device, options.worker, stop);
  const Residual residual{static_cast<double>(tally.faults), 0, "faults"};
  const auto tell = [&](const char* kernel, double seconds, const char* unit, double amount) {
    if (seconds <= 0) return;
    Case series;
    series.kernel = kernel;
    series.params.add("device", options.device);
    series.work.add(unit, amount);
    series.seconds = {seconds};
    series.begin_ns = begin_ns;
    series.end_ns = unix_ns();
    emitter.series(series, &residual);
  };
  tell("burnin_product", tally.product_s, "flop", tally.flop);
  tell("burnin_memory", tally.memory_s, "bytes_moved", tally.memory_bytes);
  emitter.end();
  return tally.faults == 0 ? kOk : kCheckFailed;
}

}  // namespace
}  // namespace shakedown::burnin

int main(int argc, char** argv) { return shakedown::run_main("burnin", argc, argv, shakedown::burnin::run); }
