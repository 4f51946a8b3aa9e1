// The folder that is worked in: made, known by its file system, and gone afterwards whatever happens.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace shakedown::storage {

/// What a path lies on.
struct FileSystem {
  std::string type;  // ext4, nfs4, lustre ...: as mounted, else by its number
  std::string mount_point;
  std::string source;    // a device, or server:/export
  std::string where;     // local, network, memory, unknown
  bool bounded = false;  // it says how large it is
  std::uint64_t free_bytes = 0;
  std::uint64_t free_files = 0;  // 0: it does not count them
};

/// Throws where the folder cannot be asked.
FileSystem look_at(const std::string& folder);

/// local, network, memory or unknown, by the number of statfs(2) and, for those behind FUSE, the type as mounted.
std::string where_of(std::uint64_t magic, const std::string& type);

/// The mount of the longest mount point that `path` (absolute, resolved) lies below, in text as /proc/self/mountinfo
/// has it: its point, type and source, empty where there is none.
struct Mount {
  std::string point;
  std::string type;
  std::string source;
};
Mount mount_of(const std::string& mountinfo, const std::string& path);

/// A folder of ours below `parent`. A process beside this one removes it as soon as this one ends, by whatever signal;
/// the destructor waits for that.
class Workplace {
 public:
  /// Throws where `parent` is no folder that can be written to.
  explicit Workplace(const std::string& parent);
  ~Workplace();
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  int leash_ = -1;
  pid_t janitor_ = -1;
};

/// Remove a folder and all below it, following no links. False where something stayed.
bool remove_tree(const std::string& path);

}  // namespace shakedown::storage
