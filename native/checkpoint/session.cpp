#include "session.hpp"

#include <algorithm>
#include <cmath>

#include "collective.hpp"

namespace shakedown::checkpoint {
namespace {

constexpr double kAssumedMtti = 6 * 3600.0;

std::string name_of(std::uint64_t generation, int level) {
  return "checkpoint " + std::to_string(generation) + " of level " + std::to_string(level);
}

}  // namespace

double Session::now_seconds() const { return clocks_.now() - opened_; }

void Session::warn(const std::string& words) {
  constexpr std::size_t kMostWarnings = 16384;
  const std::scoped_lock lock(mutex_);
  if (warnings_.size() + words.size() < kMostWarnings) warnings_ += (warnings_.empty() ? "" : "\n") + words;
}

std::string Session::take_warnings() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(warnings_, "");
}

Outcome Session::close(shakedown_ckpt_policy policy) {
  const bool done = helper_->wait(in_seconds(settings_.timeout_seconds));
  Outcome last =
      done ? wait(0)
           : failed(SHAKEDOWN_CKPT_TIMEOUT, "the last checkpoint was not written in time: an older one holds");
  if (policy != SHAKEDOWN_CKPT_DISCARD) return last;
  // Nothing is removed before every rank is here: another may still need it.
  if (Outcome all = agree_on(last.error == SHAKEDOWN_CKPT_TIMEOUT ? last : Outcome{}); !all.good()) return all;
  Outcome removed;
  for (Folder* folder :
       {context_.leads_node() ? context_.local : nullptr, comm_.rank == 0 ? context_.global : nullptr}) {
    if (folder == nullptr) continue;
    Outcome step = folder->run(settings_.timeout_seconds, [](Store& store) {
      std::vector<Generation> found;
      Outcome scanned = store.scan(found);
      for (const Generation& generation : found) {
        if (scanned.good()) scanned = store.remove_generation(generation.number);
      }
      return scanned;
    });
    if (!step.good()) removed = std::move(step);
  }
  return removed;
}

Outcome Session::protect(Protected part) {
  if (std::string why = why_not_protected(part); !why.empty()) {
    return failed(SHAKEDOWN_CKPT_INVALID, "'" + part.name + "' cannot be protected: " + why);
  }
  const auto known =
      std::find_if(parts_.begin(), parts_.end(), [&](const Protected& one) { return one.name == part.name; });
  if (known != parts_.end()) {
    *known = std::move(part);
  } else {
    parts_.push_back(std::move(part));
  }
  return {};
}

Outcome Session::unprotect(const std::string& name) {
  if (std::erase_if(parts_, [&](const Protected& one) { return one.name == name; }) > 0) return {};
  return failed(SHAKEDOWN_CKPT_INVALID, "'" + name + "' is not protected");
}

Outcome Session::set_option(const std::string& name, const std::string& value) {
  Outcome put = set_by_name(settings_, name, value, true);
  if (!put.good()) return put;
  calls_left_ = 0;
  keep_.store(settings_.keep, std::memory_order_relaxed);
  // The helper has its own copy, which it alone touches.
  helper_->post([this, patience = settings_.timeout_seconds] { context_.patience_seconds = patience; });
  return {};
}

/// The state as it is now, or without a buffer where it cannot be had.
Outcome Session::stage_state(int level, Staged& staged) {
  Manifest& manifest = staged.manifest;
  manifest.unix_seconds = clocks_.unix_now();
  std::uint64_t bytes = 0;
  manifest.regions = layout(parts_, bytes);
  manifest.data_bytes = bytes;
  // A buffer that a hung write still reads is left to it.
  const bool reusable = buffer_ != nullptr && buffer_.use_count() == 1 && buffer_->bytes() >= bytes;
  if (!reusable) {
    buffer_.reset();
    buffer_ = Buffer::of(bytes, true);
  }
  const std::string left_out = name_of(generation_, level) + " is left out, an older one holds";
  if (buffer_ == nullptr)
    return failed(SHAKEDOWN_CKPT_MEMORY, "no memory to stage " + std::to_string(bytes) + " bytes: " + left_out);
  if (Outcome copied = stage(parts_, buffer_->data(), bytes, manifest.checksums); !copied.good())
    return failed(copied.error, copied.words + ": " + left_out);
  staged.buffer = buffer_;
  return {};
}

