// What programs of several MPI ranks share: agreeing on an error, and knowing who is where.
#pragma once

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "affinity.hpp"
#include "deal.hpp"
#include "error.hpp"

namespace shakedown {

/// The MPI library's first line about itself.
inline std::string mpi_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  std::string version(text.data(), static_cast<std::size_t>(length));
  version.resize(std::min(version.find_first_of(std::string("\n\0", 2)), version.size()));
  return version;
}

/// Throw, on all ranks alike, the error of the lowest rank whose `code` is not kOk. Every rank calls it.
inline void agree(MPI_Comm comm, int code, const std::string& text) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  int failed = code == kOk ? size : rank;
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MIN, comm);
  if (failed == size) return;
  std::array<char, 2048> shown{};
  std::copy_n(text.begin(), std::min(text.size(), shown.size() - 1), shown.begin());
  MPI_Bcast(shown.data(), static_cast<int>(shown.size()), MPI_CHAR, failed, comm);
  MPI_Bcast(&code, 1, MPI_INT, failed, comm);
  throw Error(static_cast<ExitCode>(code), shown.data());
}

/// Run `work` on every rank; where it fails on one, all throw that error.
template <class Work>
void together(MPI_Comm comm, Work&& work) {
  const Caught found = caught(work);
  agree(comm, found.code, found.text);
}

/// Every rank's list, in the order of ranks.
inline std::vector<std::vector<int>> gather_lists(MPI_Comm comm, const std::vector<int>& mine) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  const auto count = static_cast<std::size_t>(size);
  std::vector<int> counts(count), begins(count);
  const int length = static_cast<int>(mine.size());
  MPI_Allgather(&length, 1, MPI_INT, counts.data(), 1, MPI_INT, comm);
  int total = 0;
  for (std::size_t i = 0; i < count; ++i) {
    begins[i] = total;
    total += counts[i];
  }
  std::vector<int> all(static_cast<std::size_t>(total));
  MPI_Allgatherv(mine.data(), length, MPI_INT, all.data(), counts.data(), begins.data(), MPI_INT, comm);
  std::vector<std::vector<int>> lists;
  for (std::size_t i = 0; i < count; ++i) {
    const auto begin = all.begin() + begins[i];
    lists.emplace_back(begin, begin + counts[i]);
  }
  return lists;
}

/// Every rank's word, in the order of ranks.
inline std::vector<std::string> gather_words(MPI_Comm comm, const std::string& mine) {
  std::vector<std::string> words;
  for (const auto& letters : gather_lists(comm, {mine.begin(), mine.end()})) {
    std::string word;
    for (const int letter : letters) word.push_back(static_cast<char>(letter));
    words.push_back(word);
  }
  return words;
}

/// The CPUs of this rank's threads, dealt among the ranks of its host: `list` is what --cpus said. Every rank of `all`
/// calls it, and all throw alike.
inline std::vector<int> dealt_cpus(MPI_Comm all, MPI_Comm host, const std::string& list, int threads,
                                   bool progress_thread, bool oversubscribe) {
  std::vector<int> mask;
  together(all, [&] { mask = compact_order(cpu_places(allowed_cpus())); });
  const auto masks = gather_lists(host, mask);
  int rank = 0;
  MPI_Comm_rank(host, &rank);
  std::vector<int> mine;
  together(all, [&] {
    const auto named = list.empty() ? std::vector<int>() : parse_cpu_list(list);
    for (const int cpu : named) {
      if (std::find(mask.begin(), mask.end(), cpu) == mask.end()) {
        throw usage("--cpus: CPU " + std::to_string(cpu) + " may not be used", "usable: " + format_cpu_list(mask));
      }
    }
    mine = deal(masks, named, threads, progress_thread, oversubscribe)[static_cast<std::size_t>(rank)];
  });
  return mine;
}

/// Whether a launcher started this process as a rank: each leaves variables of its own (Open MPI, PMIx, PMI, MVAPICH,
/// Slurm, Flux, PALS, ALPS).
inline bool launched(const char* const* environment) {
  static constexpr std::array<std::string_view, 9> kMarks = {
      "OMPI_COMM_WORLD_", "PMIX_RANK=", "PMIX_NAMESPACE=", "PMI_",     "MV2_COMM_",
      "SLURM_PROCID=",    "FLUX_TASK_", "PALS_RANKID",     "ALPS_APP_"};
  for (; *environment != nullptr; ++environment) {
    const std::string_view variable = *environment;
    if (std::any_of(kMarks.begin(), kMarks.end(), [&](auto mark) { return variable.starts_with(mark); })) return true;
  }
  return false;
}

/// Before MPI_Init, what an MPI need not load. The user's own variables stay. Once, since tests have ranks that are
/// threads, and variables are no matter for two threads.
inline void spare_mpi_devices() {
  static const bool done = [] {
    // An MPI's hwloc asks every OpenCL and display driver for its devices, and a compiler of 60 MB may come with that.
    setenv("HWLOC_COMPONENTS", "-opencl,-gl", 0);
    if (launched(environ)) return true;
    // One rank alone sends nothing over a network and has no neighbours: Open MPI opens every network that it knows (4
    // MB and 0.05 s), and hwloc loads its plugins with the libraries of X11 and XML (3 MB).
    setenv("HWLOC_PLUGINS_PATH", "/dev/null", 0);
    setenv("OMPI_MCA_pml", "^cm,ucx", 0);
    setenv("OMPI_MCA_osc", "^ucx", 0);
    setenv("OMPI_MCA_btl", "^ofi,openib,portals4,smcuda,tcp,uct,ugni,usnic", 0);
    return true;
  }();
  static_cast<void>(done);
}

/// What main does in a program of MPI ranks. `read` reads the command line before MPI is there, so that --help needs no
/// mpirun; then `run` gives the exit code. An Error is every rank's alike, and rank 0 says it; any other exception is
/// one rank's, for which the others would wait. `level` is what the program needs of MPI's threads.
template <class Read, class Run>
int mpi_main(const char* program, int& argc, char**& argv, int level, Read&& read, Run&& run) {
  std::optional<Error> refused;
  try {
    read();
  } catch (const Error& error) {
    refused = error;
  }
  int offered = MPI_THREAD_SINGLE;
  spare_mpi_devices();
  MPI_Init_thread(&argc, &argv, level, &offered);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int code = kOk;
  try {
    if (refused) throw *refused;
    if (offered < level) {
      throw cannot("this MPI allows no threads beside the one that calls it",
                   "use one that offers MPI_THREAD_FUNNELED");
    }
    code = run();
  } catch (const Error& error) {
    code = error.code;
    if (rank == 0) std::fprintf(stderr, "%s: %s\n", program, error.what());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: rank %d: %s\n", program, rank, error.what());
    MPI_Abort(MPI_COMM_WORLD, kCouldNotMeasure);
  }
  MPI_Finalize();
  return code;
}

/// The same of a program whose options are read from its command line.
template <class Options>
int mpi_main(const char* program, int argc, char** argv, Options (*read)(int argc, char** argv),
             int (*run)(int argc, char** argv, const Options& options), int level = MPI_THREAD_SINGLE) {
  Options options;
  return mpi_main(
      program, argc, argv, level, [&] { options = read(argc, argv); }, [&] { return run(argc, argv, options); });
}

}  // namespace shakedown
