// One case on one backend, from its first field to its checks: the stages that every backend's program goes through,
// and the arguments that they all have.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "bodies.hpp"
#include "common/args.hpp"
#include "nbody.hpp"

namespace shakedown::nbody {

constexpr std::int64_t kFlopEach = 20;  // L. Nyland, M. Harris, J. Prins, GPU Gems 3, chapter 31

/// What the user asks for, whatever computes it.
struct Course {
  std::vector<std::int64_t> bodies;
  std::vector<Precision> precisions;
  Physics physics;
  std::int64_t samples = 5, steps = 0, seed = 1;
  double seconds = 0;
  double sample_s = 20e-3;  // what a sample lasts at least where `steps` is 0
  double warm_s = 0;        // steps before the first sample last at least so long
  bool verify = true;
};

/// --bodies, --precision, --samples, --steps, --seconds, --softening, --dt, --seed, --break-force, --no-verify; others
/// may be declared before and after.
Course read_course(Args& args, const std::string& bodies);
/// Refuse what is declared well and makes no sense; after Args::finish().
void require_course(const Course& course);

/// The stages in their order, each once. No stage tells anything by itself: several sessions may run at the same time.
class Session {
 public:
  Session(Backend& backend, const Course& course, Precision precision)
      : backend_(backend), course_(course), precision_(precision) {}

  /// Give the bodies to the backend and find their field: the energy to begin with.
  void load(Bodies bodies);
  /// Take steps until it is known how many make a sample and `warm_s` have passed.
  void warm();
  /// Take samples. `more(share)` is asked after each with what is done of those asked for, 1 where all are; false ends.
  void measure(const std::function<bool(double)>& more);
  /// Compare forces, energy and momentum; where `verify` is off, nothing.
  void check();

  /// What it came to. The caller fills in the parameters.
  [[nodiscard]] Case result() const;
  [[nodiscard]] const std::optional<Residual>& residual() const { return residual_; }
  [[nodiscard]] std::int64_t steps_taken() const { return taken_; }

 private:
  double advance();
  Backend& backend_;
  const Course& course_;
  Precision precision_;
  Bodies bodies_;
  Ledger before_;
  std::int64_t taken_ = 0, steps_ = 1;  // in all; of a sample
  std::vector<double> seconds_;
  std::int64_t begin_ns_ = 0, end_ns_ = 0;
  std::optional<Residual> residual_;
};

}  // namespace shakedown::nbody