Outcome Session::checkpoint(int level) {
  if (level < SHAKEDOWN_CKPT_LOCAL || level > SHAKEDOWN_CKPT_GLOBAL) {
    return failed(SHAKEDOWN_CKPT_INVALID, "there is no level " + std::to_string(level) + ": 1 to 4");
  }
  const double begun = now_seconds();
  ++generation_;
  ++job_;
  for (int covered = 1; covered <= level; ++covered) last_tried_[static_cast<std::size_t>(covered)] = begun;
  if (due_at_once_ <= level) due_at_once_ = 0;
  Outcome outcome;
  auto state = std::make_shared<Staged>();
  state->manifest.run = run_;
  state->manifest.run_began = run_began_;
  state->manifest.generation = generation_;
  state->manifest.level = level;
  state->manifest.rank = comm_.rank;
  state->manifest.ranks = comm_.size;
  if (settled(settings_.timeout_seconds)) {
    outcome = stage_state(level, *state);
  } else {
    // Without a buffer: the other ranks learn of it as soon as this helper comes to it.
    outcome =
        failed(SHAKEDOWN_CKPT_BUSY, "the checkpoint before is still being written: " + name_of(generation_, level) +
                                        " is left out, an older one holds");
  }
  last_job_ = job_;
  helper_->post([this, state, job = job_, begun]() mutable { write(std::move(state), job, begun); });
  state.reset();
  if (settings_.synchronous && outcome.good()) outcome = wait(-1);
  const double blocked = now_seconds() - begun;
  const std::scoped_lock lock(mutex_);
  shakedown_ckpt_level_stats& counted = statistics_.level[level];
  ++counted.tried;
  counted.blocked_seconds += blocked;
  recent_[static_cast<std::size_t>(level)].blocked_seconds.add(blocked);
  return outcome;
}

Outcome Session::poll(bool& pending) {
  const std::scoped_lock lock(mutex_);
  pending = settled_job_ < last_job_;
  return last_;
}

/// Waits until the last checkpoint is committed or has failed. What it made superfluous may still be being removed.
bool Session::settled(double seconds) {
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, in_seconds(seconds), [&] { return settled_job_ >= last_job_; });
}

Outcome Session::wait(double seconds) {
  // What the helper waits for has bounds of its own, which are several times the time-out.
  const double longest = seconds < 0 ? (settings_.synchronous ? 16.0 : 1.0) * settings_.timeout_seconds : seconds;
  if (!settled(longest)) {
    return failed(SHAKEDOWN_CKPT_TIMEOUT, "a checkpoint is still being written: an older one holds until it is done");
  }
  const std::scoped_lock lock(mutex_);
  return last_;
}

Outcome Session::snapshot(int& did) {
  did = SHAKEDOWN_CKPT_DID_NOTHING;
  if (!restored_) {
    restored_ = true;
    Outcome outcome = restore(std::nullopt);
    if (outcome.good()) did = SHAKEDOWN_CKPT_DID_RESTORE;
    return outcome.error == SHAKEDOWN_CKPT_NOTHING ? Outcome{} : outcome;
  }
  int level = 0;
  if (Outcome asked = due(level); !asked.good() || level == 0) return asked;
  Outcome outcome = checkpoint(level);
  if (outcome.good()) did = SHAKEDOWN_CKPT_DID_CHECKPOINT;
  return outcome;
}

void Session::stats(shakedown_ckpt_statistics& statistics) {
  const Intervals now = intervals();
  const std::scoped_lock lock(mutex_);
  const std::size_t bytes = statistics.struct_bytes;
  statistics = statistics_;
  statistics.struct_bytes = bytes;
  statistics.open_seconds = now_seconds();
  statistics.waste_predicted = now.waste;
  double lost = statistics_.restore_seconds;
  for (std::size_t level = 1; level < kLevels; ++level) {
    statistics.level[level].interval_seconds = now.seconds[level];
    lost += statistics_.level[level].blocked_seconds;
  }
  statistics.waste_achieved = statistics.open_seconds > 0 ? lost / statistics.open_seconds : 0;
}

