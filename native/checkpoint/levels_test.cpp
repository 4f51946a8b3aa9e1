// What each level promises, on a cluster in memory: the state of the step that was saved comes back, exactly.
#include <algorithm>
#include <limits>

#include "testing/check.hpp"
#include "testing/cluster.hpp"

using namespace shakedown::checkpoint;
using namespace shakedown::checkpoint::testing;

namespace {

shakedown::Checks checks;

void expect(const Restored& found, std::uint64_t step, const std::string& what) {
  checks.that(found.error == SHAKEDOWN_CKPT_OK,
              what + ": restored, not " + std::to_string(found.error) + " " + found.words);
  checks.equal(found.step, step, what + ": step");
  checks.that(found.right && found.alike, what + ": the state is exact on all ranks");
}

void each_level_alone() {
  for (int level = 1; level <= 4; ++level) {
    for (const bool synchronous : {true, false}) {
      const auto disk = std::make_shared<Disk>();
      const Ran ran = run_job(disk, {}, {{10, level}, {20, level}}, synchronous);
      checks.equal(ran.restored.error, int{SHAKEDOWN_CKPT_NOTHING}, "a first start has nothing to restore");
      checks.equal(ran.committed.size(), std::size_t{8}, "every rank sees both commits");
      expect(restore_job(disk, {}), 20, "level " + std::to_string(level));
    }
  }
}

void one_rank_and_none() {
  Shape alone;
  alone.nodes = 1;
  const auto disk = std::make_shared<Disk>();
  run_job(disk, alone, {{10, 1}, {20, 4}, {30, 1}}, false);
  expect(restore_job(disk, alone), 30, "one rank");
  Shape empty;
  empty.rows = 0;  // arrays without elements
  const auto other = std::make_shared<Disk>();
  run_job(other, empty, {{10, 3}}, true);
  expect(restore_job(other, empty), 10, "empty arrays");
  // More ranks than rows: some have nothing of the array, and their nodes may be lost as well.
  Shape few;
  few.rows = 2;
  for (const int level : {1, 2, 3, 4}) {
    const auto sparse = std::make_shared<Disk>();
    run_job(sparse, few, {{10, level}, {20, level}}, false);
    if (level > 1) sparse->lose_folder(level % 2 == 0 ? "/node0" : "/node1");
    expect(restore_job(sparse, few), 20, "ranks without a row, level " + std::to_string(level));
  }
}

/// Every set of lost nodes: up to `losses` of each group come back, and more fall to what is safer, with the reason.
void lost_nodes() {
  Shape shape;
  shape.nodes = 5;
  shape.group_size = 5;
  for (unsigned lost = 0; lost < (1U << 5); ++lost) {
    const auto disk = std::make_shared<Disk>();
    run_job(disk, shape, {{10, 4}, {20, 2}, {30, 3}}, true);
    for (int node = 0; node < 5; ++node) {
      if ((lost >> node & 1U) != 0) disk->lose_folder("/node" + std::to_string(node));
    }
    const int count = __builtin_popcount(lost);
    const bool neighbours = (lost & (lost << 1U | lost >> 4U)) != 0;
    const std::uint64_t step = count <= 2 ? 30 : neighbours ? 10 : 20;
    expect(restore_job(disk, shape), step, "nodes lost: " + std::to_string(lost));
  }
}

/// Blocks of several megabytes, of unequal ranks: parity and copies over several stripes.
void large_states() {
  Shape shape;
  shape.nodes = 4;
  shape.rows = 7;
  shape.columns = 200000;
  shape.group_losses = 1;
  for (const int level : {2, 3}) {
    const auto disk = std::make_shared<Disk>();
    run_job(disk, shape, {{10, level}}, false);
    disk->lose_folder("/node2");
    expect(restore_job(disk, shape), 10, "several blocks, level " + std::to_string(level));
  }
}

/// Any one file damaged in any way: bits turned, cut, made longer, emptied, removed.
void damaged_files() {
  const auto pristine = [](const std::shared_ptr<Disk>& disk, int level) {
    run_job(disk, {}, {{10, level}, {20, level}}, true);
  };
  for (const int level : {1, 2, 3, 4}) {
    const auto sample = std::make_shared<Disk>();
    pristine(sample, level);
    std::vector<std::string> files = sample->files_under("/node1");
    const auto global = sample->files_under("/global");
    files.insert(files.end(), global.begin(), global.end());
    for (std::size_t at = 0; at < files.size(); ++at) {
      const auto disk = std::make_shared<Disk>();
      pristine(disk, level);
      const std::string& path = files[at];
      const std::size_t kind = (at + static_cast<std::size_t>(level)) % 5;
      if (kind == 4) {
        disk->remove(path);
      } else {
        disk->damage(path, [&](std::vector<std::uint8_t>& bytes) {
          if (kind == 0 && !bytes.empty()) bytes[bytes.size() / 2] ^= 0x10;
          if (kind == 1) bytes.resize(bytes.size() / 2);
          if (kind == 2) bytes.resize(bytes.size() + 100, 1);
          if (kind == 3) bytes.clear();
        });
      }
      const Restored found = restore_job(disk, {});
      checks.that(found.right && found.alike, path + " damaged: the state is exact");
      checks.that(found.error == SHAKEDOWN_CKPT_OK, path + " damaged: something is restored: " + found.words);
      checks.that(level == 1 ? found.step >= 10 : found.step == 20,
                  path + " damaged: step " + std::to_string(found.step));
    }
  }
}

void other_ranks() {
  for (const int level : {3, 4}) {
    const auto disk = std::make_shared<Disk>();
    Shape shape;
    std::uint64_t step = 0;
    for (const int nodes : {8, 6, 12, 1, 3}) {
      shape.nodes = nodes;
      const Ran ran = run_job(disk, shape, {{step + 10, level}}, true);
      if (step > 0)
        expect(ran.restored, step, "onto " + std::to_string(nodes) + " ranks at level " + std::to_string(level));
      step += 10;
      // Level 3 lives on nodes: those that are not in the next job cannot give what they hold.
      if (level == 3) break;
    }
  }
  // Two ranks a node become one, the nodes the same: all that is needed lies on them.
  const auto disk = std::make_shared<Disk>();
  Shape shape;
  shape.per_node = 2;
  run_job(disk, shape, {{10, 1}}, true);
  shape.per_node = 3;
  expect(restore_job(disk, shape), 10, "8 ranks to 12 on the same nodes, without the global folder");
}

/// A node is replaced by another, the first too, and two change their places.
void replaced_nodes() {
  for (const int level : {2, 3}) {
    for (int gone = 0; gone < 4; ++gone) {
      const auto disk = std::make_shared<Disk>();
      Shape shape;
      run_job(disk, shape, {{10, level}}, true);
      disk->lose_folder("/node" + std::to_string(gone));
      shape.names = {"node0", "node1", "node2", "node3"};
      shape.names[static_cast<std::size_t>(gone)] = "spare";
      const Ran ran = run_job(disk, shape, {{20, level}}, true);
      expect(ran.restored, 10, "node " + std::to_string(gone) + " replaced");
      std::swap(shape.names[0], shape.names[2]);
      std::swap(shape.names[1], shape.names[3]);
      expect(restore_job(disk, shape), 20, "nodes at other places");
    }
  }
}

void two_jobs() {
  const auto disk = std::make_shared<Disk>();
  Shape alone;
  alone.nodes = 1;
  run_job(disk, alone, {{10, 1}}, true);
  std::unique_ptr<Session> first;
  std::unique_ptr<Session> second;
  const shakedown_ckpt_comm comm = {0, 1, nullptr, nullptr, nullptr};
  const auto files = [&] { return std::make_shared<DiskFiles>(disk, std::make_shared<Faults>()); };
  const auto files_of_first = files();
  checks.that(Session::open(comm, {}, settings_for(alone, 0), files_of_first, first).good(),
              "the first job has the folder");
  const Outcome refused = Session::open(comm, {}, settings_for(alone, 0), files(), second);
  checks.equal(refused.error, int{SHAKEDOWN_CKPT_LOCKED}, "the second is refused");
  // A zombie: its lock is gone with its connection to the file system, it itself is not.
  disk->forget_locks();
  checks.that(Session::open(comm, {}, settings_for(alone, 0), files(), second).good(), "a later job takes over");
  Application application(0, 1, 8, 8);
  application.protect(*first);
  application.compute(99);
  (void)first->set_option("synchronous", "1");
  checks.that(!first->checkpoint(1).good(), "the zombie writes no more");
  first.reset();
  second.reset();
  expect(restore_job(disk, alone), 10, "after the zombie");
}

/// Two jobs on nodes of their own, neither of which sees the other's: numbers say nothing then. The one that began
/// later is gone on from, whatever its numbers.
void jobs_that_do_not_see_each_other() {
  const auto disk = std::make_shared<Disk>();
  Shape many;
  many.nodes = 4;
  run_job(disk, many, {{1, 3}, {2, 3}, {3, 3}, {4, 3}}, true);
  Shape few;
  few.nodes = 2;
  few.names = {"node4", "node5"};
  run_job(disk, few, {{5, 2}, {6, 2}}, true);
  Shape all;
  all.nodes = 6;
  expect(restore_job(disk, all), 6, "two jobs apart, on all nodes");
  disk->lose_folder("/node4");
  disk->lose_folder("/node5");
  expect(restore_job(disk, all), 4, "the later job's nodes are lost");
}

/// A clock that goes back between two jobs makes nothing older than what its job had seen.
void a_clock_that_goes_back() {
  const auto disk = std::make_shared<Disk>();
  Shape alone;
  alone.nodes = 1;
  const shakedown_ckpt_comm comm = {0, 1, nullptr, nullptr, nullptr};
  std::uint64_t step = 0;
  for (const double clock : {2e9, 1e9, 0.0, std::numeric_limits<double>::quiet_NaN(), -5.0}) {
    Clocks clocks = real_clocks();
    clocks.unix_now = [clock] { return clock; };
    std::unique_ptr<Session> session;
    const auto files = std::make_shared<DiskFiles>(disk, std::make_shared<Faults>());
    checks.that(Session::open(comm, {}, settings_for(alone, 0), files, session, clocks).good(), "opened");
    Application application(0, 1, 8, 8);
    application.protect(*session);
    (void)session->set_option("synchronous", "1");
    const Outcome restored = session->restore(std::nullopt);
    checks.that(restored.good() == (step > 0) && application.step == step, "the job before is gone on from");
    application.compute(++step);
    checks.that(session->checkpoint(1).good(), "saved");
    application.compute(step);
  }
}

}  // namespace

int main() {
  each_level_alone();
  one_rank_and_none();
  lost_nodes();
  large_states();
  damaged_files();
  other_ranks();
  replaced_nodes();
  two_jobs();
  jobs_that_do_not_see_each_other();
  a_clock_that_goes_back();
  return checks.end();
}
