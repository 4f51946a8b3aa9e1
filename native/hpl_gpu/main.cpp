// HPL on GPUs: parse -> join -> open the device -> for every run of the sweep: ceiling, factor and solve, check, emit,
// diagnose.
#include <unistd.h>

#include "gpu/image.hpp"
#include "hpl/session.hpp"
#include "hpl/wire.hpp"
#include "job.hpp"
#include "runs.hpp"

SHAKEDOWN_GPU_IMAGE(hpl_gpu);

namespace shakedown::hpl_gpu {
namespace {

/// The part of one GPU in the rate, which its peak bounds: as valid as the whole, whose energy it has no part of alone.
void emit_each(Emitter& emitter, double threshold, const Object& params, const hpl::Report& report,
               const Setup& setup) {
  if (report.seconds.empty()) return;
  const Residual residual{report.check.residual, threshold, "HPL scaled residual"};
  const double flop = hpl::flop_count(setup.base.n) / (setup.base.p * setup.base.q);
  emitter.series({"each", params, Object().add("flop", flop), report.seconds}, report.checked ? &residual : nullptr);
}

void tell(const Bench& bench, const Setup& setup, const Report& own, const Awareness& aware,
          const std::vector<std::pair<int, hpl::Report>>& reports, const std::vector<Object>& seen) {
  const auto& options = bench.options;
  for (const auto& [leader, report] : reports) {
    Object params = params_of(options, setup, bench.calls.device().info());
    if (options.hpl.per_host) params.add("host", bench.world.hosts[static_cast<std::size_t>(leader)]);
    emit_report(bench.emitter, options.hpl, params, report, setup.base.n);
    emit_each(bench.emitter, options.hpl.sweep.threshold, params, report, setup);
  }
  const auto& report = own.hpl;
  if (report.seconds.empty()) return;
  Object params = params_of(options, setup, bench.calls.device().info());
  if (options.hpl.per_host) params.add("host", bench.world.my_host());
  const double share = own.panel_busy / total(report.shares);
  bench.emitter.series({"panel_busy", params, Object().add("value", share)}, nullptr);
  const auto bytes = Store::bytes(setup, geometry_of(setup, 0, 0));
  Object facts;
  facts.add("memory_bytes", bytes.device).add("pinned_bytes", bytes.pinned);
  if (!seen.empty()) facts.add("conditions", seen);
  bench.emitter.facts(facts);
  for (const auto& finding : diagnose(report, setup, aware.reason))
    bench.emitter.notice("diagnosis", finding.text, finding.advice);
}

/// One run on all groups; rank 0 tells of it.
void do_run(const Bench& bench, const hpl::Variant& variant, const Setup& setup, const Awareness& aware,
            hpl::Scribe* scribe) {
  const Report mine = run(bench, setup);
  const auto reports = gather_reports(bench.world, mine.hpl);
  const auto seen = conditions(bench.world, mine.conditions);
  if (bench.world.rank != 0) return;
  tell(bench, setup, mine, aware, reports, seen);
  if (!mine.hpl.seconds.empty()) scribe->ran(variant, mine.hpl);
}

int sweep(const Bench& bench, Options& options, const Awareness& aware, hpl::Scribe* scribe) {
  auto& dat = options.hpl.sweep;
  if (options.hpl.n_auto) {
    hpl::Variant first = run_at(dat, 0);
    first.n = hpl::kMostInt;
    dat.n = {choose_n(bench, setup_of(options, first, !aware.direct))};
  }
  const auto one = [&](const hpl::Variant& variant) {
    if (variant.n == 0) throw cannot("N = 0: there is nothing to solve", "name an N above 0");
    const Setup setup = setup_of(options, variant, !aware.direct);
    require_room(bench, setup);
    do_run(bench, variant, setup, aware, scribe);
  };
  return run_sweep(bench.world, bench.emitter, dat, one, [&] { scribe->skipped(); });
}

int run_all(int argc, char** argv, Options options, const std::vector<std::string>& notices) {
  const auto emulation = forbid_emulation();
  const hpl::World world = join(options.hpl);
  together(world.all, [&] { choose_grid(options.hpl, world.group_size); });
  const auto device = my_device(options, world);
  std::unique_ptr<Calls> calls;
  hpl::File events;
  std::unique_ptr<hpl::Scribe> scribe;
  together(world.all, [&] {
    calls = std::make_unique<Calls>(*device, module(hpl_gpu_image()));
    if (world.rank != 0) return;
    const auto& h = options.hpl;
    events = hpl::open_output(h.events_file.empty() ? (h.events ? "-" : "") : h.events_file);
    scribe = std::make_unique<hpl::Scribe>(h.netlib_file, h.sweep);
  });
  const Awareness aware = awareness(options);
  prove(aware, *device, world.all);
  Emitter emitter(world.rank == 0 ? events.get() : nullptr);
  const Setup first = setup_of(options, run_at(options.hpl.sweep, 0), !aware.direct);
  emitter.start("hpl_gpu", argc, argv, start_facts(options, world, *device, aware, first.base));
  tell_of_options(emitter, options, notices);
  for (const auto& text : emulation) {
    emitter.notice("fp64-emulation", text + " was set, and is not heeded here",
                   "HPL's operations are in double precision; measure emulated products with gpu_gemm");
  }
  const Bench bench{options, world, *calls, emitter};
  const int code = guarded("hpl_gpu", emitter, world, [&] { return sweep(bench, options, aware, scribe.get()); });
  if (scribe != nullptr) scribe->end();
  emitter.end();
  return code;
}

}  // namespace
}  // namespace shakedown::hpl_gpu

int main(int argc, char** argv) {
  using namespace shakedown;
  using namespace shakedown::hpl_gpu;
  std::vector<std::string> notices;
  return mpi_main(
      "hpl_gpu", argc, argv, MPI_THREAD_FUNNELED, [&] { read_options(argc, argv, std::nullopt, notices); },
      [&] {
        const auto options = hpl_gpu::read_options(argc, argv, hpl_gpu::dat_text(argc, argv), notices);
        return run_all(argc, argv, options, notices);
      });
}
