// What a person asks for: the command line, over an HPL.dat where one is named.
#pragma once

#include "hpl_gpu/options.hpp"
#include "hpl_mxp.hpp"

namespace shakedown::hpl_mxp {

struct Options {
  hpl_gpu::Options run;  // the sweep, samples, devices, and whatever else has the same meaning here
  Precision precision = Precision::f16;
  double accuracy = 1;
  int refinements = 50;
};

/// Read the command line over the values of `dat` (empty: our own defaults). Throws a usage error; --help prints and
/// leaves. Appends what has to be said about the file to `notices`. What has no meaning here is in run.ignored.
Options read_options(int argc, char** argv, const std::optional<std::string>& dat, std::vector<std::string>& notices);

/// One run of the sweep.
Setup setup_of(const Options& options, const hpl::Variant& variant, bool staged);

/// The parameters of a run's cases.
Object params_of(const Options& options, const Setup& setup, const gpu::Info& info);

}  // namespace shakedown::hpl_mxp
