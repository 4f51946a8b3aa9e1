#include "folders.hpp"

#include <algorithm>

#include "coding/coding.hpp"
#include "store.hpp"
#include "stripes.hpp"

namespace shakedown::checkpoint {
namespace {

/// Reads all blocks of a part; a line where one is not what its checksum says.
void verify(Store& store, const Part& part, std::vector<std::string>& problems) {
  const Manifest& manifest = part.manifest;
  std::vector<std::uint64_t> lengths;
  if (manifest.kind == Kind::kParity) {
    std::vector<std::uint64_t> bytes;
    std::string why;
    int self = -1;
    for (const Bytes& packed : manifest.member_manifests) {
      const auto member = decode_manifest(packed, why);
      if (!member)
        return problems.push_back("the parity of rank " + std::to_string(manifest.rank) +
                                  ": a member's manifest: " + why);
      if (member->rank == manifest.rank) self = static_cast<int>(bytes.size());
      bytes.push_back(member->data_bytes);
    }
    if (self < 0)
      return problems.push_back("the parity of rank " + std::to_string(manifest.rank) + " is that of another group");
    for (const auto& one : StripePlan(std::move(bytes), manifest.losses).parity_of(self)) lengths.push_back(one.bytes);
  } else {
    for (std::uint64_t at = 0; at < manifest.checksums.size(); ++at)
      lengths.push_back(block_bytes(manifest.data_bytes, at));
  }
  std::uint64_t place = 0;
  Bytes data;
  for (std::size_t at = 0; at < manifest.checksums.size(); ++at) {
    data.resize(at < lengths.size() ? lengths[at] : 0);
    const Outcome read = store.read_data({manifest.generation, manifest.kind, manifest.rank}, place, data);
    place += data.size();
    if (read.good() && coding::crc32c(data.data(), data.size()) == manifest.checksums[at]) continue;
    const char* what = manifest.kind == Kind::kRank   ? "rank "
                       : manifest.kind == Kind::kCopy ? "the copy of rank "
                                                      : "the parity of rank ";
    problems.push_back("block " + std::to_string(at) + " of " + what + std::to_string(manifest.rank) +
                       (read.good() ? ": its checksum is wrong" : ": " + read.words));
  }
}

int level_of(const Generation& generation) {
  int level = 0;
  for (const Part& part : generation.parts) level = std::max(level, part.manifest.level);
  return generation.commits.empty() ? level : generation.commits.front().level;
}

/// Numbers of those that may go.
std::vector<bool> superfluous(const std::vector<Generation>& found, int keep) {
  std::vector<bool> may_go(found.size(), false);
  for (std::size_t at = 0; at < found.size(); ++at) {
    const auto newer =
        std::count_if(found.begin() + static_cast<std::ptrdiff_t>(at) + 1, found.end(), [&](const Generation& one) {
          return !one.commits.empty() && one.problems.empty() && level_of(one) >= level_of(found[at]);
        });
    may_go[at] = newer >= (found[at].parts.empty() ? 1 : keep);
  }
  return may_go;
}

/// Calls with an entry that describes the generation.
void describe(const std::string& folder, const Generation& generation, bool removable, const Visit& visit) {
  shakedown_ckpt_entry entry = {};
  entry.struct_bytes = sizeof entry;
  entry.folder = folder.c_str();
  entry.generation = generation.number;
  for (const Part& part : generation.parts) {
    const Manifest& manifest = part.manifest;
    entry.ranks = std::max(entry.ranks, manifest.ranks);
    entry.ranks_whole += manifest.kind == Kind::kRank && part.file_bytes == manifest.data_bytes ? 1 : 0;
    entry.copies += manifest.kind == Kind::kCopy ? 1 : 0;
    entry.parities += manifest.kind == Kind::kParity ? 1 : 0;
    entry.bytes += part.file_bytes;
    if (entry.unix_seconds == 0 || manifest.rank == 0) entry.unix_seconds = manifest.unix_seconds;
  }
  entry.committed = generation.commits.empty() ? 0 : 1;
  entry.level = level_of(generation);
  entry.removable = removable ? 1 : 0;
  std::string problems;
  for (const std::string& problem : generation.problems) problems += (problems.empty() ? "" : "\n") + problem;
  entry.problem = problems.c_str();
  visit(entry);
}

}  // namespace

Outcome list_folders(const std::shared_ptr<Files>& files, const std::vector<std::string>& folders, bool verify_data,
                     int keep, const Visit& visit) {
  for (const std::string& folder : folders) {
    Store store(files, folder);
    std::vector<Generation> found;
    if (Outcome scanned = store.scan(found); !scanned.good()) return scanned;
    if (verify_data) {
      for (Generation& generation : found) {
        for (const Part& part : generation.parts) verify(store, part, generation.problems);
      }
    }
    const std::vector<bool> may_go = superfluous(found, keep);
    for (std::size_t at = 0; at < found.size(); ++at) describe(folder, found[at], may_go[at], visit);
  }
  return {};
}

Outcome prune_folders(const std::shared_ptr<Files>& files, const std::vector<std::string>& folders, int keep,
                      bool dry_run, const Visit& visit) {
  for (const std::string& folder : folders) {
    Store store(files, folder);
    std::vector<Generation> found;
    if (Outcome scanned = store.scan(found); !scanned.good()) return scanned;
    // A tool of one moment: the owner stays who it was, the lock alone keeps a job away.
    Outcome locked = dry_run ? Outcome{} : store.lock();
    const std::vector<bool> may_go = superfluous(found, keep);
    for (std::size_t at = 0; at < found.size() && locked.good(); ++at) {
      if (!may_go[at]) continue;
      if (!dry_run) locked = store.remove_generation(found[at].number);
      if (locked.good()) describe(folder, found[at], true, visit);
    }
    store.release();
    if (!locked.good()) return locked;
  }
  return {};
}

}  // namespace shakedown::checkpoint
