// One kernel as threads, as processes and as ranks of MPI, over some workers and over one: parse -> a helper without
// MPI
// -> join -> in turn, sample by sample: each way with one worker and with all -> verify -> emit.
#include <algorithm>
#include <map>
#include <memory>

#include "common/args.hpp"
#include "common/ranks.hpp"
#include "common/rest.hpp"
#include "helper.hpp"

namespace shakedown::workers {
namespace {

constexpr int kLead = 0;

struct Options {
  Task task;
  std::string scaling;
  std::int64_t samples = 0;
  RanksWanted ranks;
};

/// Whether each worker makes all sweeps.
constexpr std::pair<const char*, bool> kScalings[] = {{"strong", false}, {"weak", true}};

Options read_options(int argc, char** argv) {
  Args args(argc, argv, "workers: one kernel as threads, as processes and as ranks of MPI, on the same cores");
  Options o;
  o.scaling = args.text("scaling", "strong", "strong: all sweeps are dealt to the workers; weak: each makes all");
  o.task.sweeps = args.integer("sweeps", 20000, 1, "sweeps of a sample", std::int64_t{1} << 40);
  const auto bytes = args.integer("bytes", 131072, 64, "bytes of each worker's array", std::int64_t{1} << 36);
  o.task.meet_every = args.integer("meet-every", 0, 0, "after so many sweeps all wait for each other; 0: never");
  o.samples = args.integer("samples", 11, 1, "samples of each way");
  o.ranks = ranks_wanted(args, "workers");
  o.task.flip = args.text("inject", "", "flip: the last worker of each way ends with a wrong cell") == "flip";
  args.finish();
  o.task.each = named(o.scaling, "scaling", kScalings);
  o.task.cells = static_cast<std::size_t>(bytes) / sizeof(double);
  return o;
}

/// What is measured: a way with so many workers.
struct Pass {
  Way way;
  int workers;
  std::vector<double> seconds = {};
  std::vector<TimeSpan> spans = {};
  std::int64_t wrong = 0;
};

/// The ranks below `workers` work; the others sleep. What each told, on rank 0.
std::vector<Told> as_ranks(const Ranks& ranks, const Task& task, int workers) {
  Told told;
  const bool works = ranks.rank < workers;
  MPI_Comm among = MPI_COMM_NULL;
  MPI_Comm_split(ranks.control, works ? 0 : MPI_UNDEFINED, ranks.rank, &among);
  if (works) {
    Field field(task.cells);
    const auto begin_at = [&] {
      MPI_Barrier(among);
      double at = now_s() + 200e-6;
      MPI_Bcast(&at, 1, MPI_DOUBLE, kLead, among);
      return at;
    };
    told = work(field, task, ranks.rank, workers, begin_at, [&] { MPI_Barrier(among); });
    MPI_Comm_free(&among);
  }
  MPI_Request ended = MPI_REQUEST_NULL;
  MPI_Ibarrier(ranks.control, &ended);
  rest(ended);
  std::vector<Told> all(ranks.rank == kLead ? static_cast<std::size_t>(ranks.size) : 0);
  MPI_Gather(&told, sizeof told, MPI_BYTE, all.data(), sizeof told, MPI_BYTE, kLead, ranks.control);
  if (ranks.rank == kLead) all.resize(static_cast<std::size_t>(workers));
  return all;
}

/// The same by rank 0's helper, while all ranks sleep.
std::vector<Told> as_others(const Ranks& ranks, Helper& helper, const Task& task, const Pass& pass) {
  std::vector<Told> told;
  together(ranks.control, [&] {
    if (ranks.rank != kLead) return;
    const std::vector<int> cpus(ranks.cpus.begin(), ranks.cpus.begin() + pass.workers);
    told = helper.run(pass.way, task, cpus, ranks.oversubscribed);
  });
  return told;
}

/// Digests after each of these numbers of sweeps, by one worker alone.
std::map<std::int64_t, std::uint64_t> expected(const Task& task, const std::vector<Pass>& passes) {
  std::map<std::int64_t, std::uint64_t> digests;
  for (const Pass& pass : passes) {
    for (int worker = 0; worker < pass.workers; ++worker) digests[task.of(worker, pass.workers)] = 0;
  }
  Field field(task.cells);
  std::int64_t made = 0;
  for (auto& [sweeps, digest] : digests) {
    for (; made < sweeps; ++made) field.sweep();
    digest = field.digest();
  }
  return digests;
}

void judge(Emitter& emitter, const Ranks& ranks, const Task& task, Pass& pass, const std::vector<Told>& told,
           const std::map<std::int64_t, std::uint64_t>& digests) {
  double end = 0;
  for (int worker = 0; worker < pass.workers; ++worker) {
    const Told& its = told[static_cast<std::size_t>(worker)];
    end = std::max(end, its.end_s);
    if (its.digest == digests.at(task.of(worker, pass.workers))) continue;
    if (pass.wrong++ > 0) continue;
    const std::string who = std::string(name_of(pass.way)) + ": worker " + std::to_string(worker) + " of " +
                            std::to_string(pass.workers) + " on CPU " +
                            std::to_string(ranks.cpus[static_cast<std::size_t>(worker)]);
    emitter.notice("wrong-cells", who + " ended with other cells than one worker alone",
                   "run it again with --cpus without that CPU");
  }
  const double begin = told.front().begin_s;
  pass.seconds.push_back(end - begin);
  pass.spans.push_back({unix_ns_of(begin), unix_ns_of(end)});
}

void emit(Emitter& emitter, const Ranks& ranks, const Options& options, const Pass& pass) {
  const Task& task = options.task;
  std::int64_t sweeps = 0;
  for (int worker = 0; worker < pass.workers; ++worker) sweeps += task.of(worker, pass.workers);
  Case one;
  one.kernel = "sweeps";
  one.params.add("way", name_of(pass.way)).add("cores", pass.workers).add("scaling", options.scaling);
  one.params.add("bytes", task.cells * sizeof(double)).add("meet_every", task.meet_every);
  if (task.each) one.params.add("size", sweeps);
  if (ranks.oversubscribed) one.params.add("oversubscribed", true);
  one.work.add("cells", static_cast<double>(sweeps) * static_cast<double>(task.cells)).add("sweeps", sweeps);
  one.seconds = pass.seconds;
  one.spans = pass.spans;
  const Residual residual{static_cast<double>(pass.wrong), 0, "workers with other cells than one alone"};
  emitter.series(one, &residual);
}

int run(int argc, char** argv, const Options& options, Helper& helper) {
  const Ranks ranks = join_ranks(options.ranks);
  if (ranks.hosts_of(ranks.size) > 1) {
    throw usage("workers was started on " + std::to_string(ranks.hosts_of(ranks.size)) + " hosts",
                "threads and processes share one: start all ranks on one host");
  }
  if (ranks.size > kMostWorkers)
    throw usage("at most " + std::to_string(kMostWorkers) + " workers", "start fewer ranks");
  Emitter emitter(ranks.rank == kLead ? stdout : nullptr);
  Object facts = ranks.facts();
  facts.add("address_randomisation", read_line("/proc/sys/kernel/randomize_va_space"));
  emitter.start("workers", argc, argv, facts);
  if (ranks.oversubscribed) {
    emitter.notice("oversubscribed", "ranks share CPUs: the times are those of the scheduler and mean nothing",
                   "start at most one rank for each CPU");
  }
  std::vector<Pass> passes;
  for (const Way way : {Way::threads, Way::processes, Way::ranks}) {
    for (const int workers : {1, ranks.size}) passes.push_back({way, workers});
  }
  emitter.phase("measure", "begin");
  std::map<std::int64_t, std::uint64_t> digests;
  if (ranks.rank == kLead) digests = expected(options.task, passes);
  for (std::int64_t sample = -1; sample < options.samples; ++sample) {  // the first warms up
    for (std::size_t turn = 0; turn < passes.size(); ++turn) {
      Pass& pass = passes[(turn + static_cast<std::size_t>(sample + 1)) % passes.size()];
      const std::vector<Told> told = pass.way == Way::ranks ? as_ranks(ranks, options.task, pass.workers)
                                                            : as_others(ranks, helper, options.task, pass);
      if (ranks.rank != kLead) continue;
      judge(emitter, ranks, options.task, pass, told, digests);
      if (sample < 0) pass.seconds.clear(), pass.spans.clear();
    }
    emitter.progress(static_cast<double>(sample + 1) / static_cast<double>(options.samples), "samples");
  }
  emitter.phase("measure", "end");
  for (const Pass& pass : passes) emit(emitter, ranks, options, pass);
  emitter.end();
  int code = emitter.ok() ? kOk : kCheckFailed;
  MPI_Bcast(&code, 1, MPI_INT, kLead, ranks.control);
  return code;
}

}  // namespace
}  // namespace shakedown::workers

int main(int argc, char** argv) {
  using namespace shakedown;
  using namespace shakedown::workers;
  Options options;
  std::unique_ptr<Helper> helper;
  return mpi_main(
      "workers", argc, argv, MPI_THREAD_SINGLE,
      [&] {
        options = read_options(argc, argv);
        helper = std::make_unique<Helper>();  // before MPI: a child of a process with MPI in it may do little
      },
      [&] { return run(argc, argv, options, *helper); });
}
