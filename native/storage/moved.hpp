// What the devices below a folder moved: the proof that data did not come from this host's memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "peers.hpp"

namespace shakedown::storage {

struct Moved {
  std::uint64_t read_bytes = 0;
  std::uint64_t written_bytes = 0;
};

/// Where the kernel counts what a folder's file system moves.
struct Counter {
  std::string name;         // "vda", "the mount /data": empty where nothing counts it
  std::string path;         // the file that says it
  std::string mount_point;  // of NFS: whose part of the file
};

/// The counter of a folder: of the block device of its file system (of a loop device's file, that of the device below),
/// or of the NFS mount. With none, why is in words for a person.
struct CounterFound {
  Counter counter;
  std::string why_not;
};
CounterFound counter_of(const std::string& folder);

/// What it says by now; nothing where it cannot be read.
std::optional<Moved> read_counter(const Counter& counter);
/// What the kernel says that this process had from storage, whoever else uses the device (/proc/self/io).
std::optional<Moved> read_process();

/// /sys/dev/block/*/stat: sectors of 512 bytes, whatever the device's own (Documentation/block/stat.rst).
std::optional<Moved> parse_block(const std::string& text);
/// /proc/self/mountstats: bytes that the NFS client had from the server of one mount, and sent to it.
std::optional<Moved> parse_mountstats(const std::string& text, const std::string& mount_point);
/// /proc/PID/io: read_bytes and write_bytes (proc(5)).
std::optional<Moved> parse_process(const std::string& text);

/// What one rank saw of a sample.
struct Seen {
  std::string host;
  std::string counter;           // empty: none
  std::optional<Moved> device;   // what all of this host moved through it
  std::optional<Moved> process;  // this process
};

/// What all ranks' devices moved: each counter of each host once. Nothing where a rank has none. `reading`: no more
/// than the processes had themselves, as others may use the devices, too; what is written may be told as another's.
std::optional<double> all_moved(const std::vector<Seen>& seen, bool reading);

/// What the devices below the folders moved since it was made, on the hosts of all ranks.
class Watch {
 public:
  explicit Watch(const std::vector<std::string>& folders);
  /// Of all ranks; nothing where one has no counter. `reading`: what was read, else written. Every rank calls it; rank
  /// 0 gets it.
  std::optional<double> moved(Peers& peers, bool reading) const;
  /// Why it is not known.
  [[nodiscard]] std::string why_not() const;
  [[nodiscard]] std::string name() const;

 private:
  std::vector<CounterFound> found_;
  std::vector<std::optional<Moved>> before_;
  std::optional<Moved> process_;
};

/// The share of a file that is in this host's memory, by mincore(2); nothing where it cannot be known.
std::optional<double> share_in_memory(const std::string& path);

}  // namespace shakedown::storage
