#include "session.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "common/clock.hpp"

namespace shakedown::nbody {

Course read_course(Args& args, const std::string& bodies) {
  Course course;
  course.bodies = args.integers("bodies", bodies, 2, "numbers of bodies, in turn: 16384,65536");
  for (const auto& name : args.words("precision", "fp32", "fp32, fp64 or both between commas")) {
    if (name != "fp32" && name != "fp64") throw usage("unknown precision '" + name + "'", "known: fp32, fp64");
    course.precisions.push_back(name == "fp32" ? Precision::single : Precision::both_double);
  }
  course.samples = args.integer("samples", 5, 1, "samples of each case at least", 1'000'000);
  course.steps = args.integer("steps", 0, 0, "leapfrog steps of a sample; 0: as many as last 20 ms", 1'000'000);
  course.seconds = args.real("seconds", 0, 0, "continue each case for at least so many seconds");
  course.physics.softening =
      args.real("softening", course.physics.softening, 1e-6, "length that softens the force", 1e6);
  course.physics.dt = args.real("dt", course.physics.dt, 0, "time of a step");
  course.seed = args.integer("seed", 1, 0, "of the bodies' places and velocities");
  course.physics.force_factor =
      1 + args.real("break-force", 0, -2, "add this fraction of it to every force, to see the checks fail");
  course.verify = !args.flag("no-verify", "skip the checks of forces, energy and momentum");
  return course;
}

namespace {
std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}
}  // namespace

void require_course(const Course& course) {
  if (course.bodies.empty() || course.precisions.empty()) {
    throw usage("nothing to measure: --bodies and --precision each need a value", "see --help");
  }
  for (const auto n : course.bodies) {
    if (n > (std::int64_t{1} << 30)) throw usage("--bodies " + std::to_string(n) + " is above 2^30", "ask for fewer");
    const double most = longest_step(static_cast<std::size_t>(n), course.physics.softening);
    if (course.physics.dt <= most) continue;
    throw usage("--dt " + number(course.physics.dt) + " is above " + number(most) +
                    ", an eighth of the shortest orbit of " + std::to_string(n) + " bodies with --softening " +
                    number(course.physics.softening) + ": the energy would prove nothing",
                "take a shorter --dt");
  }
}

void Session::load(Bodies bodies) {
  bodies_ = std::move(bodies);
  backend_.load(bodies_);
  backend_.store(bodies_);  // rounded as the backend holds them
  if (precision_ == Precision::single) {
    for (double& m : bodies_.m) m = static_cast<double>(static_cast<float>(m));
  }
  before_ = ledger(bodies_, backend_.evaluate());
}

double Session::advance() {
  taken_ += steps_;
  return backend_.advance(steps_);
}

void Session::warm() {
  const double start = now_s();
  steps_ = std::max<std::int64_t>(course_.steps, 1);
  double seconds = advance();
  while (course_.steps == 0 && seconds < course_.sample_s / 2) {
    steps_ = static_cast<std::int64_t>(
        std::ceil(static_cast<double>(steps_) * std::min(course_.sample_s / std::max(seconds, 1e-7), 16.0)));
    seconds = advance();
  }
  while (now_s() - start < course_.warm_s) advance();
}

void Session::measure(const std::function<bool(double)>& more) {
  begin_ns_ = unix_ns();
  const double start = now_s();
  for (;;) {
    seconds_.push_back(advance());
    const double by_count = static_cast<double>(seconds_.size()) / static_cast<double>(course_.samples);
    const double by_time = course_.seconds > 0 ? (now_s() - start) / course_.seconds : 1;
    if (!more(std::min({by_count, by_time, 1.0}))) break;
    if (seconds_.size() == 10'000) {  // hours of load stay a small file: join them two by two
      for (std::size_t i = 0; i < 5'000; ++i) seconds_[i] = seconds_[2 * i] + seconds_[2 * i + 1];
      seconds_.resize(5'000);
      steps_ *= 2;
    }
  }
  end_ns_ = unix_ns();
}

void Session::check() {
  if (!course_.verify) return;
  backend_.store(bodies_);
  const Field field = backend_.evaluate();
  const Ledger after = ledger(bodies_, field);
  residual_ = nbody::residual({check_forces(bodies_, field, course_.physics, precision_),
                               check_energy(before_, after, taken_, course_.physics, precision_),
                               check_momentum(before_, after, taken_, course_.physics, precision_)});
}

Case Session::result() const {
  const auto n = static_cast<std::int64_t>(bodies_.count());
  Case result;
  result.kernel = "nbody";
  result.work.add("interactions", n * n * steps_).add("flop", kFlopEach * n * n * steps_).add("steps", steps_);
  result.seconds = seconds_;
  result.begin_ns = begin_ns_;
  result.end_ns = end_ns_;
  return result;
}

}  // namespace shakedown::nbody
