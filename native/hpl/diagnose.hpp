// Why a run was not faster: what its own measurements say.
#pragma once

#include <string>
#include <vector>

#include "runs.hpp"

namespace shakedown::hpl {

struct Diagnosis {
  double lost = 0;  // part of the seconds of all threads or devices, as far as it can be said
  std::string text, advice;
};

/// What a report is judged against.
struct Circumstances {
  int threads = 0;                 // of all ranks
  std::uint64_t matrix_bytes = 0;  // of a host
  std::uint64_t free_bytes = 0;    // of that host, before
  std::string pages;               // what was really got: huge, mixed, base...
  bool huge_asked = true;
};

/// The operations of all updates of one factorization: of 2/3 N^3, panels and triangular solves do about N^2 NB / 2
/// each.
double update_flop(const Config& config);

/// The costliest first.
std::vector<Diagnosis> diagnose(const Report& report, const Config& config, const Blas& blas,
                                const Circumstances& around);

}  // namespace shakedown::hpl