bool Session::uses(int level) const {
  if (settings_.interval_seconds[static_cast<std::size_t>(level)] < 0) return false;
  if (level == SHAKEDOWN_CKPT_GLOBAL) return context_.global != nullptr;
  if (context_.local == nullptr) return false;
  if (level == SHAKEDOWN_CKPT_PARTNER) return topology_->partner_of(comm_.rank) >= 0;
  if (level == SHAKEDOWN_CKPT_GROUP) {
    return !topology_->group_of(comm_.rank, settings_.group_size, settings_.group_losses).members.empty();
  }
  return true;
}

std::array<LevelCost, kLevels> Session::costs() {
  // Before a level was measured: what a gigabyte a second gives, more for what goes through the network.
  constexpr double kGuessedRate = 1e9;
  constexpr std::array<double, kLevels> kGuessedTimes = {0, 1, 2, 2.5, 4};
  std::uint64_t bytes = 1 << 20;
  for (const Protected& part : parts_) bytes += bytes_of(part);
  std::array<LevelCost, kLevels> found = {};
  const std::scoped_lock lock(mutex_);
  for (std::size_t level = 1; level < kLevels; ++level) {
    const double guess = kGuessedTimes[level] * static_cast<double>(bytes) / kGuessedRate;
    found[level].used = uses(static_cast<int>(level));
    const RecentCosts& recent = recent_[level];
    const bool measured = recent.drain_seconds.any();
    found[level].cost_seconds = measured ? recent.blocked_seconds.median() + recent.cpu_seconds.median() : guess;
    found[level].drain_seconds = measured ? recent.drain_seconds.median() : guess;
    found[level].restart_seconds = found[level].drain_seconds;
  }
  return found;
}

Intervals Session::intervals() {
  Intervals found = best_intervals(costs(), settings_.mtti_seconds > 0 ? settings_.mtti_seconds : kAssumedMtti);
  for (std::size_t level = 1; level < kLevels; ++level) {
    if (settings_.interval_seconds[level] > 0 && uses(static_cast<int>(level))) {
      found.seconds[level] = settings_.interval_seconds[level];
    }
  }
  return found;
}

int Session::level_due(double now) {
  if (due_at_once_ > 0) return due_at_once_;
  {
    const std::scoped_lock lock(mutex_);
    if (settled_job_ < last_job_) return 0;
  }
  const Intervals every = intervals();
  double soonest = 1e9;
  for (std::size_t level = kLevels - 1; level > 0; --level) {
    if (every.seconds[level] <= 0) continue;
    last_tried_[level] = std::min(last_tried_[level], now);  // a clock that went back: the interval counts from here
    const double left = last_tried_[level] + every.seconds[level] - now;
    if (left <= 0) return static_cast<int>(level);
    soonest = std::min(soonest, left);
  }
  // The clock is looked at again after a quarter of the time that is left, as long as steps last what they did.
  constexpr double kMostCalls = 10000;
  const double step = (now - last_look_) / static_cast<double>(calls_skipped_ + 1);
  calls_left_ = static_cast<std::uint64_t>(step > 0 ? std::min(kMostCalls, soonest / 4 / step) : 0);
  return 0;
}

Outcome Session::due(int& level) {
  level = 0;
  if (calls_left_ > 0) {
    --calls_left_;
    ++calls_skipped_;
    return {};
  }
  const double now = now_seconds();
  std::uint64_t mine[2] = {0, 0};
  if (comm_.rank == 0) {
    mine[0] = static_cast<std::uint64_t>(level_due(now));
    mine[1] = calls_left_;
  }
  std::vector<std::uint64_t> all(2 * static_cast<std::size_t>(comm_.size), 0);
  if (comm_.size == 1) {
    std::copy_n(mine, 2, all.begin());
  } else if (comm_.allgather(comm_.context, mine, all.data(), sizeof mine) != 0) {
    return failed(SHAKEDOWN_CKPT_PEER, "the allgather of the application failed");
  }
  level = static_cast<int>(all[0]);
  calls_left_ = all[1];
  calls_skipped_ = 0;
  last_look_ = now;
  return {};
}

}  // namespace shakedown::checkpoint
