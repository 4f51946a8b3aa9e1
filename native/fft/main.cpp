// Complex transforms by a library with FFTW's interface that is loaded at run time: samples, work and check for each
// shape, precision and number of threads; planning apart. The data are in fft.hpp, the check in verify.hpp, the model
// in README.md.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <set>

#include "arrays.hpp"
#include "common/caches.hpp"
#include "common/emit.hpp"
#include "common/isa.hpp"
#include "common/team.hpp"
#include "gemm/pool.hpp"
#include "options.hpp"
#include "verify.hpp"

namespace shakedown::fft {
namespace {

using gemm::bind_all;
using gemm::bind_each;
using gemm::Bound;

constexpr double kWarmSeconds = 0.1;
/// A sample that would last longer has fewer calls: threads that wait for each other on CPUs which others want too are
/// a thousand times slower than the count of operations lets expect.
constexpr double kLongestSample = 0.5;
constexpr std::uint64_t kCacheIfUnknown = std::uint64_t{64} << 20;

struct Bench {
  const Options& options;
  const Fftw& library;
  const std::string label;
  const std::vector<int>& cpus;
  Emitter& emitter;
  std::uint64_t last_cache = 0;
  std::size_t done = 0;                // cases
  std::set<std::string> planned = {};  // what the planner has found already and remembers
  bool told_pages = false;

  [[nodiscard]] std::vector<int> first_cpus(int threads) const { return {cpus.begin(), cpus.begin() + threads}; }
};

template <class T>
struct Timed {
  const Setting& setting;
  const Arrays<T>& arrays;
  const Planned<T>* plan = nullptr;

