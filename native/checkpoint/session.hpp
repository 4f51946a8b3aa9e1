// One open handle: what checkpoint.h offers, on the caller's thread, and the helper that does the rest.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "clocks.hpp"
#include "context.hpp"
#include "drain.hpp"
#include "helper.hpp"
#include "interval.hpp"
#include "load.hpp"
#include "settings.hpp"

namespace shakedown::checkpoint {

class Session {
 public:
  /// COLLECTIVE. `session` stays null on an error. `understood`: whether this rank's options are valid, of which all
  /// learn.
  static Outcome open(const shakedown_ckpt_comm& comm, const Outcome& understood, Settings settings,
                      const std::shared_ptr<Files>& files, std::unique_ptr<Session>& session,
                      Clocks clocks = real_clocks());
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Outcome close(shakedown_ckpt_policy policy);
  Outcome protect(Protected part);
  Outcome unprotect(const std::string& name);
  Outcome due(int& level);
  Outcome checkpoint(int level);
  Outcome poll(bool& pending);
  Outcome wait(double seconds);
  Outcome restart_info(shakedown_ckpt_restart& info);
  Outcome restore(const std::optional<std::string>& name);
  Outcome snapshot(int& did);
  void stats(shakedown_ckpt_statistics& statistics);
  Outcome set_option(const std::string& name, const std::string& value);

  /// Warnings since the last call, a line each.
  std::string take_warnings();

 private:
  Session(const shakedown_ckpt_comm& comm, Settings settings, Clocks clocks);
  Outcome meet(Outcome mine);
  Outcome take_folders(const std::shared_ptr<Files>& files);
  Outcome take(Folder& folder, bool first, std::map<std::uint64_t, int>& generations);
  void follow_on();
  void end_helper();
  Outcome agree_on(const Outcome& mine);
  Outcome inventory(std::vector<Candidate>& candidates);
  Outcome load_together(const Candidate& candidate, const std::vector<Protected>& parts, Loaded& loaded);
  void restored(const Candidate& candidate, const Loaded& loaded, double seconds);
  Outcome stage_state(int level, Staged& staged);
  void write(std::shared_ptr<const Staged> staged, std::uint64_t job, double begun);
  void settle(const Manifest& manifest, const Drained& result);
  bool commit(Folder* folder, const Commit& record);
  void prune(Folder* folder, std::map<std::uint64_t, int>& generations);
  bool settled(double seconds);
  void count(const Manifest& manifest, const Drained& result, double seconds, double cpu_seconds);
  void warn(const std::string& words);
  [[nodiscard]] bool uses(int level) const;
  [[nodiscard]] std::array<LevelCost, kLevels> costs();
  [[nodiscard]] Intervals intervals();
  [[nodiscard]] int level_due(double now_seconds);
  [[nodiscard]] double now_seconds() const;

  shakedown_ckpt_comm comm_;
  Settings settings_;
  RunId run_ = {};
  double run_began_ = 0;
  std::unique_ptr<Topology> topology_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<Folder> local_;
  std::unique_ptr<Folder> global_;
  Context context_;
  std::unique_ptr<Helper> helper_;
  Clocks clocks_;
  double opened_;

  std::vector<Protected> parts_;
  std::shared_ptr<Buffer> buffer_;
  std::uint64_t generation_ = 0;  // the last number used
  std::uint64_t job_ = 0;
  std::uint64_t last_job_ = 0;  // of the last checkpoint
  std::array<double, kLevels> last_tried_ = {};
  std::uint64_t calls_left_ = 0;  // calls of due() until the clock is looked at again
  std::uint64_t calls_skipped_ = 0;
  double last_look_ = 0;
  int due_at_once_ = 0;  // a level, after a restore from less than all that it had
  bool restored_ = false;

  // What the helper writes while the caller reads.
  std::mutex mutex_;
  std::string warnings_;
  Outcome last_;
  shakedown_ckpt_statistics statistics_ = {};
  std::array<RecentCosts, kLevels> recent_ = {};
  std::uint64_t settled_job_ = 0;  // committed, or failed
  std::condition_variable changed_;
  std::atomic<int> keep_ = 2;
  // Of the helper alone.
  std::map<std::uint64_t, int> local_generations_;  // what lies in the folders: number -> level
  std::map<std::uint64_t, int> global_generations_;
  bool local_committed_ = false;  // by this rank, the last checkpoint: older ones may have become superfluous
  bool global_committed_ = false;
  std::map<std::uint64_t, int> committed_;  // of this run
};

}  // namespace shakedown::checkpoint
