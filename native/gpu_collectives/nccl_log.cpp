#include "nccl_log.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <set>
#include <utility>

#include "common/error.hpp"

namespace shakedown::gpu_collectives {
namespace {

/// What stands after `mark`; empty where it is not there.
std::string_view after(std::string_view line, std::string_view mark) {
  const auto at = line.find(mark);
  return at == std::string_view::npos ? std::string_view() : line.substr(at + mark.size());
}
bool has(std::string_view line, std::string_view mark) { return line.find(mark) != std::string_view::npos; }

int number_at(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  int value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string word_at(std::string_view text) {
  std::string word(text.substr(0, text.find_first_of(" ,\r")));
  std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return std::tolower(c); });
  return word;
}

/// "Channel 03/0 : 0[0] -> 1[1] [send] via NET/IB/0": the ranks stand before the brackets.
void read_path(std::string_view line, NcclLog& log) {
  const auto from = after(line, " : "), to = after(from, "-> "), via = after(to, " via ");
  if (via.empty()) return;
  const int first = number_at(from), second = number_at(to);
  if (first >= 0 && second >= 0) log.paths[{first, second}] = std::string(via);
}

/// By name since 2.22, by number before: NCCL_ALGO_* of nccl_common.h.
std::string algorithm_of(const std::string& word) {
  static constexpr std::array<const char*, 7> kNumbered = {
      "tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat"};
  if (word.size() == 1 && word[0] >= '0' && word[0] < '7') return kNumbered[static_cast<std::size_t>(word[0] - '0')];
  return word == "nvlstree" ? "nvls_tree" : word;
}
std::string protocol_of(const std::string& word) {
  return word == "0" ? "ll" : word == "1" ? "ll128" : word == "2" ? "simple" : word;
}

/// "32 coll channels, 32 collnet channels, 16 nvls channels, 32 p2p channels": the number before each word.
int count_before(std::string_view line, std::string_view words) {
  const auto at = line.find(words);
  if (at == std::string_view::npos || at == 0) return -1;
  auto begin = at;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(line[begin - 1])) != 0) --begin;
  return number_at(line.substr(begin, at - begin));
}

void read_line(std::string_view line, NcclLog& log) {
  constexpr std::size_t kMostWarnings = 3;
  if (has(line, "Channel ") && has(line, " via ")) {
    read_path(line, log);
  } else if (has(line, " Bytes -> Algo ")) {
    const auto chosen = after(line, " Bytes -> Algo ");
    log.algorithm = algorithm_of(word_at(chosen));
    log.protocol = protocol_of(word_at(after(chosen, " proto ")));
  } else if (has(line, "[Symmetric]: ") || has(line, "[Copy Engine]: ")) {  // since 2.27, of registered buffers
    log.algorithm = has(line, "[Symmetric]: ") ? "symmetric" : "copy_engine";
    log.protocol.clear();
  } else if (has(line, " coll channels, ")) {
    log.channels = count_before(line, " coll channels");
    log.nvls_channels = count_before(line, " nvls channels");
  } else if (has(line, "NVLS multicast support is not available") ||
             (has(line, "NVLS multicast support is available") && has(line, "transport disabled"))) {
    log.nvls_refused = true;
  } else if (has(line, " set by environment to ")) {
    const auto before = line.substr(0, line.find(" set by environment to "));
    const std::string name(before.substr(before.rfind(' ') + 1));
    const std::string setting = name + "=" + std::string(after(line, " set by environment to "));
    const bool is_own = name.starts_with("NCCL_DEBUG");
    if (!is_own && std::find(log.settings.begin(), log.settings.end(), setting) == log.settings.end())
      log.settings.push_back(setting);
  } else if (has(line, "NCCL WARN ")) {
    std::string warning(after(line, "NCCL WARN "));
    if (std::find(log.warnings.begin(), log.warnings.end(), warning) != log.warnings.end()) return;
    if (log.warnings.size() == kMostWarnings) log.warnings.erase(log.warnings.begin());
    log.warnings.push_back(std::move(warning));
  }
}

}  // namespace

void read_nccl_log(std::string_view text, NcclLog& log) {
  while (!text.empty()) {
    const auto end = text.find('\n');
    auto line = text.substr(0, end);
    while (!line.empty() && (line.back() == '\r' || line.back() == '.' || line.back() == ' ')) line.remove_suffix(1);
    read_line(line, log);
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

std::string kinds_of(const NcclLog& log) {
  std::set<std::string> kinds;
  for (const auto& [ranks, path] : log.paths) kinds.insert(path.substr(0, path.find('/')));
  std::string text;
  for (const auto& kind : kinds) text.append(text.empty() ? "" : "+").append(kind);
  return text;
}

LogFile::LogFile(const std::string& path, bool algorithms) : in_memory_(path.empty()) {
  file_ = path.empty() ? memfd_create("nccl-log", MFD_CLOEXEC)
                       : ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file_ < 0 && !path.empty()) throw usage("--nccl-log: cannot write " + path, "a file in a folder that is there");
  if (file_ < 0) return;  // then nothing is known of the library's choices
  const std::string name = path.empty() ? "/proc/self/fd/" + std::to_string(file_) : path;
  setenv("NCCL_DEBUG", "INFO", 1);
  setenv("NCCL_DEBUG_FILE", name.c_str(), 1);
  setenv("NCCL_DEBUG_SUBSYS", algorithms ? "INIT,ENV,NET,GRAPH,P2P,SHM,NVLS,TUNING" : "INIT,ENV,NET,GRAPH,P2P,SHM,NVLS",
         1);
}

LogFile::~LogFile() {
  if (file_ >= 0) close(file_);
}

std::string LogFile::more() {
  std::string text = std::exchange(rest_, "");
  std::array<char, 1 << 14> block{};
  for (;;) {
    const auto got = file_ < 0 ? 0 : pread(file_, block.data(), block.size(), at_);
    if (got <= 0) break;
    text.append(block.data(), static_cast<std::size_t>(got));
    at_ += got;
  }
  // A line that is being written counts when it is whole.
  const auto end = text.rfind('\n');
  rest_ = text.substr(end == std::string::npos ? 0 : end + 1);
  text.resize(text.size() - rest_.size());
  // What was read needs no memory: a line for each of many calls comes together.
  if (in_memory_ && at_ > 0) fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, at_);
  return text;
}

}  // namespace shakedown::gpu_collectives
