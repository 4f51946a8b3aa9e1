// Back substitution: U x = y, y being the last column after the factorization.
#pragma once

#include <vector>

#include "common/team.hpp"
#include "system.hpp"

namespace shakedown::hpl {

/// Block by block from the last: the sums of a process row meet at the owner of the diagonal block, which solves; its
/// part of x goes down the process column, whose rows above then take it off their sums.
class BackSubstitution {
 public:
  /// `x` has n entries; afterwards every rank has them all.
  BackSubstitution(const Config& config, const Grid& grid, const Kernels& loops, const System& system,
                   std::vector<double>& x);
  /// Called by every thread of the team inside its run.
  void run(Team& team, int thread);

 private:
  void solve_block(Index k);
  void take_off(Index k, int thread, int threads);

  const Config& config_;
  const Grid& grid_;
  const Kernels& loops_;
  const System& system_;
  std::vector<double>& x_;
  std::vector<double> sums_;  // by local row
};

}  // namespace shakedown::hpl
