// HPL-MxP on GPUs: parse -> join -> open the device -> for every run of the sweep: ceiling, factor and refine, check,
// emit, diagnose.
#include <unistd.h>

#include <cmath>

#include "gpu/image.hpp"
#include "hpl/runs.hpp"
#include "hpl/session.hpp"
#include "hpl_gpu/job.hpp"
#include "runs.hpp"

SHAKEDOWN_GPU_IMAGE(hpl_mxp);

namespace shakedown::hpl_mxp {
namespace {

using hpl_gpu::Awareness;

/// The cases of one group's run: they are HPL-MxP's and have its own names throughout.
class Teller {
 public:
  Teller(Emitter& emitter, const Object& params, const Report& report)
      : emitter_(emitter), params_(params), report_(report) {}

  void series(const char* kernel, const Object& work, const std::vector<double>& seconds,
              std::vector<TimeSpan> spans = {}, const Residual* check = nullptr) const {
    emitter_.series({kernel, params_, work, seconds, 0, 0, std::move(spans)}, check);
  }
  void value(const char* kernel, double value) const { series(kernel, Object().add("value", value), {}); }

  void tell(double threshold, Index n, int ranks) const {
    const auto& r = report_;
    if (!r.ceiling_seconds.empty() && r.ceiling_flop > 0)
      series("ceiling", Object().add("flop", r.ceiling_flop), r.ceiling_seconds, r.ceiling_spans);
    if (r.seconds.empty()) return;
    const Residual residual{r.residual, threshold, "HPL scaled residual"};
    const Residual* check = r.checked ? &residual : nullptr;
    const double flop = hpl::flop_count(n);
    const auto order = static_cast<double>(n);
    series("hpl_mxp", Object().add("flop", flop), r.seconds, r.spans, check);
    series("each", Object().add("flop", flop / ranks), r.seconds, {}, check);  // its energy is the whole's
    // The refinement follows the factorization.
    std::vector<double> refinement;
    std::vector<TimeSpan> factoring, refining;
    for (std::size_t i = 0; i < r.seconds.size(); ++i) {
      refinement.push_back(r.seconds[i] - r.factor_seconds[i]);
      const std::int64_t between = r.spans[i].begin_ns + std::llround(r.factor_seconds[i] * 1e9);
      factoring.push_back({r.spans[i].begin_ns, between});
      refining.push_back({between, r.spans[i].end_ns});
    }
    series("factorization", Object().add("flop", 2.0 / 3.0 * order * order * order), r.factor_seconds, factoring,
           check);
    series("refining", Object().add("solutions", 1), refinement, refining, check);
    value("steps", *std::max_element(r.steps.begin(), r.steps.end()));
    for (const auto& account : kAccounts) value(account.name, r.shares.*account.seconds / total(r.shares));
    value("panel_busy", r.panel_busy / total(r.shares));
  }

