// What is seen of a program from the place of its rank: every thread of it and of what it starts, by /proc.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "proc_text.hpp"

namespace shakedown::placement {

/// One thread over all samples.
struct ThreadSeen {
  pid_t pid = 0;
  pid_t tid = 0;
  std::string name;
  std::vector<int> mask;
  std::map<int, std::uint64_t> cpus;        // CPU -> samples that found it there while it ran or was ready to
  std::uint64_t moves = 0;                  // samples that found it on another CPU than the one before
  std::optional<std::uint64_t> migrations;  // as the kernel counts them, since the first sample
  std::uint64_t migrations_before = 0;
  Schedstat times;
  bool timed = false;  // whether schedstat could be read
  int cpu = -1;
};

/// Pages of a program by the NUMA node that they lie on.
struct PagesSeen {
  std::map<int, std::uint64_t> nodes;
  std::uint64_t asked = 0;
  std::string absent;  // why nothing is known
};

/// Code of a file as one process maps it.
struct CodeSeen {
  std::string path;
  std::uint64_t address = 0;
  std::uint64_t offset = 0;
};

/// What limits CPU time, as the control groups of the program say.
struct GroupSeen {
  std::optional<double> quota_cpus;
  std::optional<std::uint64_t> throttled_us;
};

class Observer {
 public:
  /// `most_threads`: those that are seen first; more are counted.
  explicit Observer(pid_t child, std::size_t most_threads = 512) : child_(child), most_(most_threads) {}

  /// Look once: all threads of the child and of its descendants. What seldom changes is looked at every eighth time,
  /// and where it is to be `whole`.
  void sample(bool whole = false);
  /// Where pages lie and what code is mapped, of the process that ran most. Costs up to a millisecond.
  void look_at_memory();
  /// The limits on the child's CPU time.
  void look_at_groups();

  [[nodiscard]] std::vector<ThreadSeen> threads() const;
  [[nodiscard]] std::uint64_t samples() const { return samples_; }
  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }
  [[nodiscard]] const PagesSeen& pages() const { return pages_; }
  [[nodiscard]] const std::vector<CodeSeen>& code() const { return code_; }
  [[nodiscard]] const GroupSeen& group() const { return group_; }

 private:
  using Key = std::tuple<pid_t, pid_t, std::uint64_t>;  // process, thread, when it began

  void sample_process(pid_t pid, int depth);
  void sample_thread(pid_t pid, pid_t tid);
  [[nodiscard]] pid_t busiest() const;

  pid_t child_;
  std::size_t most_;
  std::map<Key, ThreadSeen> threads_;
  std::uint64_t samples_ = 0;
  bool whole_ = false;
  std::uint64_t left_out_ = 0;
  PagesSeen pages_;
  std::vector<CodeSeen> code_;
  GroupSeen group_;
};

}  // namespace shakedown::placement
