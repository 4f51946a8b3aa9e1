// What the threads of all ranks did over time: who is slowest, and how far each lags behind.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/emit.hpp"
#include "peers.hpp"
#include "team.hpp"

namespace shakedown::storage {

struct ThreadTime {
  std::string host;
  int rank = 0;
  int thread = 0;
  double seconds = 0;    // from the common begin to its end
  double longest_s = 0;  // its longest transfer
  std::uint64_t bytes = 0;
  double bin_s = 0;
  std::vector<std::uint64_t> bins;  // bytes, by the time at which a transfer ended
  std::size_t folder = 0;           // which of the directories its file lies in
};

/// Every thread of every rank, on rank 0; empty on the others. Every rank calls it.
std::vector<ThreadTime> gather_threads(Peers& peers, const std::vector<Worker>& workers);

/// What one rank sends, and back. Throws where it is not whole.
std::string to_text(const std::vector<ThreadTime>& threads);
std::vector<ThreadTime> from_text(const std::string& text);

/// How far a thread lags behind, in seconds at the end of each bin: what it has moved less than the mean of all threads
/// by then, over the mean thread's mean rate. Negative: it is ahead. All bins are as wide as the widest of any thread.
struct Lags {
  double bin_s = 0;
  std::vector<double> all;                 // bytes of all threads in each bin
  std::vector<std::vector<double>> lag_s;  // of each thread, in the order given
};
Lags lags_of(const std::vector<ThreadTime>& threads);

/// The index of the slowest thread, and the median of the times of all; there is at least one.
std::size_t slowest(const std::vector<ThreadTime>& threads);
double median_s(const std::vector<ThreadTime>& threads);

/// What the threads in one directory did: a mount or a server among several.
struct FolderTime {
  std::uint64_t threads = 0;
  std::uint64_t bytes = 0;
  double seconds = 0;  // to the end of its last thread
};
std::vector<FolderTime> by_folder(const std::vector<ThreadTime>& threads, std::size_t folders);

/// As the facts have it: the rate of all over time, every thread's seconds, of the slowest eight their lag over time,
/// and of each of several directories what went there.
Object threads_fact(const std::vector<ThreadTime>& threads, const std::vector<std::string>& directories);
/// The slowest of several directories, by name, in words; empty where none is much slower than the median.
std::string slow_folder(const std::vector<ThreadTime>& threads, const std::vector<std::string>& directories);
/// One slow thread among several, by name, in words; empty where none is much slower than the median.
std::string slow_thread(const std::vector<ThreadTime>& threads);

}  // namespace shakedown::storage