 private:
  Emitter& emitter_;
  const Object& params_;
  const Report& report_;
};

void tell(const Bench& bench, const Setup& setup, const Report& own, const Awareness& aware,
          const std::vector<std::pair<int, Report>>& reports, const std::vector<Object>& seen) {
  const auto& options = bench.options;
  for (const auto& [leader, report] : reports) {
    Object params = params_of(options, setup, bench.calls.device().info());
    const auto& host = bench.world.hosts[static_cast<std::size_t>(leader)];
    if (options.run.hpl.per_host) params.add("host", host);
    Teller(bench.emitter, params, report)
        .tell(options.run.hpl.sweep.threshold, setup.base.n, setup.base.p * setup.base.q);
    if (!report.seconds.empty() && !report.converged) {
      const bool passed = report.checked && report.residual <= options.run.hpl.sweep.threshold;
      bench.emitter.notice("not-converged",
                           "refinement ended before the residual was " + std::to_string(setup.accuracy) +
                               (options.run.hpl.per_host ? " on " + host : ""),
                           passed
                               ? "the solution passes: a larger --accuracy, or more --refinements"
                               : "the factors are too far from the matrix: look for wrong products (gpu_gemm, burnin)");
    }
  }
  if (own.seconds.empty()) return;
  const auto bytes = Store::bytes(setup, geometry_of(setup, 0, 0));
  Object facts;
  facts.add("memory_bytes", bytes.device).add("pinned_bytes", bytes.pinned).add("residuals", own.residuals);
  facts.add("generate_s", own.generate_seconds).add("scale", scale_of(setup.base.n));
  if (!seen.empty()) facts.add("conditions", seen);
  bench.emitter.facts(facts);
  for (const auto& finding : diagnose(own, setup, aware.reason))
    bench.emitter.notice("diagnosis", finding.text, finding.advice);
}

/// One run on all groups; rank 0 tells of it.
void do_run(const Bench& bench, const Setup& setup, const Awareness& aware) {
  gpu::Conditions mine;
  const Report report = run(bench, setup, mine);
  const auto reports = gather_reports(bench.world, report);
  const auto seen = hpl_gpu::conditions(bench.world, mine);
  if (bench.world.rank == 0) tell(bench, setup, report, aware, reports, seen);
}

int sweep(const Bench& bench, Options& options, const Awareness& aware) {
  auto& dat = options.run.hpl.sweep;
  if (options.run.hpl.n_auto) {
    hpl::Variant first = run_at(dat, 0);
    first.n = hpl::kMostInt;
    dat.n = {choose_n(bench, setup_of(options, first, !aware.direct))};
  }
  const auto one = [&](const hpl::Variant& variant) {
    if (variant.n < 2) throw cannot("N = " + std::to_string(variant.n) + ": there is nothing to solve", "N above 1");
    const Setup setup = setup_of(options, variant, !aware.direct);
    require_room(bench, setup);
    do_run(bench, setup, aware);
  };
  return hpl_gpu::run_sweep(bench.world, bench.emitter, dat, one, [] {});
}

int run_all(int argc, char** argv, Options options, const std::vector<std::string>& notices) {
  auto& h = options.run.hpl;
  const hpl::World world = join(h);
  together(world.all, [&] { choose_grid(h, world.group_size); });
  const auto device = hpl_gpu::my_device(options.run, world);
  std::unique_ptr<Calls> calls;
  hpl::File events;
  together(world.all, [&] {
    if (!device->blas().supports(format_of(options.precision))) {
      throw cannot(device->info().name + " has no products in " + word(options.precision),
                   options.precision == Precision::bf16 ? "--precision fp16" : "a newer GPU");
    }
    calls = std::make_unique<Calls>(*device, module(hpl_mxp_image()));
    if (world.rank == 0) events = hpl::open_output(h.events_file.empty() ? "-" : h.events_file);
  });
  const Awareness aware = hpl_gpu::awareness(options.run);
  prove(aware, *device, world.all);
  Emitter emitter(world.rank == 0 ? events.get() : nullptr);
  const Setup first = setup_of(options, run_at(h.sweep, 0), !aware.direct);
  emitter.start("hpl_mxp", argc, argv, hpl_gpu::start_facts(options.run, world, *device, aware, first.base));
  hpl_gpu::tell_of_options(emitter, options.run, notices);
  const Bench bench{options, world, *calls, emitter};
  const int code = hpl_gpu::guarded("hpl_mxp", emitter, world, [&] { return sweep(bench, options, aware); });
  emitter.end();
  return code;
}

}  // namespace
}  // namespace shakedown::hpl_mxp

int main(int argc, char** argv) {
  using namespace shakedown;
  std::vector<std::string> notices;
  return mpi_main(
      "hpl_mxp", argc, argv, MPI_THREAD_FUNNELED, [&] { hpl_mxp::read_options(argc, argv, std::nullopt, notices); },
      [&] {
        const auto options = hpl_mxp::read_options(argc, argv, hpl_gpu::dat_text(argc, argv), notices);
        return hpl_mxp::run_all(argc, argv, options, notices);
      });
}
