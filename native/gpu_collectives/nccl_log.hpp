// What NCCL says of itself (NCCL_DEBUG=INFO): by which transport each pair of ranks is joined, with how many channels,
// and which algorithm a call took.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shakedown::gpu_collectives {

struct NcclLog {
  std::map<std::pair<int, int>, std::string> paths;  // from rank, to rank: "P2P/direct pointer", "SHM/direct/direct"
  std::string algorithm, protocol;                   // of the last call that said so: "ring", "nvls", "tree"; "simple"
  int channels = -1, nvls_channels = -1;             // -1: not stated
  std::vector<std::string> settings;                 // "NCCL_P2P_DISABLE=1": what the environment set
  std::vector<std::string> warnings;                 // the last ones
  bool nvls_refused = false;                         // "NVLS multicast support is not available"
};
/// Take in lines; what a later one states of the same counts.
void read_nccl_log(std::string_view text, NcclLog& log);

/// The kinds of transport of all pairs, sorted and joined: "P2P", "P2P+SHM"; empty where none is known.
std::string kinds_of(const NcclLog& log);

/// Where the library writes its log: memory of this process, or a file. Set up before the library is loaded.
class LogFile {
 public:
  /// `path` empty: in memory. `algorithms`: a line for each call of rank 0, too.
  LogFile(const std::string& path, bool algorithms);
  ~LogFile();
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;
  /// The lines that came since the last time.
  std::string more();

 private:
  int file_ = -1;
  bool in_memory_ = false;
  long long at_ = 0;
  std::string rest_;
};

}  // namespace shakedown::gpu_collectives
