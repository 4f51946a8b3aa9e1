// Back from a checkpoint: the newest generation that all ranks can have, or why not.
#include <algorithm>

#include "collective.hpp"
#include "session.hpp"

namespace shakedown::checkpoint {

/// Every file that a node or the shared folder holds, gathered from the first rank of each.
Outcome Session::inventory(std::vector<Candidate>& candidates) {
  std::vector<Holding> mine;
  const auto look = [&](Folder* folder, int node) {
    const auto found = std::make_shared<std::vector<Generation>>();
    Outcome scanned = folder->run(settings_.timeout_seconds, [found](Store& store) { return store.scan(*found); });
    if (!scanned.good()) return warn(scanned.words + ": what it holds is not used");
    for (const Generation& generation : *found) {
      for (const std::string& problem : generation.problems) warn(problem);
    }
    const std::vector<Holding> there = holdings_of(*found, node);
    mine.insert(mine.end(), there.begin(), there.end());
  };
  if (context_.local != nullptr && context_.leads_node()) look(context_.local, topology_->node_of(comm_.rank));
  if (context_.global != nullptr && comm_.rank == 0) look(context_.global, kGlobalNode);
  const std::vector<Bytes> all = gather(comm_, pack_holdings(mine));
  if (all.empty()) return failed(SHAKEDOWN_CKPT_PEER, "the allgather of the application failed");
  std::vector<Holding> holdings;
  for (const Bytes& one : all) unpack_holdings(one, holdings);
  std::erase_if(holdings, [&](const Holding& holding) { return holding.node >= topology_->nodes(); });
  candidates = candidates_of(holdings);
  return {};
}

Outcome Session::restart_info(shakedown_ckpt_restart& info) {
  std::vector<Candidate> candidates;
  if (Outcome looked = inventory(candidates); !looked.good()) return looked;
  const std::size_t bytes = info.struct_bytes;
  info = {};
  info.struct_bytes = bytes;
  for (const Candidate& candidate : candidates) {
    if (candidate.level == 0) continue;
    info.available = 1;
    info.level = candidate.level;
    info.generation = candidate.generation;
    info.ranks = candidate.ranks;
    info.bytes = candidate.bytes;
    info.unix_seconds = candidate.unix_seconds;
    break;
  }
  return {};
}

/// Loads on the helper, which answers other ranks until all have what they need.
Outcome Session::load_together(const Candidate& candidate, const std::vector<Protected>& parts, Loaded& loaded) {
  ++job_;
  const auto result = std::make_shared<Loaded>();
  result->outcome = failed(SHAKEDOWN_CKPT_MEMORY, "the helper had no memory to load the checkpoint");
  helper_->post([this, result, job = job_, &candidate, &parts] {
    if (transport_ != nullptr) transport_->begin(job);
    *result = load(context_, candidate, parts);
  });
  helper_->wait(Deadline::max());  // every wait of the job has a bound
  loaded = *result;
  return agree_on(loaded.outcome);
}

Outcome Session::restore(const std::optional<std::string>& name) {
  const double begun = now_seconds();
  std::vector<Protected> parts = parts_;
  if (name) std::erase_if(parts, [&](const Protected& part) { return part.name != *name; });
  Outcome ready;
  if (parts.empty()) {
    ready = failed(SHAKEDOWN_CKPT_INVALID,
                   name ? "'" + *name + "' is not protected" : "nothing is protected that could be restored");
  } else if (!helper_->wait(in_seconds(settings_.timeout_seconds))) {
    ready = failed(SHAKEDOWN_CKPT_BUSY, "a checkpoint is still being written");
  }
  if (Outcome all = agree_on(ready); !all.good()) return all;
  std::vector<Candidate> candidates;
  if (Outcome looked = inventory(candidates); !looked.good()) return looked;
  if (candidates.empty()) return failed(SHAKEDOWN_CKPT_NOTHING, "there is no checkpoint: a fresh start");
  std::string reasons;
  for (const Candidate& candidate : candidates) {
    const std::string which = "generation " + std::to_string(candidate.generation) + ": ";
    Outcome loading = failed(SHAKEDOWN_CKPT_LOST, candidate.why_not);
    Loaded loaded;
    if (candidate.level > 0) loading = load_together(candidate, parts, loaded);
    if (loading.good()) {
      Outcome filled;
      for (std::size_t at = 0; at < parts.size() && filled.good(); ++at)
        filled = unstage(parts[at], loaded.buffer->data() + loaded.regions[at].at);
      if (!filled.good()) filled.words += ": what is protected is filled in part only";
      if (Outcome all = agree_on(filled); !all.good()) return all;
      restored(candidate, loaded, now_seconds() - begun);
      return {};
    }
    if (loading.error != SHAKEDOWN_CKPT_LOST) return loading;
    const std::string reason = which + loading.words;
    warn(reason);
    reasons += "\n" + reason;
  }
  return failed(SHAKEDOWN_CKPT_LOST, "no checkpoint can be restored" + reasons);
}

void Session::restored(const Candidate& candidate, const Loaded& loaded, double seconds) {
  for (double& tried : last_tried_) tried = now_seconds();
  calls_left_ = 0;
  {
    const std::scoped_lock lock(mutex_);
    statistics_.restored_level = candidate.level;
    statistics_.repaired_blocks += loaded.repaired_blocks;
    statistics_.restore_seconds += seconds;
  }
  // What was lost with a node protects no longer: a checkpoint of the safest level of nodes, or the shared folder's, is
  // due before more is computed.
  if (candidate.level == SHAKEDOWN_CKPT_LOCAL) return;
  for (const int level : {SHAKEDOWN_CKPT_GROUP, SHAKEDOWN_CKPT_PARTNER, SHAKEDOWN_CKPT_GLOBAL, SHAKEDOWN_CKPT_LOCAL}) {
    if (due_at_once_ == 0 && uses(level)) due_at_once_ = level;
  }
}

}  // namespace shakedown::checkpoint
