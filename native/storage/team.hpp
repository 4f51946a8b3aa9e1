// All threads of all ranks at once, on their files: one measurement of bandwidth.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "content.hpp"
#include "crowd.hpp"
#include "layout.hpp"
#include "over_time.hpp"
#include "peers.hpp"
#include "storage.hpp"
#include "transfers.hpp"

namespace shakedown::storage {

/// The part of one writer, which any rank can compute: whose file, and which of the file's writers it is.
struct Part {
  std::string path;
  std::uint64_t file = 0;    // its number in stamps
  std::uint64_t writer = 0;  // of the file's writers
  std::uint64_t writers = 1;
  std::size_t folder = 0;  // which of the folders it lies in
};

/// The writer-th part of all `writers` of the job, which are dealt to the folders in turn.
Part part_of(const Folders& folders, Files files, std::uint64_t writer, std::uint64_t writers);

/// What one measurement of all threads does.
struct Round {
  Kernel kernel = Kernel::write;
  Layout layout;                 // but for its writers, which each part has
  std::uint64_t extent = 0;      // transfers of each writer
  std::uint64_t generation = 0;  // that is written, or must be found
  Engine engine = Engine::calls;
  std::size_t depth = 1;
  bool direct = false;
  bool drop = false;
  Sync sync = Sync::end;
  bool whole = false;       // reading: compare all, not the first bytes of each transfer
  bool timed_open = false;  // opening and closing are within the time
  double stonewall_s = 0;   // writing: stop then, and continue to what the fastest thread has
  bool stale = false;       // leave one block as it was: damage, for tests
};

/// A thread: its memory, and what came of the last round.
struct Worker {
  Part part;
  std::vector<std::unique_ptr<Content>> contents;  // a pool for each transfer in flight
  std::vector<std::unique_ptr<Pages>> buffers;
  double begin_s = 0;  // of all threads
  double seconds = 0;
  double longest_s = 0;  // of one transfer
  std::uint64_t bytes = 0;
  std::int64_t wrong = 0;  // pages, since it was last asked
  OverTime over_time;
};

/// Flush and drop what this host has of a file in memory.
void drop_cache(const std::string& path);

/// All threads of all ranks on their parts. Every rank calls it.
Crowded run_team(Peers& peers, std::vector<Worker>& workers, const Round& round);

}  // namespace shakedown::storage
