// HPL: parse -> join -> load the BLAS -> for every run of the sweep: ceiling, factor and solve, check, emit, diagnose.
#include <memory>

#include "diagnose.hpp"
#include "library.hpp"
#include "session.hpp"
#include "wire.hpp"

namespace shakedown::hpl {
namespace {

Object start_facts(const Options& options, const World& world, const Blas& blas, const Kernels& loops,
                   const std::vector<Object>& grid) {
  Object facts = blas.facts();
  facts.add("isa", std::string(loops.isa)).add("ranks", world.size).add("grid", grid).add("mpi", mpi_version());
  std::vector<std::string> hosts(world.hosts);
  std::sort(hosts.begin(), hosts.end());
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  facts.add("hosts", hosts);
  if (!options.dat_file.empty()) facts.add("ignored", ignored(options.sweep));
  return facts;
}

/// One run on all groups; rank 0 tells of it.
void do_run(Bench& bench, const Variant& variant, Scribe* scribe) {
  const auto& world = bench.world;
  const Config config = config_of(bench.options, variant);
  const auto free_bytes = memory_room().bytes;
  const Report mine = run(bench, config);
  const auto reports = gather_reports(world, mine);
  if (world.rank != 0) return;
  const int first = config.progress_thread ? 1 : 0;
  for (const auto& [leader, report] : reports) {
    Object params = params_of(bench.options, config, bench.team.size() - first);
    if (bench.options.per_host) params.add("host", world.hosts[static_cast<std::size_t>(leader)]);
    emit_report(bench.emitter, bench.options, params, report, config.n);
  }
  const Report& own = reports.front().second;
  if (bench.system != nullptr)
    bench.emitter.facts(
        Object().add("pages", bench.system->pages()).add("memory_bytes", run_bytes(bench.shape, bench.team.size())));
  if (own.seconds.empty()) return;
  const int on_host = std::min(world.host_size, config.p * config.q);
  const Circumstances around{(bench.team.size() - first) * config.p * config.q,
                             run_bytes(config, bench.team.size()) * static_cast<std::uint64_t>(on_host), free_bytes,
                             bench.system->pages(), bench.options.pages != Pages::base};
  for (const auto& finding : diagnose(own, config, bench.blas, around)) {
    bench.emitter.notice("diagnosis", finding.text, finding.advice);
  }
  scribe->ran(variant, own);
}

int sweep(Bench& bench, Options& options, Scribe* scribe) {
  if (options.n_auto) {
    Variant first = run_at(options.sweep, 0);
    first.n = std::numeric_limits<std::int32_t>::max();
    options.sweep.n = {choose_n(bench, config_of(options, first))};
  }
  bool skipped = false;
  std::optional<Config> roomy;  // for which there is memory: every rank decides alike, also those outside the grid
  const auto count = run_count(options.sweep);
  for (std::uint64_t i = 0; i < count; ++i) {
    const Variant variant = run_at(options.sweep, i);
    try {
      if (variant.n == 0) throw cannot("N = 0: there is nothing to solve", "name an N above 0");
      const Config config = config_of(options, variant);
      if (!roomy || !fits(*roomy, config)) {
        bench.system.reset();  // first: both might not fit
        roomy.reset();
        require_room(bench.world, config, bench.team.size());
        roomy = config;
      }
      do_run(bench, variant, scribe);
    } catch (const Error& error) {  // the same on every rank
      if (count == 1 || error.code != kCouldNotMeasure) throw;
      skipped = true;
      if (bench.world.rank == 0) {
        bench.emitter.notice("skipped", error.what());
        scribe->skipped();
      }
    }
  }
  int code = !bench.emitter.ok() ? kCheckFailed : skipped ? kCouldNotMeasure : kOk;
  MPI_Bcast(&code, 1, MPI_INT, 0, bench.world.all);
  return code;
}

int run_all(int argc, char** argv, Options options, const std::vector<std::string>& notices) {
  const World world = join(options);
  together(world.all, [&] { choose_grid(options, world.group_size); });
  Blas blas;
  std::unique_ptr<Team> team;
  const Kernels* loops = nullptr;
  File events;
  std::unique_ptr<Scribe> scribe;
  together(world.all, [&] {
    loops = &kernels(options.isa);
    blas = load_blas(options.library);
    if (options.solve == Solve::blas && blas.routine<void()>("dtrsm") == nullptr) {
      throw cannot("no DTRSM in " + blas.path, "name another --library, or leave --trsm blas out");
    }
    team = std::make_unique<Team>(world.my_cpus());
    if (world.rank != 0) return;
    events = options.events_file.empty() ? open_output(options.events ? "-" : "") : open_output(options.events_file);
    scribe = std::make_unique<Scribe>(options.netlib_file, options.sweep);
  });
  Emitter emitter(world.rank == 0 ? events.get() : nullptr);
  Grid whole;  // the places in the first grid: those of others are said by their cases
  {
    Config first = config_of(options, run_at(options.sweep, 0));
    whole = make_grid(world, first);
  }
  const auto grid = grid_facts(world, whole, team->binding());
  free_grid(whole);
  emitter.start("hpl", argc, argv, world.rank == 0 ? start_facts(options, world, blas, *loops, grid) : Object());
  for (const auto& text : notices) emitter.notice("hpl_dat", text);
  Bench bench{options, world, blas, *loops, *team, emitter, nullptr, {}};
  const int code = sweep(bench, options, scribe.get());
  if (scribe != nullptr) scribe->end();
  emitter.end();
  return code;
}

}  // namespace
}  // namespace shakedown::hpl

int main(int argc, char** argv) {
  using namespace shakedown;
  using namespace shakedown::hpl;
  std::vector<std::string> notices;
  return mpi_main(
      "hpl", argc, argv, MPI_THREAD_FUNNELED, [&] { read_options(argc, argv, std::nullopt, notices); },
      [&] {
        std::optional<std::string> dat;
        if (const auto name = dat_file_of(argc, argv); !name.empty()) dat = read_everywhere(name);
        return run_all(argc, argv, read_options(argc, argv, dat, notices), notices);
      });
}
