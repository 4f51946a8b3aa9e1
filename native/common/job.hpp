// What programs of several MPI ranks share: agreeing on an error, and knowing who is where.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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
  int code = kOk;
  std::string text;
  try {
    work();
  } catch (const Error& error) {
    code = error.code;
    text = error.what();
  }
  agree(comm, code, text);
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
  // An MPI's hwloc asks every OpenCL and display driver for its devices, and a compiler of 60 MB may come with that.
  setenv("HWLOC_COMPONENTS", "-opencl,-gl", 0);
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

}  // namespace shakedown
