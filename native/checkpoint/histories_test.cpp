// Random histories against a model of what each level promises: jobs of changing size save, are killed, lose power,
// nodes and files, and come back. Nothing that is promised is lost, and nothing wrong is ever restored. Arguments: how
// many, and the seed of the first: a history that fails is tried again alone by `checkpoint_histories_test 1 SEED`.
#include <algorithm>
#include <set>

#include "testing/check.hpp"
#include "testing/cluster.hpp"
#include "testing/sanitized.hpp"

using namespace shakedown::checkpoint;
using namespace shakedown::checkpoint::testing;

namespace {

shakedown::Checks checks;

/// A committed checkpoint, and what has befallen it since.
struct Promise {
  Save save;
  Shape shape;
  std::set<std::string> lost;  // nodes that lost something of theirs
  bool nodes_too = true;       // of level 4: what fails on the nodes is left out with a warning
  bool global_lost = false;
  int newer = 0;  // committed later at a level at least as safe

  [[nodiscard]] bool holds(const Shape& now) const {
    if (newer >= 2) return false;  // it may have been removed
    if (save.level == 4 && !global_lost) return true;
    if (save.level == 4 && !nodes_too) return false;
    // What lies on nodes is there for a job that runs on these nodes.
    std::set<std::string> present;
    for (int rank = 0; rank < now.ranks(); ++rank) present.insert(now.node_of(rank));
    std::set<std::string> gone = lost;
    for (int rank = 0; rank < shape.ranks(); ++rank) {
      if (!present.contains(shape.node_of(rank))) gone.insert(shape.node_of(rank));
    }
    if (gone.empty()) return true;
    if (save.level == 2) return !neighbours(gone);
    return save.level == 3 && within_groups(gone);
  }

 private:
  [[nodiscard]] Topology topology() const {
    std::vector<Place> places;
    places.reserve(static_cast<std::size_t>(shape.ranks()));
    for (int rank = 0; rank < shape.ranks(); ++rank) places.push_back({shape.node_of(rank), shape.node_of(rank)});
    return Topology(places);
  }
  [[nodiscard]] bool neighbours(const std::set<std::string>& gone) const {
    const Topology all = topology();
    for (int rank = 0; rank < shape.ranks(); ++rank) {
      if (gone.contains(shape.node_of(rank)) && gone.contains(shape.node_of(all.partner_of(rank)))) return true;
    }
    return false;
  }
  [[nodiscard]] bool within_groups(const std::set<std::string>& gone) const {
    const Topology all = topology();
    for (int rank = 0; rank < shape.ranks(); ++rank) {
      const Group group = all.group_of(rank, shape.group_size, shape.group_losses);
      int count = 0;
      for (const int member : group.members) count += gone.contains(shape.node_of(member)) ? 1 : 0;
      if (count > group.losses) return false;
    }
    return true;
  }
};

class History {
 public:
  explicit History(std::uint64_t seed) : seed_(seed), random_(seed) {}

  void run() {
    const int jobs = 2 + drawn(4);
    for (int job = 0; job < jobs; ++job) {
      Shape shape;
      shape.nodes = 2 + drawn(4);
      shape.per_node = 1 + drawn(2);
      shape.rows = 17;
      shape.group_size = 4;
      shape.group_losses = 1 + drawn(2);
      std::vector<Save> script;
      for (int save = drawn(5); save > 0; --save) script.push_back({++step_, 1 + drawn(4)});
      const auto faults = std::make_shared<Faults>();
      const bool killed = drawn(2) == 0;
      if (killed) faults->die_at = drawn(60 * shape.ranks());
      if (!killed && drawn(3) == 0) faults->fail_at = drawn(60 * shape.ranks());
      std::vector<std::shared_ptr<Faults>> each(static_cast<std::size_t>(shape.ranks()), faults);
      if (!killed) std::generate(each.begin() + 1, each.end(), [] { return std::make_shared<Faults>(); });
      const Ran ran = run_job(disk_, shape, script, drawn(2) == 0, each);
      const bool opened = !(killed && faults->dead && ran.committed.empty()) && faults->fail_at < 0;
      judge(ran, shape, opened);
      for (const Save& save : ran.tried) tried_.insert(save.step);
      keep(ran, shape, faults->fail_at < 0);
      harm(shape);
    }
    Shape last;
    last.rows = 17;
    last.nodes = 6;
    Ran ran;
    ran.restored = restore_job(disk_, last);
    judge(ran, last, true);
  }

