// The helper's part of a session: from a staged state to a commit record, and what it makes superfluous.
#include <algorithm>
#include <exception>

#include "session.hpp"

namespace shakedown::checkpoint {

void Session::write(std::shared_ptr<const Staged> staged, std::uint64_t job, double begun) {
  const auto cpu = [&] {
    double seconds = thread_cpu_seconds();
    for (const Folder* folder : {context_.local, context_.global})
      seconds += folder == nullptr ? 0 : folder->cpu_seconds();
    return seconds;
  };
  const double cpu_before = cpu();
  {
    // What is thrown below, for want of memory, leaves this.
    const std::scoped_lock lock(mutex_);
    last_ = failed(SHAKEDOWN_CKPT_MEMORY, "the helper had no memory to write the checkpoint: an older one holds");
  }
  local_committed_ = global_committed_ = false;
  try {
    Drained result = drain(context_, staged, job);
    settle(staged->manifest, result);
    count(staged->manifest, result, now_seconds() - begun, cpu() - cpu_before);
  } catch (const std::exception&) {  // the words of that stand above
  }
  staged.reset();  // its buffer is free for the next
  {
    const std::scoped_lock lock(mutex_);
    settled_job_ = job;
  }
  changed_.notify_all();
  if (local_committed_) prune(context_.local, local_generations_);
  if (global_committed_) prune(context_.global, global_generations_);
}

/// Records the commit, or removes what is of no use.
void Session::settle(const Manifest& manifest, const Drained& result) {
  const int level = result.level;
  const std::uint64_t generation = manifest.generation;
  if (result.agreed && level < manifest.level && manifest.level == SHAKEDOWN_CKPT_GLOBAL) {
    discard(context_, context_.global, generation);
  }
  if (result.agreed && level == 0) return discard(context_, context_.local, generation);
  if (context_.local != nullptr) local_generations_[generation] = result.agreed ? level : manifest.level;
  if (manifest.level == SHAKEDOWN_CKPT_GLOBAL && (level == manifest.level || !result.agreed))
    global_generations_[generation] = manifest.level;
  if (!result.agreed) return;
  committed_[generation] = level;
  const Commit record{run_, generation, level, manifest.ranks, manifest.unix_seconds};
  if (context_.leads_node()) local_committed_ = commit(context_.local, record);
  if (context_.rank == 0 && level == SHAKEDOWN_CKPT_GLOBAL) global_committed_ = commit(context_.global, record);
}

bool Session::commit(Folder* folder, const Commit& record) {
  if (folder == nullptr) return false;
  Outcome written = folder->run(context_.patience_seconds, [record](Store& store) { return store.commit(record); });
  if (!written.good()) warn(written.words + ": the generation is whole and can be restored without its commit record");
  return written.good();
}

/// A generation goes when `keep` newer ones were committed in this run, each at a level at least as safe: what an
/// earlier run left is not believed to be whole.
void Session::prune(Folder* folder, std::map<std::uint64_t, int>& generations) {
  const int keep = keep_.load(std::memory_order_relaxed);
  std::vector<std::uint64_t> superfluous;
  for (const auto& [number, level] : generations) {
    const auto newer = std::count_if(
        committed_.begin(), committed_.end(),
        [&, number = number, level = level](const auto& one) { return one.first > number && one.second >= level; });
    if (newer >= keep) superfluous.push_back(number);
  }
  for (const std::uint64_t number : superfluous) {
    Outcome removed =
        folder->run(context_.patience_seconds, [number](Store& store) { return store.remove_generation(number); });
    if (!removed.good()) return warn(removed.words);
    generations.erase(number);
  }
}

void Session::count(const Manifest& manifest, const Drained& result, double seconds, double cpu_seconds) {
  const std::string name =
      "checkpoint " + std::to_string(manifest.generation) + " of level " + std::to_string(manifest.level);
  std::string reasons;
  for (const std::string& problem : result.problems) reasons += (reasons.empty() ? "" : "; ") + problem;
  Outcome outcome;
  if (result.level == 0) {
    outcome = failed(result.agreed ? SHAKEDOWN_CKPT_STORAGE : SHAKEDOWN_CKPT_PEER,
                     name + " was not committed, an older one holds: " + reasons);
  } else if (result.level < manifest.level) {
    outcome = failed(SHAKEDOWN_CKPT_STORAGE,
                     name + " is committed at level " + std::to_string(result.level) + " only: " + reasons);
  } else if (!reasons.empty()) {
    warn(name + ": " + reasons);
  }
  if (!outcome.good()) warn(outcome.words);
  const std::scoped_lock lock(mutex_);
  last_ = outcome;
  shakedown_ckpt_level_stats& asked = statistics_.level[manifest.level];
  if (result.level == manifest.level) {
    ++asked.committed;
    asked.bytes += manifest.data_bytes;
    asked.drain_seconds += seconds;
  } else {
    ++asked.failed;
  }
  RecentCosts& recent = recent_[static_cast<std::size_t>(manifest.level)];
  recent.cpu_seconds.add(cpu_seconds);
  if (result.level == manifest.level) recent.drain_seconds.add(seconds);
  if (result.level > 0) statistics_.generation = manifest.generation;
}

}  // namespace shakedown::checkpoint
