// A job on a cluster in memory: nodes with a folder each, a shared folder, ranks that open, compute and save.
#pragma once

#include <optional>

#include "disk.hpp"
#include "ranks.hpp"

namespace shakedown::checkpoint::testing {

struct Shape {
  int nodes = 4;
  int per_node = 1;
  std::uint64_t rows = 24;
  std::uint64_t columns = 5;
  int group_size = 4;
  int group_losses = 2;
  std::vector<std::string> names = {};  // of the nodes, where they are not node0, node1, ...
  [[nodiscard]] int ranks() const { return nodes * per_node; }
  [[nodiscard]] std::string node_of(int rank) const {
    const int node = rank / per_node;
    return names.empty() ? "node" + std::to_string(node) : names[static_cast<std::size_t>(node)];
  }
};

inline Settings settings_for(const Shape& shape, int rank) {
  Settings settings;
  settings.node = shape.node_of(rank);
  settings.domain = settings.node;
  settings.local = "/" + settings.node;
  settings.global = "/global";
  settings.address = "127.0.0.1";
  settings.group_size = shape.group_size;
  settings.group_losses = shape.group_losses;
  settings.timeout_seconds = 20;
  return settings;
}

/// What came of a restore: the step, the same on all ranks, or an error.
struct Restored {
  int error = SHAKEDOWN_CKPT_INTERNAL;
  std::uint64_t step = 0;
  int level = 0;
  bool right = true;  // every rank has exactly the state of that step
  bool alike = true;  // all ranks report the same
  std::string words;
};

/// A checkpoint that a script makes.
struct Save {
  std::uint64_t step = 0;
  int level = 0;
};

struct Ran {
  Restored restored;
  std::vector<Save> tried;
  std::vector<Save> committed;  // as some rank reported
};

/// Opens, restores, and saves as the script says, synchronously or not. `faults` of each rank may be shared.
inline Ran run_job(const std::shared_ptr<Disk>& disk, const Shape& shape, const std::vector<Save>& script,
                   bool synchronous, const std::vector<std::shared_ptr<Faults>>& faults = {}) {
  Ran ran;
  std::mutex mutex;
  bool first = true;
  ran.tried = script;
  run_ranks(shape.ranks(), [&](const shakedown_ckpt_comm& comm) {
    Settings settings = settings_for(shape, comm.rank);
    settings.synchronous = synchronous;
    const auto own =
        faults.empty() ? std::make_shared<Faults>() : faults[static_cast<std::size_t>(comm.rank) % faults.size()];
    std::unique_ptr<Session> session;
    Outcome outcome = Session::open(comm, {}, settings, std::make_shared<DiskFiles>(disk, own), session);
    Application application(comm.rank, comm.size, shape.rows, shape.columns);
    shakedown_ckpt_statistics statistics = {};
    if (outcome.good()) {
      application.protect(*session);
      outcome = session->restore(std::nullopt);
      session->stats(statistics);
    }
    {
      const std::scoped_lock lock(mutex);
      Restored& restored = ran.restored;
      if (!first)
        restored.alike = restored.alike && restored.error == outcome.error && restored.step == application.step;
      first = false;
      restored.error = outcome.error;
      restored.step = application.step;
      restored.level = statistics.restored_level;
      if (outcome.good()) restored.right = restored.right && application.right();
      if (!outcome.words.empty()) restored.words = outcome.words;
    }
    if (session == nullptr || (outcome.error != SHAKEDOWN_CKPT_OK && outcome.error != SHAKEDOWN_CKPT_NOTHING)) return;
    for (const Save& save : script) {
      application.compute(save.step);
      outcome = session->checkpoint(save.level);
      application.compute(save.step + 1000000);  // at once: what is saved is the copy
      if (!synchronous) outcome = session->wait(-1);
      const std::scoped_lock lock(mutex);
      if (outcome.good()) ran.committed.push_back(save);
    }
    (void)session->close(SHAKEDOWN_CKPT_KEEP);
  });
  return ran;
}

inline Restored restore_job(const std::shared_ptr<Disk>& disk, const Shape& shape) {
  return run_job(disk, shape, {}, true).restored;
}

}  // namespace shakedown::checkpoint::testing
