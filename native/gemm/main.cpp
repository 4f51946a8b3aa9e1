// DGEMM and SGEMM of a BLAS that is loaded at run time: samples, work and check for each precision, order and number of
// threads. The operation and its data are in gemm.hpp, the check in verify.hpp, the model in README.md.
#include <algorithm>
#include <cmath>
#include <iterator>

#include "common/args.hpp"
#include "common/emit.hpp"
#include "gemm.hpp"
#include "pool.hpp"
#include "verify.hpp"

namespace shakedown::gemm {
namespace {

/// Clocks have risen and the library's buffers are faulted in after this.
constexpr double kWarmSeconds = 0.1;
/// A product of this order occupies all threads of a node.
constexpr std::int64_t kPartOrder = 1024;

struct Options {
  std::string library, label, cpus, precision;
  std::vector<std::int64_t> sizes, threads;
  double alpha = 1, beta = 0, seconds = 0, sample_flop = 0;
  std::int64_t samples = 0, seed = 0;
  std::string page_word;
  Pages pages = Pages::huge;
  bool verify = true;
};

Options parse(int argc, char** argv) {
  Args args(argc, argv, "gemm: C = alpha A B + beta C by the BLAS library that is named, verified");
  Options o;
  o.library = args.text("library", "", "path of the BLAS library (required)");
  o.label = args.text("label", "", "what the cases call the library (default: the name and version that it gives)");
  o.sizes = args.integers("sizes", "1024,2048,4096", 1, "orders n of the square matrices");
  o.threads = args.integers("threads", std::to_string(usable_cores()), 1,
                            "numbers of threads of the library, one case each (default: one for each core)");
  o.cpus = args.text("cpus", "", "CPUs to use, in order: t threads take the first t (default: cores first, spread)");
  o.precision = args.text("precision", "d,s", "d (double), s (single) or both");
  o.samples = args.integer("samples", 5, 1, "at least so many samples for each case");
  o.seconds = args.real("seconds", 0, 0, "repeat each case for at least so many seconds");
  o.sample_flop = args.real("sample-flop", 2e9, 1, "a sample is one call, or as many as do at least so much");
  o.alpha = args.real("alpha", 1, -1e6, "alpha");
  o.beta = args.real("beta", 0, -1, "beta, -1 to 1; 0: C is not read");
  o.seed = args.integer("seed", 1, 0, "chooses the rows and the vector of the check");
  o.page_word = args.text("pages", "huge", "huge, base or hugetlb pages for the matrices");
  o.pages = parse_pages(o.page_word);
  o.verify = !args.flag("no-verify", "leave the check out");
  args.finish();
  if (o.library.empty()) throw usage("no library was named", "--library PATH; 'shakedown machine' lists those found");
  if (o.beta > 1) throw usage("--beta is above 1: C would grow without bound over the calls", "choose -1 to 1");
  if (o.sizes.empty() || o.threads.empty()) throw usage("nothing to measure", "give --sizes and --threads");
  for (const char c : o.precision) {
    if (c != 'd' && c != 's' && c != ',') throw usage("--precision '" + o.precision + "'", "d, s or d,s");
  }
  if (o.precision.find_first_of("ds") == std::string::npos) throw usage("--precision is empty", "d, s or d,s");
  return o;
}

/// How many threads worked: CPU time of the process over that of the calling thread, which is busy as long as a call
/// lasts.
class Workers {
 public:
  void begin() {
    process_ns_ -= read_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    thread_ns_ -= read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
  }
  void end() {
    process_ns_ += read_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    thread_ns_ += read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
  }
  [[nodiscard]] double threads() const {
    return thread_ns_ > 0 ? static_cast<double>(process_ns_) / static_cast<double>(thread_ns_) : 1;
  }

 private:
  std::int64_t process_ns_ = 0, thread_ns_ = 0;
};

/// What stays for the whole program.
struct Bench {
  const Options& options;
  const Blas& blas;
  const std::string label;
  const std::vector<int>& cpus;
  Emitter& emitter;
  Buffer a, b, c;
  double total_flop = 0;  // of all samples, for the progress
  double done_flop = 0;
  bool told_serial = false;
  bool told_pages = false;

  [[nodiscard]] std::vector<int> first_cpus(int threads) const { return {cpus.begin(), cpus.begin() + threads}; }
};

/// One case: the matrices of one precision and order, and the threads that the library has.
template <class T>
struct Timed {
  Problem problem;
  T *a, *b, *c;
  int threads;

