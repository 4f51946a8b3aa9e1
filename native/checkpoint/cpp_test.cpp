// The C++ header: what is protected comes back, shapes that do not fit throw, what happens to a run is a status.
#include <unistd.h>

#include <complex>
#include <filesystem>
#include <numeric>

#include "include/shakedown/checkpoint.hpp"
#include "testing/check.hpp"

namespace shakedown::ckpt {
namespace {

struct Particle {
  float place[3];
  int kind;
};

Options options_of(const std::string& folder) {
  Options options;
  options.local = folder.c_str();
  options.synchronous = 1;
  return options;
}

/// The state of an application: a value, arrays of several types, a box with ghost layers.
struct State {
  std::int64_t step = 0;
  bool warm = false;
  std::vector<std::complex<double>> wave = std::vector<std::complex<double>>(7);
  std::vector<Particle> particles = std::vector<Particle>(3);
  std::vector<double> u = std::vector<double>(30, -1);  // 5 x 6, of which the inner 3 x 4 count

  void protect(Session& session) {
    session.protect("step", step);
    session.protect("warm", warm);
    session.protect("wave", std::span(wave));
    session.protect("particles", std::span(particles));
    session.protect("u", std::span(u), Box{{3, 4}, {3, 4}, {0, 0}}, Inside{{5, 6}, {1, 1}});
  }
};

void test_a_round(Checks& checks, const std::string& folder) {
  State state;
  state.step = 17;
  state.warm = true;
  state.wave[6] = {1.5, -2.5};
  state.particles[2] = {{1, 2, 3}, 9};
  std::iota(state.u.begin(), state.u.end(), 0.0);
  {
    Session first(options_of(folder));
    state.protect(first);
    checks.equal(first.restore().code, static_cast<int>(SHAKEDOWN_CKPT_NOTHING), "a fresh start");
    Session moved(std::move(first));
    checks.that(static_cast<bool>(moved.checkpoint(SHAKEDOWN_CKPT_LOCAL)), "saved: " + moved.last_error());
    checks.that(!moved.pending() && moved.statistics().level[1].committed == 1, "committed");
    checks.that(static_cast<bool>(moved.close()) && static_cast<bool>(moved.close()), "closed, also twice");
  }
  State back;
  Session session(options_of(folder));
  back.protect(session);
  shakedown_ckpt_restart info{};
  checks.that(static_cast<bool>(session.restart_info(info)) && info.available == 1 && info.ranks == 1, "it is there");
  checks.that(static_cast<bool>(session.restore()), "restored: " + session.last_error());
  checks.that(back.step == 17 && back.warm && back.wave == state.wave, "values come back");
  checks.that(back.particles[2].place[1] == 2 && back.particles[2].kind == 9, "and records as bytes");
  bool right = true;
  for (std::size_t i = 0; i < 30; ++i) {
    const bool inside = i / 6 >= 1 && i / 6 <= 3 && i % 6 >= 1 && i % 6 <= 4;
    right &= back.u[i] == (inside ? state.u[i] : -1.0);
  }
  checks.that(right, "the box comes back, ghost layers are left alone");
  back.step = 0;
  checks.that(static_cast<bool>(session.restore("step")) && back.step == 17, "one name of them");
}

void test_refusals(Checks& checks, const std::string& folder) {
  Session session(options_of(folder));
  std::vector<double> u(12);
  const auto part = std::span(u);
  checks.throws<Error>([&] { session.protect("u", part, Box{{3, 5}, {3, 5}, {0, 0}}); }, "more than the memory");
  checks.throws<Error>([&] { session.protect("u", part, Box{{3, 4}, {3, 4}, {0}}); }, "an offset too short");
  checks.throws<Error>([&] { session.protect("u", part, Box{{3, 4}, {3, 4}, {1, 0}}); }, "beyond the array");
  checks.throws<Error>([&] { session.protect("", part); }, "no name");
  checks.throws<Error>([&] { session.unprotect("u"); }, "not protected");
  checks.throws<Error>([&] { session.set_option("nothing", "1"); }, "an unknown option");
  const auto wrong = session.checkpoint(7);
  checks.that(!wrong && wrong.code == SHAKEDOWN_CKPT_INVALID && !wrong.text.empty(), "a level that does not exist");
  checks.throws<Error>([] { const Session none{Options()}; }, "no folder");
  checks.throws<Error>([] { const Session none(options_of("/proc/none")); }, "a folder that cannot be");
}

}  // namespace
}  // namespace shakedown::ckpt

int main() {
  shakedown::Checks checks;
  const auto folder = std::filesystem::temp_directory_path() / ("shakedown-cpp-" + std::to_string(getpid()));
  shakedown::ckpt::test_a_round(checks, folder / "a");
  shakedown::ckpt::test_refusals(checks, folder / "b");
  std::filesystem::remove_all(folder);
  return checks.end();
}