  /// That many transforms on an owner's arrays, one slot after the other; returns the next slot.
  int call(int owner, std::int64_t calls, int slot) const {
    if (arrays.slots() == 1) {  // nothing but the call, which for a small transform lasts 100 ns
      auto *const in = arrays.in(owner, 0), *const out = arrays.out(owner, 0);
      for (std::int64_t i = 0; i < calls; ++i) (*plan)(in, out);
      return 0;
    }
    for (std::int64_t i = 0; i < calls; ++i) {
      (*plan)(arrays.in(owner, slot), arrays.out(owner, slot));
      if (++slot == arrays.slots()) slot = 0;
    }
    return slot;
  }
};

/// Write the inputs, NaN into the outputs: every point must be written. Who first writes places the page: the owner, or
/// the threads of the transform in equal parts.
template <class T>
void fill(Team& team, const Timed<T>& timed) {
  const auto points = timed.setting.shape.points();
  const std::complex<T> nothing(std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::quiet_NaN());
  team.run([&](int thread) {
    for (int slot = 0; slot < timed.arrays.slots(); ++slot) {
      const int owner = timed.setting.each ? thread : 0;
      const auto [first, last] =
          timed.setting.each ? std::pair<std::int64_t, std::int64_t>{0, points} : part(points, thread, team.size());
      auto *in = timed.arrays.in(owner, slot), *out = timed.arrays.out(owner, slot);
      for (auto i = first; i < last; ++i) in[i] = entry<T>(i);
      std::fill(out + first, out + last, nothing);
    }
  });
}

/// One sample: seconds of `calls` transforms, on every owner at once.
template <class T>
double sample(Team* team, const Timed<T>& timed, std::int64_t calls, std::vector<int>& slots) {
  if (team == nullptr) {
    const double begin = now_s();
    slots[0] = timed.call(0, calls, slots[0]);
    return now_s() - begin;
  }
  double begin = 0, end = 0;
  team->run([&](int thread) {
    team->barrier();
    if (thread == 0) begin = now_s();
    auto& slot = slots[static_cast<std::size_t>(thread)];
    const int next = timed.call(thread, calls, slot);
    team->barrier();
    if (thread == 0) end = now_s();
    slot = next;
  });
  return end - begin;
}

/// Let caches, page tables and clock settle, and find the calls of a sample: those that were asked for, or as many as
/// last kLongestSample.
template <class T>
std::int64_t warm_up(Bench& bench, Team* team, const Timed<T>& timed, std::vector<int>& slots) {
  const PhaseMark mark(bench.emitter, "warmup", timed.setting.words(bench.first_cpus(timed.setting.threads)));
  const auto asked = bench.options.calls_of(timed.setting.shape);
  const double begin = now_s();
  std::int64_t calls = 1;
  double seconds = sample(team, timed, calls, slots);
  while (calls < asked && seconds < kLongestSample / 4) {
    calls = std::min(asked, 2 * calls);
    seconds = sample(team, timed, calls, slots);
  }
  if (calls < asked) {
    const double most = kLongestSample / seconds * static_cast<double>(calls);
    calls = std::clamp<std::int64_t>(static_cast<std::int64_t>(most), 1, asked);
  }
  while (now_s() - begin < kWarmSeconds) sample(team, timed, calls, slots);
  return calls;
}

template <class T>
Case measure(Bench& bench, Team* team, const Timed<T>& timed) {
  std::vector<int> slots(static_cast<std::size_t>(timed.setting.owners()), 0);
  const auto calls = warm_up(bench, team, timed, slots);
  const double transforms = static_cast<double>(calls) * timed.setting.owners();
  Case series;
  series.kernel =
      timed.setting.shape.lengths.size() == 1 && timed.setting.in_double && !timed.setting.each ? "mod2f" : "fft";
  series.work.add("flop", timed.setting.shape.flop() * transforms).add("transforms", transforms);
  const PhaseMark mark(bench.emitter, "measure", timed.setting.words(bench.first_cpus(timed.setting.threads)));
  series.begin_ns = unix_ns();
  const double begin = now_s();
  while (std::ssize(series.seconds) < bench.options.samples || now_s() - begin < bench.options.seconds) {
    series.seconds.push_back(sample(team, timed, calls, slots));
    bench.emitter.progress(static_cast<double>(bench.done) / static_cast<double>(bench.options.cases()),
                           timed.setting.shape.text());
  }
  series.end_ns = unix_ns();
  return series;
}

/// The larger of the two errors of one owner: of known modes, and of the timed data there and back.
template <class T>
double error_of(const Timed<T>& timed, const Planned<T>& back, Team* team, int owner, std::uint64_t seed) {
  const auto points = timed.setting.shape.points();
  const int threads = team == nullptr ? 1 : team->size();
  auto *in = timed.arrays.in(owner, 0), *out = timed.arrays.out(owner, 0);
  back(out, in);
  const auto scale = static_cast<double>(points);
  const double there_and_back = distance<T>(
      threads, points, team, [&](std::int64_t i) { return std::complex<double>(in[i]) / scale; },
      [](std::int64_t i) { return entry<T>(i); });
  const Modes modes(timed.setting.shape, seed);
  const auto write = [&](int thread) {
    const auto [first, last] = part(points, thread, threads);
    for (auto i = first; i < last; ++i) in[i] = modes.input<T>(i);
  };
  team == nullptr ? write(0) : team->run(write);
  (*timed.plan)(in, out);
  const double known = distance<T>(
      threads, points, team, [&](std::int64_t i) { return out[i]; }, [&](std::int64_t i) { return modes.output(i); });
  return std::isnan(there_and_back) || std::isnan(known) ? std::nan("") : std::max(there_and_back, known);
}

template <class T>
Residual check(const Bench& bench, const Timed<T>& timed) {
  const auto& setting = timed.setting;
  const Planned<T> back(bench.library.api<T>(), setting.shape.lengths, timed.arrays.out(0, 0), timed.arrays.in(0, 0),
                        Sign::backward, Effort::estimate, setting.each ? 1 : setting.threads);
  Team team(bench.first_cpus(setting.threads));
  const auto seed = static_cast<std::uint64_t>(bench.options.seed);
  Residual residual{0, kLimit, "eps sqrt(log2 N), relative"};
  if (!setting.each) {
    residual.value = error_of(timed, back, &team, 0, seed);
    return residual;
  }
  std::vector<double> errors(static_cast<std::size_t>(setting.threads));
  team.run([&](int thread) {
    errors[static_cast<std::size_t>(thread)] =
        error_of<T>(timed, back, nullptr, thread, seed + static_cast<std::uint64_t>(thread));
  });
  for (const double error : errors) residual.value = error <= residual.value ? residual.value : error;  // NaN stays
  return residual;
}

/// What the results call a case.
template <class Series>
void name(const Bench& bench, const Setting& setting, Series& series) {
  series.params.add("n", setting.shape.points()).add("shape", setting.shape.text()).add("threads", setting.threads);
  series.params.add("precision", setting.in_double ? "double" : "single");
  series.params.add("batch", setting.each ? "each" : "together").add("data", setting.cold ? "cold" : "warm");
  series.params.add("plan", bench.options.plan).add("library", bench.label);
}

void tell_pages(Bench& bench, const Buffer& buffer) {
  if (bench.told_pages || buffer.bytes() < 4 * kHugePage) return;
  const std::string got = page_report(buffer.data()).word();
  if (got != bench.options.page_word && got != "unknown")
    bench.emitter.notice("pages", bench.options.page_word + " pages were requested, and " + got + " pages were got",
                         "see /sys/kernel/mm/transparent_hugepage/enabled: madvise or always");
  bench.told_pages = true;
}

/// Plan, which writes into the arrays, and tell how long that took where it was not found before.
template <class T>
std::unique_ptr<Planned<T>> plan(Bench& bench, const Setting& setting, const Arrays<T>& arrays) {
  const PhaseMark mark(bench.emitter, "init", "plan " + setting.shape.text());
  Case planning;
  planning.kernel = "fft_plan";
  name(bench, setting, planning);
  planning.begin_ns = unix_ns();
  const double begin = now_s();
  auto made =
      std::make_unique<Planned<T>>(bench.library.api<T>(), setting.shape.lengths, arrays.in(0, 0), arrays.out(0, 0),
                                   Sign::forward, bench.options.effort, setting.each ? 1 : setting.threads);
  planning.seconds.push_back(now_s() - begin);
  planning.end_ns = unix_ns();
  planning.work.add("plans", 1);
  const auto key =
      setting.shape.text() + (setting.in_double ? "d" : "s") + std::to_string(setting.each ? 1 : setting.threads);
  if (bench.planned.insert(key).second) bench.emitter.series(planning, nullptr);
  return made;
}

template <class T>
void run_case(Bench& bench, const Setting& setting) {
  const auto cpus = bench.first_cpus(setting.threads);
  bind_all(setting.each ? std::vector<int>{cpus.front()} : cpus);
  const Arrays<T> arrays(setting, bench.last_cache, bench.options.pages);
  Timed<T> timed{setting, arrays};
  {
    Team team(cpus);
    fill(team, timed);  // before planning, which measures: its pages must be there
  }
  const auto made = plan(bench, setting, arrays);
  timed.plan = made.get();
  {
    Team team(cpus);
    fill(team, timed);
  }
  tell_pages(bench, arrays.buffer());
  Case series;
  if (setting.each) {
    Team team(cpus);
    series = measure(bench, &team, timed);
  } else {
    const Bound bound =
        bind_each(cpus, [&] { timed.call(0, std::min<std::int64_t>(bench.options.calls_of(setting.shape), 200), 0); });
    series = measure<T>(bench, nullptr, timed);
    // On a small transform the planner itself takes fewer threads; on a large one they are missing.
    if (bound.working > 0 && bound.working < setting.threads && setting.shape.points() >= (1 << 20))
      bench.emitter.notice("fft-threads-idle",
                           setting.words(cpus) + ": only " + std::to_string(bound.working) + " worked",
                           "the planner found fewer threads faster, or the library has none");
  }
  name(bench, setting, series);
  ++bench.done;
  bind_all(cpus);
  if (!bench.options.verify) return bench.emitter.series(series, nullptr);
  const PhaseMark mark(bench.emitter, "verify", setting.words(cpus));
  const Residual residual = check(bench, timed);
  bench.emitter.series(series, &residual);
}

/// Every case of the options, in order.
void run_all(Bench& bench) {
  const auto& options = bench.options;
  for (const bool in_double : {true, false}) {
    if (!(in_double ? options.in_double : options.in_single)) continue;
    for (const auto& shape : options.shapes) {
      for (const auto threads : options.threads) {
        for (const bool each : {false, true}) {
          if (!(each ? options.each : options.together)) continue;
          for (const bool cold : {false, true}) {
            if (!(cold ? options.cold : options.warm)) continue;
            const Setting setting{shape, static_cast<int>(threads), each, cold, in_double};
            in_double ? run_case<double>(bench, setting) : run_case<float>(bench, setting);
          }
        }
      }
    }
  }
}

template <class T>
void prepare(const Options& options, const Fftw& library, int threads, Emitter& emitter) {
  const auto& api = library.api<T>();
  if (threads > 1 && api.init_threads != nullptr && api.init_threads() == 0)
    throw cannot("the library could not start its threads", "take --threads 1");
  if (!options.save_wisdom.empty() && api.export_wisdom == nullptr)
    throw cannot(library.title() + " does not write plans", "leave --save-wisdom out");
  if (options.plan_limit > 0 && api.set_timelimit != nullptr) api.set_timelimit(options.plan_limit);
  if (options.wisdom.empty()) return;
  const bool read = api.import_wisdom != nullptr && api.import_wisdom(options.wisdom.c_str()) != 0;
  if (!read)
    emitter.notice("fft-wisdom", "the plans in " + options.wisdom + " were not taken",
                   "they must be of this library's version and precision");
}

void doubt(const Fftw& library, Emitter& emitter) {
  const auto isas = machine_isas();
  const bool wide = std::find(isas.begin(), isas.end(), "avx512") != isas.end();
  const bool lacks =
      library.description.find("avx2") != std::string::npos && library.description.find("avx512") == std::string::npos;
  if (library.name == "fftw" && wide && lacks)
    emitter.notice("fft-kernels",
                   "this FFTW was built without AVX-512 (" + library.description + "), which this processor has",
                   "build FFTW with --enable-avx512, or measure MKL or AOCL-FFTW beside it");
}

template <class T>
void save(const Options& options, const Fftw& library) {
  const auto& api = library.api<T>();
  if (api.export_wisdom == nullptr || api.export_wisdom(options.save_wisdom.c_str()) == 0)
    throw cannot("the plans cannot be written to " + options.save_wisdom,
                 "name a file in a folder that can be written");
}

int run(int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  const auto most = static_cast<int>(*std::max_element(options.threads.begin(), options.threads.end()));
  const auto cpus = choose_cpus(most, options.cpus);
  bind_thread(cpus);  // before loading: a library sees these CPUs as its machine
  const Fftw library = load_fftw(options.library, most, options.in_double, options.in_single);
  if (library.threading == "serial" && options.together && most > 1)
    throw cannot(library.title() + " has no threads",
                 "install its file for threads (libfftw3_omp.so.3 beside it), or take --batch each or --threads 1");
  Emitter emitter;
  Bench bench{options, library, options.label.empty() ? library.title() : options.label, cpus, emitter};
  for (const auto& level : data_caches(cpus.front())) bench.last_cache = std::max(bench.last_cache, level.bytes);
  if (bench.last_cache == 0) bench.last_cache = kCacheIfUnknown;
  Object facts = library.facts();
  facts.add("threads", options.threads).add("cpus", format_cpu_list(allowed_cpus())).add("plan", options.plan);
  facts.add("last_cache_bytes", bench.last_cache).add("pages_asked", options.page_word);
  if (const char* spins = std::getenv("GOMP_SPINCOUNT"); spins != nullptr) facts.add("gomp_spincount", spins);
  emitter.start("fft", argc, argv, facts);
  doubt(library, emitter);
  if (options.in_double) prepare<double>(options, library, most, emitter);
  if (options.in_single) prepare<float>(options, library, most, emitter);
  run_all(bench);
  emitter.end();
  if (!options.save_wisdom.empty()) options.in_double ? save<double>(options, library) : save<float>(options, library);
  return emitter.ok() ? kOk : kCheckFailed;
}

}  // namespace
}  // namespace shakedown::fft

int main(int argc, char** argv) { return shakedown::run_main("fft", argc, argv, shakedown::fft::run); }