  void call(const Blas& blas) const {
    blas.gemm('N', 'N', problem.n, problem.n, problem.n, static_cast<T>(problem.alpha), a, problem.n, b, problem.n,
              static_cast<T>(problem.beta), c, problem.n);
  }
  /// The same on a part of the matrices: enough to see which threads work.
  void call_part(const Blas& blas) const {
    Timed small = *this;
    small.problem.n = std::min(problem.n, kPartOrder);
    small.call(blas);
  }
  [[nodiscard]] std::string kernel() const { return sizeof(T) == 4 ? "sgemm" : "dgemm"; }
  [[nodiscard]] std::string words(const std::vector<int>& on) const {
    return kernel() + ' ' + std::to_string(problem.n) + ", " + std::to_string(threads) +
           (threads == 1 ? " thread on CPU " : " threads on CPUs ") + format_cpu_list(on);
  }
};

/// Call until caches, page tables and clock have settled.
template <class T>
void warm_up(const Blas& blas, const Timed<T>& timed) {
  const double begin = now_s();
  do {
    timed.call(blas);
  } while (now_s() - begin < kWarmSeconds);
}

/// The samples of one case, each of a fixed number of calls, so that the repeats of a run do the same work.
template <class T>
Case sample(Bench& bench, const Timed<T>& timed) {
  const auto calls =
      std::max<std::int64_t>(1, std::llround(std::ceil(bench.options.sample_flop / timed.problem.flop())));
  const double flop = timed.problem.flop() * static_cast<double>(calls);
  Case series;
  series.kernel = timed.kernel();
  series.params.add("n", timed.problem.n).add("threads", timed.threads).add("library", bench.label);
  series.work.add("flop", flop).add("calls", calls);
  series.begin_ns = unix_ns();
  const double begin = now_s();
  while (std::ssize(series.seconds) < bench.options.samples || now_s() - begin < bench.options.seconds) {
    const double start = now_s();
    for (std::int64_t i = 0; i < calls; ++i) timed.call(bench.blas);
    series.seconds.push_back(now_s() - start);
    bench.done_flop += flop;
    bench.emitter.progress(std::min(1.0, bench.done_flop / bench.total_flop),
                           series.kernel + ' ' + std::to_string(timed.problem.n));
  }
  series.end_ns = unix_ns();
  return series;
}

/// The number of threads that the library has for this case; 0 where it would only repeat another case. What a library
/// does not say is found by counting its threads at work.
template <class T>
int settle_threads(Bench& bench, const Timed<T>& timed, int asked) {
  const int said = bench.blas.set_threads(asked);
  bool serial = bench.blas.threading == "serial";
  if (!serial && !bench.blas.sets_threads && asked > 1) {
    Workers workers;
    workers.begin();
    timed.call_part(bench.blas);
    workers.end();
    serial = workers.threads() < 1.2;
  }
  if (!serial) {
    if (said <= 0 || said == asked) return asked;
    bench.emitter.notice(
        "blas-threads",
        bench.label + " was set to use " + std::to_string(asked) + " threads and uses " + std::to_string(said),
        "see what its build or its environment variables limit");
    return std::min(said, asked);
  }
  if (asked > 1 && !bench.told_serial) {
    bench.emitter.notice("blas-serial", bench.label + " uses one thread only: measured with one",
                         "install its build for threads, or name another library");
    bench.told_serial = true;
  }
  return asked == bench.options.threads.front() ? 1 : 0;
}

template <class T>
Residual check(const Bench& bench, const Timed<T>& timed) {
  Team team(bench.first_cpus(timed.threads));
  if (timed.problem.beta != 0) {  // the timed calls have added up: check one call on a fresh C
    fill(team, Matrix::c, timed.problem.n, timed.c);
    timed.call(bench.blas);
  }
  const auto seed = static_cast<std::uint64_t>(bench.options.seed);
  return {residual(team, timed.problem, seed, timed.a, timed.b, timed.c), kLimit, "eps n max|A| max|B|"};
}

/// On a product that is large enough for all, threads that do not work are missing by the library's doing.
template <class T>
void tell_idle(Bench& bench, const Timed<T>& timed, const std::string& what, int working) {
  if (timed.problem.n < kPartOrder || working == 0 || working >= timed.threads) return;
  bench.emitter.notice("blas-threads-idle", what + ": only " + std::to_string(working) + " worked",
                       "the library may be limited by its build or by a variable such as OMP_NUM_THREADS");
}

template <class T>
void run_case(Bench& bench, const Timed<T>& timed) {
  const auto cpus = bench.first_cpus(timed.threads);
  const std::string what = timed.words(cpus);
  Bound bound;
  {
    const PhaseMark mark(bench.emitter, "warmup", what);
    bound = bind_each(cpus, [&] { timed.call_part(bench.blas); });
    warm_up(bench.blas, timed);
  }
  tell_idle(bench, timed, what, bound.working);
  Case series;
  {
    const PhaseMark mark(bench.emitter, "measure", what + (bound.each ? ", one each" : ", not bound one to one"));
    series = sample(bench, timed);
  }
  bind_all(bench.cpus);
  if (!bench.options.verify) return bench.emitter.series(series, nullptr);
  const PhaseMark mark(bench.emitter, "verify", what);
  const Residual result = check(bench, timed);
  bench.emitter.series(series, &result);
}

/// Pages that are not as asked cost a few per cent: say so, once they are all touched.
void tell_pages(Bench& bench) {
  if (bench.told_pages || bench.a.bytes() < 4 * kHugePage) return;
  const std::string got = page_report(bench.a.data()).word();
  if (got != bench.options.page_word && got != "unknown")
    bench.emitter.notice("pages", bench.options.page_word + " pages were requested, and " + got + " pages were got",
                         "see /sys/kernel/mm/transparent_hugepage/enabled: madvise or always");
  bench.told_pages = true;
}

template <class T>
void run_precision(Bench& bench) {
  for (const auto n : bench.options.sizes) {
    Timed<T> timed{{n, static_cast<T>(bench.options.alpha), static_cast<T>(bench.options.beta)},
                   bench.a.as<T>().data(),
                   bench.b.as<T>().data(),
                   bench.c.as<T>().data(),
                   1};
    bind_all(bench.cpus);
    {
      const PhaseMark mark(bench.emitter, "init", "n " + std::to_string(n));
      Team team(bench.cpus);
      fill(team, Matrix::a, n, timed.a);
      fill(team, Matrix::b, n, timed.b);
      fill(team, Matrix::c, n, timed.c);
    }
    if (n == *std::max_element(bench.options.sizes.begin(), bench.options.sizes.end())) tell_pages(bench);
    for (const auto asked : bench.options.threads) {
      timed.threads = settle_threads(bench, timed, static_cast<int>(asked));
      if (timed.threads == 0) continue;
      {
        Team team(bench.cpus);
        bench.options.beta == 0 ? fill_nan(team, n, timed.c) : fill(team, Matrix::c, n, timed.c);
      }
      run_case(bench, timed);
    }
  }
}

double flop_of_all(const Options& options) {
  double flop = 0;
  for (const auto n : options.sizes) flop += std::max(Problem{n}.flop(), options.sample_flop);
  const bool both =
      options.precision.find('d') != std::string::npos && options.precision.find('s') != std::string::npos;
  return flop * static_cast<double>(options.samples) * static_cast<double>(options.threads.size()) * (both ? 2 : 1);
}

int run(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const auto most = static_cast<int>(*std::max_element(options.threads.begin(), options.threads.end()));
  const auto cpus = choose_cpus(most, options.cpus);
  const auto n = static_cast<std::uint64_t>(*std::max_element(options.sizes.begin(), options.sizes.end()));
  const bool in_double = options.precision.find('d') != std::string::npos;
  const std::uint64_t bytes = n * n * (in_double ? sizeof(double) : sizeof(float));
  require_memory(3 * bytes, "three matrices of order " + std::to_string(n));
  bind_thread(cpus);  // before loading: a library sees these CPUs as its machine
  const Blas blas = Blas::load(options.library, most);
  if (!blas.sets_threads && blas.threading != "serial" && options.threads.size() > 1)
    throw usage(blas.title() + " cannot change its number of threads while it runs", "ask for one number in a run");

  Emitter emitter;
  Bench bench{options,
              blas,
              options.label.empty() ? blas.title() : options.label,
              cpus,
              emitter,
              Buffer(bytes, options.pages),
              Buffer(bytes, options.pages),
              Buffer(bytes, options.pages),
              flop_of_all(options)};
  Object facts = blas.facts();
  facts.add("threads", options.threads).add("cpus", format_cpu_list(allowed_cpus())).add("alpha", options.alpha);
  facts.add("beta", options.beta).add("pages_asked", options.page_word);
  emitter.start("gemm", argc, argv, facts);
  if (const auto doubt = blas.kernel_doubt(); !doubt.text.empty()) {
    emitter.notice("blas-kernels", doubt.text, doubt.advice);
  }
  if (in_double) run_precision<double>(bench);
  if (options.precision.find('s') != std::string::npos) run_precision<float>(bench);
  emitter.end();
  return emitter.ok() ? kOk : kCheckFailed;
}

}  // namespace
}  // namespace shakedown::gemm

int main(int argc, char** argv) { return shakedown::run_main("gemm", argc, argv, shakedown::gemm::run); }
