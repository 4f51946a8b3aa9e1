// One panel of random numbers at a time, made and factored by a gang of threads.
#pragma once

#include "hpl_probe.hpp"

namespace shakedown::hpl_probe {

class PanelBench {
 public:
  /// Of `rows` x `nb` in the field's panel.
  PanelBench(const Bench& bench, Index rows, Index nb, const std::string& pfact, Index nbmin);
  PanelBench(const PanelBench&) = delete;
  PanelBench& operator=(const PanelBench&) = delete;

  /// Called by each of `members` threads with its number: makes its rows, then factors with the others. The seconds of
  /// the factorization alone.
  double run(int member, int members);
  /// The error of P A = L U over what rounding can explain.
  [[nodiscard]] double check(std::uint64_t seed) const;

 private:
  Field& field_;
  hpl::Config config_;
  hpl::Grid grid_;
  hpl::RowGenerator generator_;
  hpl::Factorizer factorizer_;
};

}  // namespace shakedown::hpl_probe
