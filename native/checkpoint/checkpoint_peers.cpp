// Checkpoints of one level by ranks that are processes, each a node of its own with a folder: seconds from the call to
// the commit, and the processor time that it took. For scripts/bench/peers/checkpoint.py.
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "common/args.hpp"
#include "common/clock.hpp"
#include "common/error.hpp"
#include "common/json.hpp"
#include "include/shakedown/checkpoint.h"

namespace shakedown::checkpoint {
namespace {

constexpr int kMostRanks = 64;
constexpr int kMostSamples = 256;
constexpr std::size_t kSlot = std::size_t{64} << 10;

struct Asked {
  std::string directory;
  int ranks = 1;
  int level = 1;
  int losses = 1;
  int samples = 1;
  std::uint64_t bytes = 0;
  double pause_s = 0;
};

struct Sample {
  double seconds = 0;
  double user_s = 0;
  double system_s = 0;
};

/// Memory of all ranks.
struct Meeting {
  pthread_barrier_t barrier;
  unsigned char slots[kMostRanks][kSlot];
  Sample samples[kMostRanks][kMostSamples];
  char failed[1024];
};

struct Seat {
  Meeting* meeting;
  int rank;
  int size;
};

void meet(Meeting& meeting) { pthread_barrier_wait(&meeting.barrier); }

int gather(void* context, const void* mine, void* all, std::size_t bytes) {
  const Seat& seat = *static_cast<const Seat*>(context);
  for (std::size_t at = 0; at < bytes; at += kSlot) {
    const std::size_t part = std::min(kSlot, bytes - at);
    std::memcpy(seat.meeting->slots[seat.rank], static_cast<const unsigned char*>(mine) + at, part);
    meet(*seat.meeting);
    for (int rank = 0; rank < seat.size; ++rank) {
      std::memcpy(static_cast<unsigned char*>(all) + static_cast<std::size_t>(rank) * bytes + at,
                  seat.meeting->slots[rank], part);
    }
    meet(*seat.meeting);
  }
  return 0;
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

Sample used() {
  rusage found = {};
  getrusage(RUSAGE_SELF, &found);
  return {0, seconds_of(found.ru_utime), seconds_of(found.ru_stime)};
}

/// One checkpoint: what it took until it was committed.
Sample saved(shakedown_ckpt* handle, const Asked& asked, Meeting& meeting) {
  meet(meeting);
  const Sample before = used();
  const auto begin = read_clock_ns(CLOCK_MONOTONIC);
  if (shakedown_ckpt_checkpoint(handle, asked.level) != SHAKEDOWN_CKPT_OK)
    throw cannot(std::string("a checkpoint failed: ") + shakedown_ckpt_last_error(handle));
  const double seconds = static_cast<double>(read_clock_ns(CLOCK_MONOTONIC) - begin) * 1e-9;
  const Sample after = used();
  return {seconds, after.user_s - before.user_s, after.system_s - before.system_s};
}

void run_rank(const Asked& asked, Meeting& meeting, int rank) {
  Seat seat{&meeting, rank, asked.ranks};
  const shakedown_ckpt_comm comm = {rank, asked.ranks, &seat, gather, nullptr};
  const std::string node = "node" + std::to_string(rank);
  const std::string local = asked.directory + "/" + node;
  const std::string global = asked.directory + "/global";
  shakedown_ckpt_options options;
  shakedown_ckpt_options_init(&options);
  options.local = local.c_str();
  options.global = asked.level == SHAKEDOWN_CKPT_GLOBAL ? global.c_str() : nullptr;
  options.node = node.c_str();
  options.address = "127.0.0.1";
  options.group_size = std::max(asked.ranks, 2);
  options.group_losses = asked.losses;
  options.synchronous = 1;
  shakedown_ckpt* handle = nullptr;
  if (shakedown_ckpt_open(&comm, &options, &handle) != SHAKEDOWN_CKPT_OK)
    throw cannot(std::string("cannot begin: ") + shakedown_ckpt_last_error(nullptr));
  std::vector<std::uint64_t> state(asked.bytes / sizeof(std::uint64_t));
  std::uint64_t draw = 88172645463325252ULL + static_cast<std::uint64_t>(rank);
  for (auto& word : state) {
    draw ^= draw << 13U, draw ^= draw >> 7U, draw ^= draw << 17U;
    word = draw;
  }
  const std::uint64_t shape[1] = {state.size()};
  if (shakedown_ckpt_protect(handle, "state", state.data(), SHAKEDOWN_CKPT_UINT64, 1, shape, nullptr, nullptr) !=
      SHAKEDOWN_CKPT_OK)
    throw cannot(std::string("cannot protect: ") + shakedown_ckpt_last_error(handle));
  saved(handle, asked, meeting);  // the first one makes the buffers
  for (int sample = 0; sample < asked.samples; ++sample) {
    std::this_thread::sleep_for(std::chrono::duration<double>(asked.pause_s));  // the application computes on
    for (auto& word : state) ++word;
    meeting.samples[rank][sample] = saved(handle, asked, meeting);
  }
  if (shakedown_ckpt_close(handle, SHAKEDOWN_CKPT_DISCARD) != SHAKEDOWN_CKPT_OK)
    throw cannot(std::string("cannot end: ") + shakedown_ckpt_last_error(nullptr));
}

/// A rank in a process of its own. A rank that fails leaves its words and ends them all.
int started(const Asked& asked, Meeting& meeting, int rank) {
  try {
    run_rank(asked, meeting, rank);
    return 0;
  } catch (const std::exception& error) {
    std::snprintf(meeting.failed, sizeof meeting.failed, "rank %d: %s", rank, error.what());
  }
  return 1;
}

void run_all(const Asked& asked, Meeting& meeting) {
  std::vector<pid_t> children;
  children.reserve(static_cast<std::size_t>(asked.ranks));
  for (int rank = 0; rank < asked.ranks; ++rank) {
    const pid_t child = fork();
    if (child < 0) throw cannot("cannot start another process");
    if (child == 0) _exit(started(asked, meeting, rank));
    children.push_back(child);
  }
  bool good = true;
  for (int ended = 0; ended < asked.ranks; ++ended) {
    int status = 0;
    wait(&status);
    if (status != 0 && good) {
      for (const pid_t child : children) kill(child, SIGKILL);
      good = false;
    }
  }
  if (!good) throw cannot(meeting.failed[0] == 0 ? "a rank died" : meeting.failed);
}

int run(int argc, char** argv) {
  Args args(argc, argv,
            "checkpoint_peers: checkpoints of one level by ranks on nodes of their own, and what they take.");
  Asked asked;
  asked.directory = args.text("directory", ".", "a folder on the file system to be measured; one is made in it");
  asked.ranks = static_cast<int>(args.integer("ranks", 4, 1, "processes", kMostRanks));
  asked.level = static_cast<int>(args.integer("level", 1, 1, "1 to 4", SHAKEDOWN_CKPT_GLOBAL));
  asked.losses = static_cast<int>(args.integer("losses", 1, 1, "nodes that level 3 may lose"));
  asked.samples = static_cast<int>(args.integer("samples", 3, 1, "checkpoints that are measured", kMostSamples));
  asked.bytes = static_cast<std::uint64_t>(args.integer("mib", 256, 1, "MiB of state of each rank")) << 20U;
  asked.pause_s = args.real("pause", 0.5, 0, "seconds between two checkpoints");
  args.finish();
  asked.directory += "/checkpoint_peers." + std::to_string(getpid());
  std::filesystem::create_directories(asked.directory);
  void* const memory = mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw cannot("no memory that processes share");
  auto* const meeting = new (memory) Meeting;
  pthread_barrierattr_t shared;
  pthread_barrierattr_init(&shared);
  pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
  pthread_barrier_init(&meeting->barrier, &shared, static_cast<unsigned>(asked.ranks));
  try {
    run_all(asked, *meeting);
  } catch (...) {
    std::filesystem::remove_all(asked.directory);
    throw;
  }
  std::filesystem::remove_all(asked.directory);
  std::vector<double> seconds, user_s, system_s;
  for (int sample = 0; sample < asked.samples; ++sample) {
    Sample all;
    for (int rank = 0; rank < asked.ranks; ++rank) {
      const Sample& one = meeting->samples[rank][sample];
      all = {std::max(all.seconds, one.seconds), all.user_s + one.user_s, all.system_s + one.system_s};
    }
    seconds.push_back(all.seconds);
    user_s.push_back(all.user_s);
    system_s.push_back(all.system_s);
  }
  Object found;
  found.add("bytes", static_cast<double>(asked.bytes) * asked.ranks).add("seconds", seconds);
  found.add("user_seconds", user_s).add("system_seconds", system_s);
  std::printf("%s\n", to_json(found).c_str());
  return kOk;
}

}  // namespace
}  // namespace shakedown::checkpoint

int main(int argc, char** argv) {
  return shakedown::run_main("checkpoint_peers", argc, argv, shakedown::checkpoint::run);
}
