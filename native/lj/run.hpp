// One fluid on one backend from its start to its verdict: what every program of this family does with a backend.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "common/emit.hpp"
#include "setup.hpp"

namespace shakedown::lj {

/// A backend whose steps are counted, since what rounding may do grows with them.
struct Counted {
  Backend& backend;
  std::int64_t steps = 0;
  double advance(std::int64_t more) {
    steps += more;
    return backend.advance(more);
  }
};

struct Subject {
  std::size_t particles;
  Precision precision;
  std::string label;                        // for a person
  double done = 0, share = 1;               // of the whole run: what is behind, and what this is
  std::int64_t trial_steps = 40;            // that a skin is tried over
  std::function<void(Counted&)> tune = {};  // what else is found by trial, before the skin is
  std::function<void()> before_samples = {}, after_samples = {};
};

/// A case's samples, work and params of the fluid (n, precision, density, cutoff); the caller adds who computed it.
struct Outcome {
  Case series;
  std::optional<Residual> checked;  // empty with --no-verify
  State last;                       // at the end; empty where nobody asked for it
};

/// The story: make the fluid, bring it to its temperature, choose the skin, measure samples of steps, check forces,
/// energy and momentum. Emits phases, facts and progress; what is to be written is the caller's, after the case.
Outcome measure_fluid(Backend& backend, const Setup& setup, Emitter& emitter, const Subject& subject);

}  // namespace shakedown::lj
