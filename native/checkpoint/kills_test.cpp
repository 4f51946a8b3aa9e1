// Killed at every operation, on a cluster in memory: one committed generation always comes back, whatever was under
// way, also where the power goes with it; and the application goes on when any one operation fails.
#include <algorithm>

#include "testing/check.hpp"
#include "testing/cluster.hpp"
#include "testing/sanitized.hpp"

using namespace shakedown::checkpoint;
using namespace shakedown::checkpoint::testing;

namespace {

shakedown::Checks checks;
constexpr std::uint64_t kFirst = 10;

std::uint64_t newest(const std::vector<Save>& saves) {
  std::uint64_t step = kFirst;  // committed before the fault
  for (const Save& save : saves) step = std::max(step, save.step);
  return step;
}

/// A first checkpoint, then two more of this level, which remove it with a fault at the n-th operation; then back.
struct Trial {
  int level = 1;
  bool synchronous = true;
  bool all_ranks = true;  // the fault is that of all ranks, or of one
  bool power = false;
  std::int64_t error = 0;  // an error at the operation instead of death

  /// False when the n-th operation is past the end.
  bool run(std::int64_t n) const {
    const std::string what = "level " + std::to_string(level) + ", operation " + std::to_string(n) +
                             (all_ranks ? " of all" : " of one") + (power ? ", power lost" : "") +
                             (error != 0 ? ", error" : "");
    Shape shape;
    shape.nodes = 3;
    shape.group_size = 3;
    const auto disk = std::make_shared<Disk>();
    run_job(disk, shape, {{kFirst, level}}, true);
    const auto faults = std::make_shared<Faults>();
    (error != 0 ? faults->fail_at : faults->die_at) = n;
    faults->error = static_cast<int>(error);
    std::vector<std::shared_ptr<Faults>> each(3);
    for (auto& one : each) one = all_ranks ? faults : std::make_shared<Faults>();
    each[static_cast<std::size_t>(n) % 3] = faults;
    const Ran ran = run_job(disk, shape, {{20, level}, {30, level}}, synchronous, each);
    if (faults->operations <= n) return false;
    checks.that(error == 0 || ran.restored.error != SHAKEDOWN_CKPT_INTERNAL, what + ": an error is a value");
    std::mt19937_64 random(static_cast<std::uint64_t>(n));
    if (power) disk->lose_power(random);
    const Restored found = restore_job(disk, shape);
    checks.that(found.error == SHAKEDOWN_CKPT_OK, what + ": something comes back: " + found.words);
    checks.that(found.right && found.alike, what + ": exactly");
    checks.that(found.step >= newest(ran.committed),
                what + ": not older than what was committed: " + std::to_string(found.step));
    return true;
  }
};

}  // namespace

int main(int argc, char**) {
  // Every operation when all ranks die at once; otherwise, and under a sanitizer, some, from a place that differs by
  // trial. An argument asks for all.
  const std::int64_t some = shakedown::kSanitized ? 37 : 13;
  const std::int64_t few = argc > 1 ? 1 : some;
  std::int64_t start = 0;
  for (const int level : {1, 2, 3, 4}) {
    for (const bool all : {true, false}) {
      for (const bool power : {false, true}) {
        const std::int64_t step = all && !power && !shakedown::kSanitized ? 1 : few;
        for (std::int64_t n = start++ % step; Trial{level, n % 2 == 0, all, power && all, 0}.run(n); n += step) {
        }
      }
    }
    for (const int error : {ENOSPC, EIO}) {
      const std::int64_t step = few;
      for (std::int64_t n = start++ % step; Trial{level, n % 2 == 0, false, false, error}.run(n); n += step) {
      }
    }
  }
  return checks.end();
}
