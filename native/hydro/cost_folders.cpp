#include "cost_folders.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <filesystem>
#include <system_error>

#include "common/error.hpp"
#include "common/job.hpp"

namespace shakedown::hydro {
namespace {

/// Generations of a level that lie there at once: two are kept, and one is being written.
constexpr std::uint64_t kGenerations = 3;
/// Nodes of a group of level 3 that may be lost, where it has enough: the library's default.
constexpr int kGroupLosses = 2;

/// The text of the first rank, on all.
std::string told(MPI_Comm comm, const std::string& text) {
  std::array<char, PATH_MAX> letters{};
  std::copy_n(text.begin(), std::min(text.size(), letters.size() - 1), letters.begin());
  MPI_Bcast(letters.data(), static_cast<int>(letters.size()), MPI_CHAR, 0, comm);
  return letters.data();
}

void forget_below(const std::string& folder) {
  std::error_code error;
  for (const auto& one : std::filesystem::recursive_directory_iterator(folder, error)) {
    if (!one.is_regular_file(error)) continue;
    const int file = open(one.path().c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) continue;
    // What is durable may be forgotten; advice that is not taken leaves a restart that reads from memory.
    static_cast<void>(posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED));
    close(file);
  }
}

bool on_one_device(const std::string& one, const std::string& other) {
  struct stat a {
  }, b{};
  return stat(one.c_str(), &a) == 0 && stat(other.c_str(), &b) == 0 && a.st_dev == b.st_dev;
}

void require_free(const std::string& folder, std::uint64_t bytes) {
  const storage::FileSystem found = storage::look_at(folder);
  if (!found.bounded || found.free_bytes >= bytes) return;
  throw cannot("checkpoints need " + std::to_string(bytes >> 20) + " MiB in " + folder + ", where " +
                   std::to_string(found.free_bytes >> 20) + " MiB are free",
               "ask for fewer cells (--n), or name other folders (--directory, --local-directory)");
}

}  // namespace

CostFolders::CostFolders(const Place& place, const CostOptions& options)
    : place_(place), local_parent_(options.local_directory), global_parent_(options.directory) {
  MPI_Comm_rank(place.host, &host_rank_);
  emulated_ = place.host_size == place.size;
  const auto names = gather_words(place.all, host_name());
  std::vector<std::string> hosts;
  for (const auto& name : names) {
    if (std::find(hosts.begin(), hosts.end(), name) == hosts.end()) hosts.push_back(name);
  }
  const auto at = std::find(hosts.begin(), hosts.end(), names[static_cast<std::size_t>(place.rank)]) - hosts.begin();
  nodes_ = emulated_ ? place.size : static_cast<int>(hosts.size());
  node_ = emulated_ ? place.rank : static_cast<int>(at);
  together(place.all, [&] {
    if (host_rank_ == 0) own_.emplace(local_parent_);
    if (place.rank == 0) shared_.emplace(global_parent_);
  });
  base_ = told(place.host, own_ ? own_->path() : "");
  local_ = base_ + "/node" + std::to_string(node_);
  global_ = told(place.all, shared_ ? shared_->path() : "") + "/global";
}

CheckpointOptions CostFolders::options(int level) const {
  CheckpointOptions found;
  found.local = local_;
  if (level == 4) found.global = global_;
  found.level = level;
  found.node = "node" + std::to_string(node_);
  if (emulated_) found.address = "127.0.0.1";
  return found;
}

void CostFolders::require_room(const std::vector<std::int64_t>& levels, std::uint64_t state_bytes) const {
  const std::int64_t highest = *std::max_element(levels.begin(), levels.end());
  const bool doubled = std::any_of(levels.begin(), levels.end(), [](auto one) { return one == 2 || one == 3; });
  const std::uint64_t hosts = emulated_ ? 1 : static_cast<std::uint64_t>(nodes_);
  std::uint64_t local = kGenerations * (doubled ? 2 : 1) * (state_bytes / hosts);
  const std::uint64_t global = highest == 4 ? kGenerations * state_bytes : 0;
  const bool shared = on_one_device(local_parent_, global_parent_);
  if (shared) local = std::max(local, kGenerations * (state_bytes / hosts) + global);
  together(place_.all, [&] {
    if (host_rank_ == 0) require_free(local_parent_, local);
    if (place_.rank == 0 && !shared) require_free(global_parent_, global);
  });
}

void CostFolders::lose(int level) {
  const std::array<int, 5> lost = {0, 0, 1, std::min(kGroupLosses, nodes_ / 2), nodes_};
  MPI_Barrier(place_.all);
  if (is_first_of_node() && node_ < lost[static_cast<std::size_t>(level)]) storage::remove_tree(local_);
  MPI_Barrier(place_.all);
}

void CostFolders::forget() {
  MPI_Barrier(place_.all);
  if (is_first_of_node()) forget_below(local_);
  if (place_.rank == 0) forget_below(global_);
  MPI_Barrier(place_.all);
}

void CostFolders::clear() {
  MPI_Barrier(place_.all);
  if (is_first_of_node()) storage::remove_tree(local_);
  if (place_.rank == 0) storage::remove_tree(global_);
  MPI_Barrier(place_.all);
}

}  // namespace shakedown::hydro
