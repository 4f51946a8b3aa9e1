// Why a run was not faster, in the words that both programs have for it.
#pragma once

#include <string>
#include <vector>

#include "hpl/diagnose.hpp"
#include "hpl_gpu.hpp"

namespace shakedown::hpl_gpu {

/// What the update is laid beside.
struct Pace {
  double flop = 0;          // of the updates of all repeats
  double ceiling_flop = 0;  // of one sample, all ranks
  const std::vector<double>& ceiling_seconds;
  int ranks = 1;
};

/// What a run's own measurements say, each part where it is worth saying.
class Findings {
 public:
  explicit Findings(const hpl::Shares& shares) : shares_(shares), all_(total(shares)) {}

  void part(double seconds, const char* what, const std::string& advice);
  /// Messages that no update hid. `staged_why`: why they go through the host's memory where they do.
  void messages(const BaseSetup& setup, const std::string& staged_why);
  void waiting();
  /// `product`: what the ceiling is made of; `other`: what else than the panel's blocks is to be tried.
  void update(const Pace& pace, const std::string& product, const char* other);

  /// The costliest first.
  [[nodiscard]] std::vector<hpl::Diagnosis> take();

 private:
  const hpl::Shares& shares_;
  double all_;
  std::vector<hpl::Diagnosis> found_;
};

}  // namespace shakedown::hpl_gpu
