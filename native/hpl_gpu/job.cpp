#include "job.hpp"

#include <algorithm>
#include <cstdio>

#include "gpu/near.hpp"
#include "gpu/program.hpp"

namespace shakedown::hpl_gpu {
namespace {

/// Each rank's place in the grid and its device. Rank 0 has the list; every rank calls it.
std::vector<Object> places(const hpl::World& world, const Grid& grid, const gpu::Info& info) {
  const std::vector<int> mine = {grid.row, grid.column, info.index, gpu::numa_node(info.pci)};
  std::string name = info.name + "\n" + info.pci + "\n" + info.uuid;
  const auto numbers = gather_lists(world.all, mine);
  const auto names = gather_lists(world.all, std::vector<int>(name.begin(), name.end()));
  std::vector<Object> facts;
  for (std::size_t rank = 0; world.rank == 0 && rank < numbers.size(); ++rank) {
    std::string parts[3];
    std::size_t part = 0;
    for (const int letter : names[rank])
      letter == '\n' ? static_cast<void>(++part) : parts[part].push_back(static_cast<char>(letter));
    Object place;
    place.add("rank", rank).add("host", world.hosts[rank]).add("device", numbers[rank][2]).add("name", parts[0]);
    place.add("pci", parts[1]).add("uuid", parts[2]);
    if (numbers[rank][3] >= 0) place.add("numa_node", numbers[rank][3]);
    if (numbers[rank][0] >= 0) place.add("row", numbers[rank][0]).add("column", numbers[rank][1]);
    facts.push_back(place);
  }
  return facts;
}

}  // namespace

std::vector<Object> conditions(const hpl::World& world, const gpu::Conditions& mine) {
  constexpr std::size_t kNumbers = 5;
  const double numbers[kNumbers] = {static_cast<double>(mine.readings), mine.clock_hz, mine.power_w, mine.temperature_c,
                                    static_cast<double>(mine.reasons)};
  std::vector<double> all(kNumbers * static_cast<std::size_t>(world.size));
  MPI_Allgather(numbers, kNumbers, MPI_DOUBLE, all.data(), kNumbers, MPI_DOUBLE, world.all);
  std::vector<Object> facts;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(world.size); ++rank) {
    const double* of = all.data() + kNumbers * rank;
    if (of[0] == 0) continue;
    Object one;
    one.add("rank", rank).add("clock_hz", of[1]).add("power_w", of[2]).add("temperature_c", of[3]);
    facts.push_back(one.add("clock_reasons", static_cast<std::int64_t>(of[4])));
  }
  return facts;
}

Object start_facts(const Options& options, const hpl::World& world, gpu::Device& device, const Awareness& aware,
                   const hpl::Config& first) {
  Grid whole = make_grid(world, first);
  const auto grid = places(world, whole, device.info());
  free_grid(whole);
  if (world.rank != 0) return {};
  Object facts = gpu::facts(device.info());
  facts.add("blas", device.blas().title()).add("ranks", world.size).add("grid", grid).add("mpi", mpi_version());
  facts.add("gpu_aware_mpi", aware.direct).add("gpu_aware_mpi_reason", aware.reason);
  facts.add("memory_free_bytes", device.free_bytes());
  std::vector<std::string> hosts(world.hosts);
  std::sort(hosts.begin(), hosts.end());
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  facts.add("hosts", hosts);
  if (!options.ignored.empty()) facts.add("ignored", options.ignored);
  return facts;
}

void tell_of_options(Emitter& emitter, const Options& options, const std::vector<std::string>& notices) {
  for (const auto& text : notices) emitter.notice("hpl_dat", text);
  for (const auto& text : options.ignored) emitter.notice("ignored", text);
}

int run_sweep(const hpl::World& world, Emitter& emitter, const hpl::Dat& dat,
              const std::function<void(const hpl::Variant&)>& run, const std::function<void()>& skipped) {
  bool some_skipped = false;
  const auto count = run_count(dat);
  for (std::uint64_t i = 0; i < count; ++i) {
    try {
      run(run_at(dat, i));
    } catch (const gpu::Failure&) {
      throw;
    } catch (const Error& error) {  // the same on every rank
      if (count == 1 || error.code != kCouldNotMeasure) throw;
      some_skipped = true;
      if (world.rank != 0) continue;
      emitter.notice("skipped", error.what());
      skipped();
    }
  }
  int code = !emitter.ok() ? kCheckFailed : some_skipped ? kCouldNotMeasure : kOk;
  MPI_Bcast(&code, 1, MPI_INT, 0, world.all);
  return code;
}

int guarded(const char* program, Emitter& emitter, const hpl::World& world, const std::function<int()>& work) {
  try {
    return work();
  } catch (const gpu::Failure& failure) {
    const std::string where = "rank " + std::to_string(world.rank) + " on " + world.my_host();
    if (world.size == 1) {
      gpu::tell(emitter, failure);
      return kCouldNotMeasure;
    }
    std::fprintf(stderr, "%s: %s: %s\n", program, where.c_str(), failure.what());
    if (world.rank == 0) gpu::tell(emitter, failure);
    std::fflush(nullptr);
    MPI_Abort(MPI_COMM_WORLD, kCouldNotMeasure);
    throw;
  }
}

}  // namespace shakedown::hpl_gpu