 private:
  int drawn(int below) { return static_cast<int>(random_() % static_cast<std::uint64_t>(below)); }

  void judge(const Ran& ran, const Shape& shape, bool undisturbed) {
    const Restored& found = ran.restored;
    const std::string what = "history " + std::to_string(seed_);
    checks.that(found.right, what + ": the state is exact");
    if (found.error == SHAKEDOWN_CKPT_OK) {
      checks.that(found.alike, what + ": all ranks have the same step");
      checks.that(tried_.contains(found.step), what + ": step " + std::to_string(found.step) + " was saved");
    }
    if (!undisturbed) return;
    std::uint64_t promised = 0;
    for (const Promise& promise : promises_) {
      if (promise.holds(shape)) promised = std::max(promised, promise.save.step);
    }
    const std::uint64_t step = found.error == SHAKEDOWN_CKPT_OK ? found.step : 0;
    checks.that(step >= promised, what + ": step " + std::to_string(promised) + " was promised, " +
                                      std::to_string(step) + " came back: " + found.words);
  }

  void keep(const Ran& ran, const Shape& shape, bool nodes_too) {
    for (const Save& save : ran.tried) {
      const bool committed = std::any_of(ran.committed.begin(), ran.committed.end(),
                                         [&](const Save& one) { return one.step == save.step; });
      // What was not reported may be committed nevertheless, and so make others superfluous.
      for (Promise& promise : promises_) promise.newer += promise.save.level <= save.level ? 1 : 0;
      if (committed) promises_.push_back({save, shape, {}, nodes_too, false, 0});
    }
  }

  void lose(const std::string& node) {
    for (Promise& promise : promises_) promise.lost.insert(node);
  }

  void harm(const Shape& shape) {
    if (drawn(3) == 0) disk_->lose_power(random_);
    if (drawn(3) == 0) {
      const std::string node = shape.node_of(drawn(shape.ranks()));
      disk_->lose_folder("/" + node);
      lose(node);
    }
    if (drawn(3) != 0) return;
    const bool global = drawn(3) == 0;
    const std::string folder = global ? "global" : shape.node_of(drawn(shape.ranks()));
    const auto files = disk_->files_under("/" + folder);
    if (files.empty()) return;
    const std::string& path = files[static_cast<std::size_t>(drawn(static_cast<int>(files.size())))];
    disk_->damage(path, [&](std::vector<std::uint8_t>& bytes) {
      if (bytes.empty() || drawn(3) == 0) {
        bytes.resize(bytes.size() / 2);
      } else {
        bytes[random_() % bytes.size()] ^= static_cast<std::uint8_t>(1U << static_cast<unsigned>(drawn(8)));
      }
    });
    if (!global) lose(folder);
    for (Promise& promise : promises_) promise.global_lost = promise.global_lost || global;
  }

  std::uint64_t seed_;
  std::mt19937_64 random_;
  std::shared_ptr<Disk> disk_ = std::make_shared<Disk>();
  std::uint64_t step_ = 0;
  std::set<std::uint64_t> tried_;
  std::vector<Promise> promises_;
};

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t count = argc > 1 ? std::stoull(argv[1]) : shakedown::kSanitized ? 15 : 150;
  const std::uint64_t first = argc > 2 ? std::stoull(argv[2]) : 1;
  for (std::uint64_t seed = first; seed < first + count; ++seed) History(seed).run();
  return checks.end();
}
