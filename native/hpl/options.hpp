// What a person asks for: the command line, over an HPL.dat where one is named.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/args.hpp"
#include "dat.hpp"
#include "hpl.hpp"

namespace shakedown::hpl {

/// What is done to the matrix after it was made, for tests of the check: one entry changed, one NaN, a column of zeros.
enum class Inject { none, entry, nan, singular };

struct Options {
  Dat sweep;             // the values of every list; p and q empty: the squarest grid
  bool n_auto = false;   // N from memory and time
  bool own_grid = true;  // p and q were not given
  std::string dat_file;
  std::string netlib_file;  // "-": standard output; empty: none
  std::string events_file;  // empty: standard output
  bool events = true;
  int threads = 0;  // of a rank; 0: as its binding allows
  std::string cpus, library, pages_word;
  Pages pages = Pages::huge;
  Solve solve = Solve::recursive;
  double split = 0.5;
  Index segment_bytes = 0;
  int panel_threads = 0;
  bool progress_thread = false;
  std::int64_t samples = 1;
  double seconds = 0;
  bool repeat_in_place = false, per_host = false, ceiling = true, allow_oversubscribe = false;
  std::vector<double> windows;  // shares of N
  std::int64_t window_panels = 4;
  double memory_share = 0.8, time_limit_s = 0;
  std::string isa;
  Inject inject = Inject::none;
};

/// The name of the HPL.dat that the command line asks for; empty: none. Started as xhpl it is HPL.dat.
std::string dat_file_of(int argc, char** argv);

/// Read what every program that solves HPL's system is told: orders, blocks, grids, broadcasts, row exchange,
/// threshold.
void read_system(Args& args, Options& o);
/// And how its panels are factored, where that is the user's choice.
void read_panels(Args& args, Options& o);
/// Throws a usage error where a list is longer than HPL.dat's may be.
void refuse_too_many(const Dat& dat);

/// Read the command line over the values of `dat` (empty: our own defaults). Throws a usage error; --help prints and
/// leaves. Appends what has to be said about the file to `notices`.
Options read_options(int argc, char** argv, const std::optional<std::string>& dat, std::vector<std::string>& notices);

/// The configuration of one run of the sweep.
Config config_of(const Options& options, const Variant& variant);

/// The parameters of a run's cases.
Object params_of(const Options& options, const Config& config, int threads);

}  // namespace shakedown::hpl
