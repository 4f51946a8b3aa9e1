// hpl_probe: parse -> join -> load the BLAS -> plan -> allocate -> for every case: measure, check, emit.
#include <cmath>
#include <limits>
#include <map>
#include <memory>

#include "hpl/library.hpp"
#include "hpl_probe.hpp"
#include "verify.hpp"

namespace shakedown::hpl_probe {
namespace {

hpl::World join_world(const Options& options) {
  hpl::Options like;
  like.threads = options.threads;
  like.cpus = options.cpus;
  like.allow_oversubscribe = options.allow_oversubscribe;
  auto world = hpl::join(like);
  together(world.all, [&] {
    for (const auto& cpus : world.cpus) {
      if (cpus.size() == world.cpus.front().size()) continue;
      throw cannot("ranks have " + std::to_string(world.cpus.front().size()) + " and " + std::to_string(cpus.size()) +
                       " threads: their figures could not be laid side by side",
                   "name the same --threads for all");
    }
  });
  return world;
}

/// What the ranks of a host may take together, on the host that has least.
std::uint64_t room(const hpl::World& world) {
  std::uint64_t bytes = memory_room().bytes / static_cast<std::uint64_t>(world.host_size);
  MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_UINT64_T, MPI_MIN, world.all);
  return bytes;
}

/// Leave out messages for which memory is too small; what was left out.
std::vector<Index> drop_large(Sweep& sweep, std::uint64_t rank_bytes) {
  constexpr std::uint64_t kPart = 8;
  std::vector<Index> dropped;
  std::erase_if(sweep.sizes, [&](Index size) {
    const bool large = static_cast<std::uint64_t>(size) > rank_bytes / kPart;
    if (large) dropped.push_back(size);
    return large;
  });
  return dropped;
}

void require_room(const hpl::World& world, const Extent& extent) {
  together(world.all, [&] {
    if (world.host_rank == 0) {
      require_memory(Field::bytes(extent) * static_cast<std::uint64_t>(world.host_size),
                     "the matrices of the ranks of " + world.my_host());
    }
  });
}

Object start_facts(const Bench& bench, const std::vector<Object>& grid, std::size_t cases) {
  Object facts = bench.blas.facts();
  facts.add("isa", std::string(bench.loops.isa)).add("ranks", bench.world.size).add("grid", grid);
  facts.add("mpi", mpi_version()).add("cases", cases).add("seed", bench.options.sweep.seed);
  facts.add("matrix_rows", bench.field.extent.height()).add("matrix_columns", bench.field.extent.columns);
  facts.add("memory_bytes", Field::bytes(bench.field.extent)).add("pages", bench.field.pages());
  return facts;
}

Object work_of(const Task& task, std::int64_t repeats) {
  const auto times = static_cast<double>(repeats);
  Object work;
  switch (task.kind) {
    case Kind::rows: {  // NB rows gathered and as many displaced, each read and written
      const double elements = 2 * static_cast<double>(task.k * task.columns);
      work.add("bytes", times * elements * 2 * sizeof(double)).add("elements", times * elements);
      break;
    }
    case Kind::ring:
      work.add("bytes", times * static_cast<double>(task.bytes)).add("messages", times);
      break;
    case Kind::latency:
      work.add("messages", 2 * times).add("bytes", 2 * times * static_cast<double>(task.bytes));
      break;
    default:
      work.add("flop", times * flop_of(task));
  }
  return work;
}

Residual residual_of(const Task& task, double error) {
  if (task.kind == Kind::rows) return {error, 0, "wrong entries"};
  if (task.kind == Kind::ring || task.kind == Kind::latency) return {error, 0, "wrong words"};
  return {error, 1, "error over the bound of rounding"};
}

double largest_error(double error, MPI_Comm comm) {
  if (std::isnan(error)) error = std::numeric_limits<double>::infinity();  // MPI_MAX may lose it
  MPI_Allreduce(MPI_IN_PLACE, &error, 1, MPI_DOUBLE, MPI_MAX, comm);
  return error;
}

void emit(Emitter& emitter, const Bench& bench, const Task& task, Object params, const Series& series, double error,
          double work_factor = 1) {
  Case found;
  found.kernel = std::string("probe.") + name_of(task.kind);
  found.params = std::move(params);
  found.work = work_factor == 1
                   ? work_of(task, series.repeats)
                   : Object().add("flop", work_factor * flop_of(task) * static_cast<double>(series.repeats));
  found.seconds = series.seconds;
  found.begin_ns = series.begin_ns;
  found.end_ns = series.end_ns;
  const Residual residual = residual_of(task, error);
  emitter.series(found, bench.options.verify ? &residual : nullptr);
}

/// One case for each host: its ranks' operations over the time of its slowest rank.
void emit_hosts(Emitter& emitter, const Bench& bench, const Task& task, Series series, double error) {
  const hpl::World& world = bench.world;
  const auto samples = series.mine.size();
  std::vector<double> all(world.rank == 0 ? samples * static_cast<std::size_t>(world.size) : 0);
  const auto count = static_cast<int>(samples);
  MPI_Gather(series.mine.data(), count, MPI_DOUBLE, all.data(), count, MPI_DOUBLE, 0, world.all);
  if (world.rank != 0) return;
  std::map<std::string, std::pair<int, std::vector<double>>> hosts;  // ranks, seconds
  for (std::size_t rank = 0; rank < world.hosts.size(); ++rank) {
    auto& [ranks, seconds] = hosts[world.hosts[rank]];
    seconds.resize(samples);
    ++ranks;
    for (std::size_t s = 0; s < samples; ++s) seconds[s] = std::max(seconds[s], all[rank * samples + s]);
  }
  for (const auto& [host, found] : hosts) {
    series.seconds = found.second;
    Object params = params_of(task, {found.first, task.threads, false, false}, 0);
    params.add("host", host).add("hosts", hosts.size());
    emit(emitter, bench, task, std::move(params), series, error, found.first);
  }
}

struct Rings {
  Ring within, across;
};

void run_case(Emitter& emitter, const Bench& bench, const Task& task, const Rings& rings) {
  const std::string name = name_of(task.kind);
  const Ring& ring = task.off ? rings.across : rings.within;
  if (bench.world.rank == 0) emitter.phase("measure", "begin", name);
  Series series;
  switch (task.kind) {
    case Kind::solve:
      series = measure_solve(bench, task);
      break;
    case Kind::rows:
      series = measure_rows(bench, task);
      break;
    case Kind::panel:
      series = measure_panel(bench, task);
      break;
    case Kind::ring:
    case Kind::latency:
      series = measure_messages(bench, task, ring);
      break;
    default:
      series = measure_product(bench, task);
  }
  const double error = largest_error(series.error, bench.world.all);
  if (bench.world.rank == 0) emitter.phase("measure", "end", name);
  if (task.kind == Kind::node) {
    emit_hosts(emitter, bench, task, series, error);
  } else if (bench.world.rank == 0) {
    emit(emitter, bench, task, params_of(task, bench.place, task.contended ? ring.senders : 1), series, error);
  }
}

int run_all(int argc, char** argv, Options options) {
  const hpl::World world = join_world(options);
  Place place{world.size, static_cast<int>(world.my_cpus().size()), false, false};
  const Rings rings{ring_within(world.hosts), ring_across(world.hosts)};
  place.on = rings.within.senders > 0;
  place.off = rings.across.senders > 0;
  auto& sweep = options.sweep;
  if (sweep.rows == 0) sweep.rows = default_rows();
  if (sweep.columns == 0) sweep.columns = default_columns(place.threads);
  sweep.rows = std::max(sweep.rows, sweep.nb.back());  // room for the solution of a triangle
  const auto dropped = drop_large(sweep, room(world));
  std::vector<Task> plan;
  Blas blas;
  const hpl::Kernels* loops = nullptr;
  std::unique_ptr<Team> team;
  std::unique_ptr<Field> field;
  together(world.all, [&] {
    plan = make_plan(sweep, place);
    loops = &hpl::kernels(options.isa);
    blas = hpl::load_blas(options.library);
    team = std::make_unique<Team>(world.my_cpus());
  });
  const Extent extent = extent_of(plan, sweep, place.threads);
  require_room(world, extent);
  together(world.all, [&] { field = std::make_unique<Field>(extent, *team, options.pages); });
  Budget budget(options.seconds_total, plan.size());
  const Bench bench{options, world, place, blas, *loops, *team, *field, budget};
  Emitter emitter(world.rank == 0 ? stdout : nullptr);
  hpl::Grid grid;
  grid.row = -1;  // there is none: the places alone
  const auto grid_facts = hpl::grid_facts(world, grid, team->binding());
  if (world.rank == 0) emitter.start("hpl_probe", argc, argv, start_facts(bench, grid_facts, plan.size()));
  for (const auto size : dropped) {
    emitter.notice("skipped",
                   "messages of " + show_bytes(static_cast<std::uint64_t>(size)) + " are left out: memory is too small",
                   "use fewer ranks, or free memory");
  }
  std::size_t done = 0;
  for (const auto& task : plan) {
    int over = budget.over() ? 1 : 0;
    MPI_Bcast(&over, 1, MPI_INT, 0, world.all);
    if (over != 0) break;
    budget.next();
    emitter.progress(static_cast<double>(done) / static_cast<double>(plan.size()), name_of(task.kind));
    run_case(emitter, bench, task, rings);
    ++done;
  }
  if (done < plan.size()) {
    emitter.notice("budget",
                   std::to_string(plan.size() - done) + " of " + std::to_string(plan.size()) +
                       " cases were not measured: the time was over",
                   "allow more with --seconds-total, or choose with --only");
  }
  int code = emitter.ok() ? kOk : kCheckFailed;
  MPI_Bcast(&code, 1, MPI_INT, 0, world.all);
  emitter.end();
  return code;
}

}  // namespace
}  // namespace shakedown::hpl_probe

int main(int argc, char** argv) {
  using namespace shakedown;
  hpl_probe::Options options;
  return mpi_main(
      "hpl_probe", argc, argv, MPI_THREAD_FUNNELED, [&] { options = hpl_probe::read_options(argc, argv); },
      [&] { return hpl_probe::run_all(argc, argv, options); });
}
