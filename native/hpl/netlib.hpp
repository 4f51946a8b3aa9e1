// The text that netlib HPL 2.3 prints, byte by byte, for the scripts that read it.
//
// Plain values in, text out: nothing is read, measured or printed here. Source of every format: HPL_pdinfo.c,
// HPL_pdtest.c, HPL_pddriver.c (testing/ptest) and HPL_pwarn.c (src/pauxil) of netlib HPL 2.3, built without its
// detailed timing and progress report. A number too wide for its column widens it, as printf does.
//
//     header                       once
//       table_head, run, residual  for each run; where the results are not checked, table_head before the first run
//       only
//     summary                      once
#pragma once

#include <cstdint>
#include <ctime>
#include <string>

#include "dat.hpp"

namespace shakedown::hpl::netlib {

/// The banner with all parameters of the sweep. `eps` is the relative machine precision, 2^-53 for double.
std::string header(const Dat& dat, double eps);

/// The rule and the names of the columns.
std::string table_head();

/// Such as WR11C2R4: W, R or C for the mapping (0 row, 1 column), depth, BCAST, RFACT, NDIV, PFACT, NBMIN.
std::string variant_code(const Variant& variant, std::int64_t mapping);

/// The rate as netlib computes it, in its order of operations: (2/3 N^3 + 3/2 N^2) / seconds / 1e9.
double gflops(std::int64_t n, double seconds);

struct Run {
  Variant variant{};
  std::int64_t mapping = 0;  // 0 row, 1 column
  double seconds = 0;        // the largest of any rank
  std::time_t start = 0;     // shown in local time
  std::time_t end = 0;
};

/// The line of a run and its two time stamps. Empty where `seconds` is not above zero, as netlib's is.
std::string run(const Run& done);

/// What the check found. The norms are shown where it failed.
struct Check {
  double scaled = 0;    // ||Ax-b||_oo / (eps (||A||_oo ||x||_oo + ||b||_oo) N)
  double residual = 0;  // ||Ax-b||_oo
  double a_inf = 0;
  double a_one = 0;
  double x_inf = 0;
  double x_one = 0;
  double b_inf = 0;
};

/// Passed means below the threshold; NaN never is.
bool passed(const Check& check, double threshold);

/// The residual with PASSED or FAILED; with the norms where it is at or above the threshold (not where it is NaN).
/// Empty where the threshold is 0 or less: netlib then checks nothing.
std::string residual(const Check& check, double threshold);

/// How the runs of a sweep ended. Where the threshold is 0 or less, netlib counts every run as passed.
struct Tally {
  std::int64_t passed = 0;
  std::int64_t failed = 0;
  std::int64_t skipped = 0;
};

std::string summary(const Tally& tally, double threshold);

/// A run that was skipped as the rank at (row, column) of the grid had no memory for it. In both, netlib names a line
/// of its own source, which means nothing here: this is the form of its HPL_pwarn that names none.
std::string no_memory(std::int64_t row, std::int64_t column);

/// A run that was skipped as the solve found a zero pivot; `info` is its column, counted from 1.
std::string solve_failed(std::int64_t info);

}  // namespace shakedown::hpl::netlib
