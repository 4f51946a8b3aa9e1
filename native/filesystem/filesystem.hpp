// The interface of filesystem: does a file system do what programs need of it, and how fast.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/emit.hpp"
#include "folder.hpp"
#include "peers.hpp"

namespace shakedown::filesystem {

enum class Kernel { features, write, rewrite, read, metadata };
enum class Cache { automatic, direct, dropped, kept };
/// Damage done on purpose: tests see the check fail.
enum class Inject { none, flip, stale, feature };

const char* name_of(Kernel kernel);

struct Options {
  std::string directory = ".";
  std::vector<Kernel> kernels;
  std::vector<std::string> features;  // those to try; "all"
  std::vector<std::string> require;   // those that must hold; "all", "posix"
  std::vector<std::int64_t> blocks;   // bytes
  std::vector<std::int64_t> threads;
  std::uint64_t size = 0;  // bytes of each thread's file
  std::int64_t files = 0;  // of each thread, for metadata
  std::int64_t samples = 3;
  double seconds = 0;
  Cache cache = Cache::automatic;
  bool verify = true;
  int ranks = 1;
  std::string rendezvous = "rendezvous";
  double wait_s = 60;
  Inject inject = Inject::none;
};

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

// --------------------------------------------------------------------------------------------- speed: bandwidth.cpp

struct Pattern {
  std::size_t block = 0;  // bytes
  int threads = 0;
};

/// The cache as it was really kept out: in words for the case, and whether O_DIRECT opens.
struct CacheUse {
  bool direct = false;
  bool drop = false;
  std::string word;  // direct, dropped, kept, memory
};
CacheUse choose_cache(const std::string& folder, Cache asked, bool in_memory);

/// write, rewrite and read with one pattern: emits a case each, on rank 0.
void measure_bandwidth(Emitter& emitter, Peers& peers, const Options& options, const std::string& folder,
                       const CacheUse& cache, const Pattern& pattern);
/// create, stat and unlink with so many threads.
void measure_metadata(Emitter& emitter, Peers& peers, const Options& options, const std::string& folder, int threads);

}  // namespace shakedown::filesystem
