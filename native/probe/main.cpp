// The clock of each core without and with vector work, and the multiply-adds that it reaches, without any counter of
// the hardware: see README.md for the model.
#include <cmath>
#include <cstdio>
#include <iterator>
#include <memory>

#include "common/args.hpp"
#include "common/emit.hpp"
#include "common/isa.hpp"
#include "measure.hpp"
#include "probe.hpp"

namespace shakedown::probe {
namespace {

struct Options {
  int threads = 1;
  std::string cpus;
  std::vector<std::string> isas;
  std::int64_t samples = 0;
  std::int64_t sample_cycles = 0;
  double seconds = 0;
  bool verify = true;
};

struct Chain final : Work {
  explicit Chain(std::int64_t rounds) : count(static_cast<std::uint64_t>(rounds) * 64) {}
  void run() override { sum = add_chain(count); }
  [[nodiscard]] std::int64_t adds() const { return static_cast<std::int64_t>(count); }
  [[nodiscard]] double defect() const override {
    return std::fabs(static_cast<double>(sum) - static_cast<double>(count));
  }
  std::uint64_t count, sum = 0;
};

struct Mixed final : Work {
  Mixed(const Kernel& of, int at_density, std::int64_t count) : kernel(of), density(at_density), blocks(count) {}
  void prepare() override { state.reset(); }
  void run() override { sum = kernel.mixed(blocks, density, state.data()); }
  [[nodiscard]] std::int64_t adds() const { return steps_of(blocks) * kernel.adds[density]; }
  [[nodiscard]] double defect() const override {
    return std::fabs(static_cast<double>(sum) - static_cast<double>(adds())) +
           state.defect(kFactors64, kernel.chains, kernel.lanes64);
  }
  const Kernel& kernel;
  int density;
  std::int64_t blocks;
  std::uint64_t sum = 0;
  State<double> state;
};

template <class T>
struct Fma final : Work {
  Fma(const Kernel& of, std::int64_t count) : kernel(of), blocks(count) {}
  static constexpr bool kDouble = sizeof(T) == 8;
  [[nodiscard]] int lanes() const { return kDouble ? kernel.lanes64 : kernel.lanes32; }
  [[nodiscard]] double flop() const {  // a multiplication and an addition in each lane
    return 2.0 * static_cast<double>(steps_of(blocks)) * kernel.chains * lanes();
  }
  void prepare() override { state.reset(); }
  void run() override {
    if constexpr (kDouble) {
      kernel.fma64(blocks, state.data());
    } else {
      kernel.fma32(blocks, state.data());
    }
  }
  [[nodiscard]] double defect() const override {
    if constexpr (kDouble) {
      return state.defect(kFactors64, kernel.chains, lanes());
    } else {
      return state.defect(kFactors32, kernel.chains, lanes());
    }
  }
  const Kernel& kernel;
  std::int64_t blocks;
  State<T> state;
};

Options parse(int argc, char** argv) {
  Args args(argc, argv, "probe: the clock of each core, idle and under vector work, and its multiply-adds a second");
  Options o;
  o.threads =
      static_cast<int>(args.integer("threads", usable_cores(), 1, "threads (default: one for each core)", 1 << 20));
  o.cpus = args.text("cpus", "", "CPUs to pin to, in order (default: cores first, spread)");
  o.isas = args.words("isa", "auto", "instruction sets, such as avx512,avx2; auto: the widest");
  o.samples = args.integer("samples", 9, 1, "at least so many samples for each case");
  o.sample_cycles = args.integer("sample-cycles", 50'000'000, 100'000, "length of one sample in cycles of a core");
  o.seconds = args.real("seconds", 0, 0, "repeat each case for at least so many seconds");
  o.verify = !args.flag("no-verify", "leave the check out");
  args.finish();
  if (o.isas.empty()) throw usage("--isa names none", "auto, or such as avx512,avx2");
  for (auto& isa : o.isas) isa = choose_isa(isa, kernel_names());
  return o;
}

/// The least seconds on a CPU that a work takes of five goes on the calling thread.
double quick(Work& work) {
  double least = INFINITY;
  for (int i = 0; i < 5; ++i) {
    work.prepare();
    const auto begin = read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    work.run();
    least = std::min(least, static_cast<double>(read_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin) * 1e-9);
  }
  return least;
}

/// How many blocks last for about `cycles`, where a step lasts `step_cycles`. Fixed, so that the repeats of a run do
/// the same work, whatever the clock.
std::int64_t blocks_for(std::int64_t cycles, double step_cycles) {
  return std::max<std::int64_t>(1, std::llround(static_cast<double>(cycles) / (2.0 * kSteps * step_cycles)));
}

/// The densest mix in which the chain of additions still sets the pace: where the multiply-adds do, the additions slow
/// down by far more than any clock falls.
int choose_density(const Kernel& kernel) {
  double sparse = 0;
  int chosen = 0;
  for (int density = 0; density < kDensities; ++density) {
    Mixed work(kernel, density, 4);
    const double rate = static_cast<double>(work.adds()) / quick(work);
    if (density == 0) sparse = rate;
    if (rate < 0.85 * sparse) break;
    chosen = density;
  }
  return chosen;
}

struct Bench {
  const Options& options;
  Team& team;
  const std::vector<int>& cpus;
  Emitter& emitter;

  void emit(const Series& series, Case&& one, std::vector<double> seconds) {
    one.seconds = std::move(seconds);
    one.begin_ns = series.begin_ns;
    one.end_ns = series.end_ns;
    const Residual residual{series.defect, 0, "difference from the exact result"};
    emitter.series(one, options.verify ? &residual : nullptr);
  }
};

/// Run copies of a work on `threads` threads. Each thread gets its own state, made on that thread.
template <class Make>
auto copies(Team& team, int threads, const Make& make) {
  std::vector<decltype(make())> works(static_cast<std::size_t>(threads));
  team.run([&](int thread) {
    if (thread < threads) works[static_cast<std::size_t>(thread)] = make();
  });
  return works;
}

/// One case for each CPU: what it did while the others did the same.
template <class Make>
void clock_cases(Bench& bench, const std::string& kernel, const std::string& isa, int threads, const Make& make) {
  auto works = copies(bench.team, threads, make);
  const PhaseMark mark(bench.emitter, "measure", kernel + ' ' + isa + ", threads " + std::to_string(threads));
  const Series series = measure(bench.team, works, bench.options.samples, bench.options.seconds);
  for (std::size_t t = 0; t < works.size(); ++t) {
    Case one;
    one.kernel = kernel;
    one.params.add("threads", threads).add("isa", isa).add("cpu", bench.cpus[t]);
    one.work.add("cycles", works[t]->adds());
    bench.emit(series, std::move(one), series.cpu_seconds[t]);
  }
}

template <class T>
void fma_case(Bench& bench, const Kernel& kernel, int threads) {
  const auto blocks = blocks_for(bench.options.sample_cycles, kernel.chains / 2.0);  // at two a cycle
  auto works = copies(bench.team, threads, [&] { return std::make_unique<Fma<T>>(kernel, blocks); });
  Case one;
  one.kernel = sizeof(T) == 8 ? "fma_fp64" : "fma_fp32";
  one.params.add("threads", threads).add("isa", kernel.isa);
  one.work.add("flop", works.front()->flop() * threads);
  const PhaseMark mark(bench.emitter, "measure",
                       one.kernel + ' ' + kernel.isa + ", threads " + std::to_string(threads));
  const Series series = measure(bench.team, works, bench.options.samples, bench.options.seconds);
  if (series.on_cpu_s < 0.95 * series.passed_s) {
    char share[32];
    std::snprintf(share, sizeof share, "%.0f %%", 100 * series.on_cpu_s / series.passed_s);
    bench.emitter.notice("cpu-taken", one.kernel + " had its CPUs for " + share + " of the time: its rate is too low",
                         "run it with nothing else on the machine");
  }
  bench.emit(series, std::move(one), series.whole);
}

/// What AMX the CPU has and the operating system lets a program use; listed only.
std::vector<std::string> amx() {
  std::vector<std::string> found;
#if defined(__x86_64__)
  constexpr std::uint64_t kTileStates = 0x60000;  // TILECFG and TILEDATA of XCR0
  if ((isa_detail::saved_states() & kTileStates) != kTileStates) return found;
  const unsigned word = isa_detail::cpuid(7).d;
  for (const auto& [bit, name] : {std::pair{24, "amx_tile"}, std::pair{22, "amx_bf16"}, std::pair{25, "amx_int8"}}) {
    if (((word >> bit) & 1U) != 0) found.emplace_back(name);
  }
#endif
  return found;
}

/// Ticks a second of the time-stamp counter, which on current CPUs is their nominal clock whatever they really run at.
void add_tsc(Object& facts) {
#if defined(__x86_64__)
  const auto begin_ns = monotonic_ns();
  const auto begin = __builtin_ia32_rdtsc();
  while (monotonic_ns() - begin_ns < 10'000'000) cpu_relax();
  const auto end_ns = monotonic_ns();
  const auto end = __builtin_ia32_rdtsc();
  facts.add("tsc_hz", static_cast<double>(end - begin) / (static_cast<double>(end_ns - begin_ns) * 1e-9));
#else
  (void)facts;
#endif
}

int run(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const auto cpus = choose_cpus(options.threads, options.cpus);
  Team team(cpus);
  Emitter emitter;
  Object facts;
  facts.add("threads", options.threads).add("cpus", team.binding_words()).add("isa", options.isas);
  facts.add("isas_usable", machine_isas()).add("amx", amx());
  add_tsc(facts);
  std::vector<int> densities;
  std::vector<double> per_cycle;  // multiply-adds beside one addition
  for (const auto& isa : options.isas) {
    const Kernel& one = kernel(isa);
    densities.push_back(choose_density(one));
    per_cycle.push_back(static_cast<double>(one.chains) / one.adds[densities.back()]);
  }
  facts.add("vector_load_fma_per_cycle", per_cycle);
  emitter.start("probe", argc, argv, facts);

  Bench bench{options, team, cpus, emitter};
  std::vector<int> counts = {1};
  if (options.threads > 1) counts.push_back(options.threads);
  for (const int threads : counts) {
    const auto rounds = options.sample_cycles / 64;
    clock_cases(bench, "clock_scalar", "scalar", threads, [&] { return std::make_unique<Chain>(rounds); });
    for (std::size_t i = 0; i < options.isas.size(); ++i) {
      const Kernel& one = kernel(options.isas[i]);
      const auto blocks = blocks_for(options.sample_cycles, one.adds[densities[i]]);
      clock_cases(bench, "clock_vector", one.isa, threads,
                  [&] { return std::make_unique<Mixed>(one, densities[i], blocks); });
      fma_case<double>(bench, one, threads);
      fma_case<float>(bench, one, threads);
    }
  }
  emitter.end();
  return emitter.ok() ? kOk : kCheckFailed;
}

}  // namespace
}  // namespace shakedown::probe

int main(int argc, char** argv) { return shakedown::run_main("probe", argc, argv, shakedown::probe::run); }
