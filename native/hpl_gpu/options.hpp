// What a person asks for: the command line, over an HPL.dat where one is named.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hpl/options.hpp"
#include "hpl_gpu.hpp"

namespace shakedown::hpl_gpu {

struct Options {
  hpl::Options hpl;  // the sweep, samples, files, and whatever else has the same meaning here
  gpu::Choice choice;
  Index tail_nb = 0;
  double tail_share = 0.25;
  unsigned panel_blocks = 0;
  std::string aware = "auto";  // whether MPI takes addresses of devices
  bool share_devices = false;
  double reserve_bytes = 0;  // of a device, for --n auto
  std::string nvml;
  std::vector<std::string> ignored;  // parameters of the HPL.dat without a meaning here, in words
};

/// Read what every program with a rank for each GPU is told: the device and its messages, samples, files, N from memory
/// and time, damage for tests. The order is that of --help.
void read_device(Args& args, Options& options);
void read_runs(Args& args, hpl::Options& options);
/// Throws a usage error for parts above 1, an unknown word, and an NB above `most_block` (`why`: the next step).
void refuse(const Options& options, Index most_block, const char* why);
/// The panels of the tail, of at most `most_block` columns.
void read_tail(Args& args, Options& options, Index most_block);
/// What is not the user's choice where one thread drives a device.
void settle(hpl::Options& options);

/// The name of the HPL.dat that the command line asks for; empty: none. Its text, from rank 0, where there is one:
/// every rank calls that.
std::string dat_file_of(int argc, char** argv);
std::optional<std::string> dat_text(int argc, char** argv);

/// Read the command line over the values of `dat` (empty: our own defaults). Throws a usage error; --help prints and
/// leaves. Appends what has to be said about the file to `notices`.
Options read_options(int argc, char** argv, const std::optional<std::string>& dat, std::vector<std::string>& notices);

/// The parameters of HPL.dat that have no meaning on a device, each with its values and its line.
std::vector<std::string> without_meaning(const hpl::Dat& dat);

/// One run of the sweep: whatever is solved; and Linpack.
BaseSetup base_setup_of(const Options& options, const hpl::Variant& variant, bool staged);
Setup setup_of(const Options& options, const hpl::Variant& variant, bool staged);

/// The first parameters of a run's cases, and the last ones.
Object params_of_grid(const hpl::Config& config);
void add_device(Object& params, const Options& options, const BaseSetup& setup, const gpu::Info& info);

/// The parameters of a run's cases.
Object params_of(const Options& options, const Setup& setup, const gpu::Info& info);

}  // namespace shakedown::hpl_gpu
