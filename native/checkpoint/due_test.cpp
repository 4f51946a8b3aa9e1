// When a checkpoint is due, and what snapshot does: one rank on a disk in memory, with a clock that the test sets and
// costs that it tells.
#include <cmath>

#include "testing/check.hpp"
#include "testing/disk.hpp"
#include "testing/ranks.hpp"

using namespace shakedown::checkpoint;
using namespace shakedown::checkpoint::testing;

namespace {

shakedown::Checks checks;

constexpr shakedown_ckpt_comm kAlone = {0, 1, nullptr, nullptr, nullptr};

/// A job of one rank: its state at each step is known, and its time is told.
struct Job {
  std::shared_ptr<Disk> disk = std::make_shared<Disk>();
  std::shared_ptr<Faults> faults = std::make_shared<Faults>();
  std::shared_ptr<std::atomic<double>> now = std::make_shared<std::atomic<double>>(5000.0);
  std::shared_ptr<std::atomic<double>> unix_now = std::make_shared<std::atomic<double>>(1.7e9);
  Settings settings;
  Application application{0, 1, 8, 8};
  std::unique_ptr<Session> session;

  Job() {
    settings.local = "/node0";
    settings.global = "/global";
    settings.node = settings.domain = "node0";
    settings.synchronous = true;
    settings.timeout_seconds = 60;
  }

  void begin() {
    session.reset();
    const Clocks clocks = {[clock = now] { return clock->load(); }, [clock = unix_now] { return clock->load(); }};
    const auto files = std::make_shared<DiskFiles>(disk, faults);
    checks.that(Session::open(kAlone, {}, settings, files, session, clocks).good(), "opened");
    application.protect(*session);
  }

  void pass(double seconds) const { *now = *now + seconds; }

  /// From now on a checkpoint takes so long: the part of it in the node's folder, and that in the shared one.
  void costs(double local_seconds, double global_seconds) const {
    faults->before_generation = [clock = now, local_seconds, global_seconds](const std::string& path) -> Result {
      const double cost = path.starts_with("/global") ? global_seconds : local_seconds;
      for (double seen = *clock; !clock->compare_exchange_weak(seen, seen + cost);) {
      }
      return 0;
    };
  }

  int due() const {
    int level = -1;
    checks.that(session->due(level).good(), "due");
    return level;
  }

  Outcome save(int level, std::uint64_t step) {
    application.compute(step);
    return session->checkpoint(level);
  }

  /// Steps of so many seconds until a checkpoint is due: after how many seconds, and of which level.
  std::pair<double, int> until_due(double step_seconds, int most_steps = 100000) const {
    const double begun = *now;
    for (int step = 0; step < most_steps; ++step) {
      pass(step_seconds);
      if (const int level = due(); level != 0) return {*now - begun, level};
    }
    return {*now - begun, 0};
  }

