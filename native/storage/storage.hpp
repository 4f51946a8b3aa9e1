// The interface of storage: does a file system do what programs need of it, and how fast, from one process or many
// hosts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/emit.hpp"
#include "folder.hpp"
#include "layout.hpp"
#include "peers.hpp"
#include "transfers.hpp"

namespace shakedown::storage {

enum class Kernel { features, write, rewrite, read, metadata, io500 };
/// Of small files and trees of folders.
enum class Step { create, stat, read, rename, unlink, mkdir, rmdir };
enum class Cache { automatic, direct, dropped, kept };
/// When what was written must be on the device: at the end and within the time, after each transfer, never.
enum class Sync { end, each, none };
/// Damage done on purpose: tests see the check fail.
enum class Inject { none, flip, stale, feature };

const char* name_of(Kernel kernel);
const char* name_of(Step step);
const char* name_of(Files files);
const char* name_of(Order order);
const char* name_of(Sync sync);

struct Options {
  std::string directory = ".";
  std::vector<std::string> more_directories;  // other mounts or servers: threads are dealt to all in turn
  std::vector<Kernel> kernels;
  std::vector<std::string> features;  // those to try; "all"
  std::vector<std::string> require;   // those that must hold; "all", "posix"
  std::vector<std::int64_t> blocks;   // bytes
  std::vector<std::int64_t> threads;
  std::uint64_t size = 0;  // bytes of each thread's file, or of its part of a shared one
  Files share = Files::own;
  Order order = Order::sequential;
  std::int64_t segments = 0;
  std::int64_t depth = 1;
  Engine engine = Engine::automatic;
  Sync sync = Sync::end;
  double stonewall_s = 0;
  std::int64_t files = 0;  // of each thread, for metadata
  std::vector<Step> steps;
  std::vector<Files> folders;    // in which small files lie: each thread's own, one for all
  std::int64_t small_bytes = 0;  // of each small file
  std::int64_t samples = 3;
  double seconds = 0;
  Cache cache = Cache::automatic;
  bool verify = true;
  int ranks = 1;
  std::string rendezvous = "rendezvous";
  double wait_s = 60;
  Inject inject = Inject::none;
};

/// The folders that were asked for, each on a file system.
std::vector<std::string> directories(const Options& options);
/// Read the command line. Throws a usage error; --help prints and leaves.
Options read_options(int argc, char** argv);

// ------------------------------------------------------------------------------------------- features: features*.cpp

/// A feature that this file system does not offer: an answer, and no fault.
struct Absent {
  std::string why;
};
/// A feature that does not do what it must.
struct Broken {
  std::string why;
};

struct Feature {
  std::string name;
  std::string what;
  bool posix = false;                                    // required unless said otherwise
  std::function<void(const std::string& folder)> check;  // returns, or throws Absent or Broken
};

/// What one file system does for the processes of one host.
std::vector<Feature> names_features();
std::vector<Feature> data_features();
std::vector<Feature> lock_features();
/// All of them, in the order in which they are tried.
std::vector<Feature> all_features();

enum class State { holds, absent, broken };
const char* name_of(State state);

struct Finding {
  std::string name;
  std::string what;
  State state = State::holds;
  std::string why;
  bool required = false;
};

/// Try every feature in a folder of its own below `folder`.
std::vector<Finding> try_features(const std::string& folder, const std::vector<Feature>& features,
                                  const std::vector<std::string>& require);

/// What the file system does between the hosts of the job; every rank calls it, rank 0 gets the findings.
std::vector<Finding> try_shared(Peers& peers, const std::string& folder, const std::vector<std::string>& which,
                                const std::vector<std::string>& require);
/// Throws a usage error for a word that is neither a feature of either kind nor among `also`; `where` is the argument.
void check_names(const std::vector<std::string>& words, const std::vector<std::string>& also, const std::string& where);
/// Whether `name` is among the words, or all are.
bool chosen(const std::vector<std::string>& words, const std::string& name);

// --------------------------------------------------------------------------- speed: bandwidth.cpp, metadata.cpp

struct Pattern {
  std::size_t block = 0;  // bytes
  int threads = 0;
};

/// Where all work: our folders on the file systems, the same on every rank.
using Folders = std::vector<std::string>;

/// The cache as it was really kept out: in words for the case, and whether O_DIRECT opens.
struct CacheUse {
  bool direct = false;
  bool drop = false;
  std::string word;  // direct, dropped, kept, memory
};
CacheUse choose_cache(const std::string& folder, Cache asked, bool in_memory);

/// write, rewrite and read with one pattern: emits a case each, on rank 0.
void measure_bandwidth(Emitter& emitter, Peers& peers, const Options& options, const Folders& folders,
                       const CacheUse& cache, const Pattern& pattern);
/// The steps of small files with so many threads: emits a case each, on rank 0.
void measure_metadata(Emitter& emitter, Peers& peers, const Options& options, const Folders& folders, int threads);
/// Phases like those of IO500 (io500.cpp): emits a case each, on rank 0.
void measure_io500(Emitter& emitter, Peers& peers, const Options& options, const std::string& folder, int threads);

}  // namespace shakedown::storage