  double interval(std::size_t level) const {
    shakedown_ckpt_statistics found = {};
    session->stats(found);
    return found.level[level].interval_seconds;
  }
};

bool near(double value, double wanted, double within) { return std::abs(value - wanted) <= within * wanted; }

/// W = sqrt(2 c M / share): what the interval follows from, with what each level costs beyond the one below. Of one
/// node levels 1 and 4 are there: 60 % of failures need the first, all others the other.
void from_measured_costs() {
  for (const double mtti : {6 * 3600.0, 1800.0}) {
    Job job;
    job.settings.mtti_seconds = mtti;
    job.begin();
    job.costs(4, 20);
    checks.that(job.save(1, 1).good() && job.save(4, 2).good(), "saved once each");
    const double first = std::sqrt(2 * 4 * mtti / 0.6);
    const double fourth = std::sqrt(2 * 20 * mtti / 0.4);
    checks.that(near(job.interval(1), first, 0.05), "level 1: " + std::to_string(job.interval(1)));
    checks.that(near(job.interval(4), fourth, 0.05), "level 4: " + std::to_string(job.interval(4)));
    const auto [seconds, level] = job.until_due(1.0);
    // The checkpoint of level 4 counts for level 1 too; both count from when they were begun.
    checks.that(level == 1 && near(seconds + 24, job.interval(1), 0.01),
                "due after " + std::to_string(seconds) + " s, level " + std::to_string(level));
  }
}

/// Level 0 elsewhere, and the dearest one first where several are due.
void fixed_intervals() {
  Job job;
  job.settings.interval_seconds = {0, 10, 0, 0, 35};
  job.begin();
  std::vector<std::pair<int, int>> found;
  for (int second = 1; second <= 90; ++second) {
    job.pass(1);
    const int level = job.due();
    if (level == 0) continue;
    found.emplace_back(second, level);
    checks.that(job.save(level, static_cast<std::uint64_t>(second)).good(), "saved");
  }
  const std::vector<std::pair<int, int>> wanted = {{10, 1}, {20, 1}, {30, 1}, {35, 4}, {45, 1},
                                                   {55, 1}, {65, 1}, {70, 4}, {80, 1}, {90, 1}};
  checks.that(found == wanted, "level 1 each 10 s, level 4 each 35 s, from any checkpoint that holds them");
}

void left_out() {
  Job job;
  job.settings.interval_seconds = {0, -1, 0, 0, -1};
  job.begin();
  checks.equal(job.until_due(3600, 200).second, 0, "levels that are left out are never due");
  checks.that(job.session->set_option("interval_seconds.1", "5").good(), "changed while open");
  job.pass(6);
  checks.equal(job.due(), 1, "at once");
}

/// Most calls only count, and that makes none late: also where steps last four times as long all at once.
void seldom_looks() {
  Job job;
  job.settings.interval_seconds = {0, 100, 0, 0, -1};
  job.begin();
  const auto [fast, level] = job.until_due(0.001);
  checks.that(level == 1 && near(fast, 100, 0.001), "small steps: " + std::to_string(fast));
  checks.that(job.save(1, 1).good(), "saved");
  checks.equal(job.until_due(0.01, 100).second, 0, "a second of steps");
  const auto [slow, again] = job.until_due(0.04);
  checks.that(again == 1 && near(slow + 1, 100, 0.01), "slower steps: " + std::to_string(slow));
}

void mtti_of_nothing() {
  for (const double mtti : {0.0, 1e-9, 1e9}) {
    Job job;
    job.settings.mtti_seconds = mtti;
    job.begin();
    job.costs(4, 20);
    checks.that(job.save(1, 1).good() && job.save(4, 2).good(), "saved");
    shakedown_ckpt_statistics found = {};
    job.session->stats(found);
    for (const std::size_t at : {std::size_t{1}, std::size_t{4}}) {
      const double seconds = found.level[at].interval_seconds;
      checks.that(std::isfinite(seconds) && seconds >= (at == 1 ? 4 : 24),
                  "never below what it takes: MTTI " + std::to_string(mtti) + ", " + std::to_string(seconds) + " s");
    }
    checks.that(std::isfinite(found.waste_predicted), "and the waste is a number");
    if (mtti == 0) checks.that(near(found.level[1].interval_seconds, std::sqrt(8 * 21600 / 0.6), 0.05), "6 h");
  }
}

/// Back: the interval counts from there. Forward: one checkpoint, not one for each interval that was skipped.
void clock_that_jumps() {
  Job job;
  job.settings.interval_seconds = {0, 100, 0, 0, -1};
  job.begin();
  checks.that(job.save(1, 1).good(), "saved");
  job.pass(-4000);
  *job.unix_now = 1e9;
  checks.equal(job.due(), 0, "not because it went back");
  checks.that(near(job.until_due(1).first, 100, 0.02), "but after an interval from then on");
  checks.that(job.save(1, 2).good(), "saved, with an older date");
  job.pass(365.0 * 86400);
  *job.unix_now = 0;
  checks.equal(job.due(), 1, "a year later one is due");
  checks.that(job.save(1, 3).good(), "saved, with the oldest date");
  checks.equal(job.due(), 0, "and no more");
  job.begin();
  checks.that(job.session->restore(std::nullopt).good(), "restored");
  checks.equal(job.application.step, std::uint64_t{3}, "the newest by its number, whatever its date");
  checks.that(job.application.right(), "exactly");
}

/// One checkpoint during which the machine stood still for a day moves nothing.
void one_that_stood_still() {
  Job job;
  job.settings.mtti_seconds = 3600;
  job.settings.global.clear();
  job.begin();
  job.costs(4, 0);
  for (std::uint64_t step = 1; step <= 3; ++step) checks.that(job.save(1, step).good(), "saved");
  const double before = job.interval(1);
  job.costs(86400, 0);
  checks.that(job.save(1, 4).good(), "saved in a day");
  checks.that(near(job.interval(1), before, 0.05), "the interval stays: " + std::to_string(job.interval(1)));
}

/// What came from a safer level protects no longer as it did.
void after_a_restore() {
  Job job;
  job.settings.interval_seconds = {0, 1000, 0, 0, 5000};
  job.begin();
  checks.that(job.save(4, 1).good(), "saved");
  job.begin();
  checks.that(job.session->restore(std::nullopt).good(), "from the node");
  checks.equal(job.due(), 0, "nothing is due");
  const auto [seconds, level] = job.until_due(1);
  checks.that(level == 1 && near(seconds, 1000, 0.01), "intervals count from the restore");
  job.session.reset();
  job.disk->lose_folder("/node0");
  job.begin();
  checks.that(job.session->restore(std::nullopt).good() && job.application.right(), "from the shared folder");
  checks.equal(job.due(), 4, "due at once");
  checks.equal(job.due(), 4, "until it is made");
  checks.that(job.save(1, 2).good(), "one that is less safe");
  checks.equal(job.due(), 4, "does not do");
  checks.that(job.save(4, 3).good(), "one that is");
  checks.equal(job.due(), 0, "does");
}

int snapshot(Job& job, int& did) {
  did = -1;
  return job.session->snapshot(did).error;
}

void snapshots() {
  Job job;
  job.settings.interval_seconds = {0, 10, 0, 0, -1};
  job.begin();
  int did = 0;
  checks.that(snapshot(job, did) == SHAKEDOWN_CKPT_OK && did == SHAKEDOWN_CKPT_DID_NOTHING, "a fresh start");
  checks.that(snapshot(job, did) == SHAKEDOWN_CKPT_OK && did == SHAKEDOWN_CKPT_DID_NOTHING, "not due");
  job.application.compute(7);
  job.pass(11);
  checks.that(snapshot(job, did) == SHAKEDOWN_CKPT_OK && did == SHAKEDOWN_CKPT_DID_CHECKPOINT, "due");
  job.begin();
  job.application.compute(8);
  checks.that(snapshot(job, did) == SHAKEDOWN_CKPT_OK && did == SHAKEDOWN_CKPT_DID_RESTORE, "the next job restores");
  checks.that(job.application.step == 7 && job.application.right(), "that state");
  checks.that(snapshot(job, did) == SHAKEDOWN_CKPT_OK && did == SHAKEDOWN_CKPT_DID_NOTHING, "once");

  // Nothing is whole any more: said once, with the reason; the application decides, and may go on.
  job.session.reset();
  for (const std::string& path : job.disk->files_under("/node0")) {
    if (path.ends_with(".data")) job.disk->damage(path, [](auto& bytes) { bytes.clear(); });
  }
  job.begin();
  job.application.compute(9);
  checks.equal(snapshot(job, did), int{SHAKEDOWN_CKPT_LOST}, "all damaged");
  checks.that(did == SHAKEDOWN_CKPT_DID_NOTHING && job.application.step == 9 && job.application.right(),
              "memory is left alone");
  job.pass(11);
  checks.that(snapshot(job, did) == SHAKEDOWN_CKPT_OK && did == SHAKEDOWN_CKPT_DID_CHECKPOINT, "and it goes on");
}

/// A level that fails is tried again after its interval, not at each step; the others go on, and what was saved holds.
void a_level_that_fails() {
  Job job;
  job.settings.interval_seconds = {0, 10, 0, 0, 25};
  job.begin();
  int did = 0;
  checks.equal(snapshot(job, did), 0, "a fresh start");
  job.faults->before_generation = [](const std::string& path) -> Result {
    return path.starts_with("/global") ? -ENOSPC : 0;
  };
  std::vector<std::pair<int, int>> made;
  for (int second = 1; second <= 60; ++second) {
    job.pass(1);
    job.application.compute(static_cast<std::uint64_t>(second));
    const Outcome outcome = job.session->snapshot(did);
    if (!outcome.good()) {
      checks.equal(outcome.error, int{SHAKEDOWN_CKPT_STORAGE}, "the error of the level");
      checks.that(outcome.words.find("level 4 is committed at level 1 only") != std::string::npos &&
                      outcome.words.find("/global") != std::string::npos &&
                      outcome.words.find("No space left") != std::string::npos,
                  "says which, where and why: " + outcome.words);
      checks.equal(did, int{SHAKEDOWN_CKPT_DID_NOTHING}, "and it is no checkpoint as asked");
      made.emplace_back(second, 4);
    } else if (did == SHAKEDOWN_CKPT_DID_CHECKPOINT) {
      made.emplace_back(second, 1);
    }
  }
  const std::vector<std::pair<int, int>> wanted = {{10, 1}, {20, 1}, {25, 4}, {35, 1}, {45, 1}, {50, 4}, {60, 1}};
  checks.that(made == wanted, "each level at its interval, whether it worked or not");
  shakedown_ckpt_statistics found = {};
  job.session->stats(found);
  checks.that(found.level[4].failed == 2 && found.level[4].committed == 0 && found.level[1].committed == 5, "counted");
  job.faults->before_generation = {};
  job.begin();
  checks.that(job.session->restore(std::nullopt).good() && job.application.step == 60 && job.application.right(),
              "the newest comes back");
}

}  // namespace

int main() {
  from_measured_costs();
  fixed_intervals();
  left_out();
  seldom_looks();
  mtti_of_nothing();
  clock_that_jumps();
  one_that_stood_still();
  after_a_restore();
  snapshots();
  a_level_that_fails();
  return checks.end();
}
