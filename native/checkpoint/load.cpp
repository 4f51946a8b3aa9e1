#include "load.hpp"

#include <algorithm>
#include <map>

namespace shakedown::checkpoint {
namespace {

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "; ") + line;
  return text;
}

const Region* region_named(const Manifest& manifest, const std::string& name) {
  const auto found = std::find_if(manifest.regions.begin(), manifest.regions.end(),
                                  [&](const Region& region) { return region.name == name; });
  return found == manifest.regions.end() ? nullptr : &*found;
}

/// The data of one rank of the run that wrote them, of which blocks are fetched when they are first needed.
class Source {
 public:
  Source(Fetcher& fetcher, const Manifest& manifest)
      : fetcher_(fetcher),
        manifest_(manifest),
        buffer_(Buffer::of(manifest.data_bytes, false)),
        there_(manifest.checksums.size(), false) {}

  /// Bytes of the data; null where a block of them is whole nowhere.
  const std::uint8_t* bytes(std::uint64_t at, std::uint64_t count) {
    if (buffer_ == nullptr) return nullptr;
    if (count == 0) return buffer_->data();
    for (std::uint64_t block = at / kBlockBytes; block <= (at + count - 1) / kBlockBytes; ++block) {
      if (there_[block]) continue;
      const std::span<std::uint8_t> into(buffer_->data() + block * kBlockBytes,
                                         block_bytes(manifest_.data_bytes, block));
      if (!fetcher_.block(manifest_, block, into)) return nullptr;
      there_[block] = true;
    }
    return buffer_->data() + at;
  }

 private:
  Fetcher& fetcher_;
  const Manifest& manifest_;
  std::shared_ptr<Buffer> buffer_;
  std::vector<bool> there_;
};

class Loader {
 public:
  Loader(const Context& context, const Candidate& candidate, const std::vector<Protected>& parts)
      : context_(context), candidate_(candidate), parts_(parts), fetcher_(context, candidate) {}

  Loaded run() {
    Loaded result;
    std::uint64_t bytes = 0;
    result.regions = layout(parts_, bytes);
    result.buffer = Buffer::of(bytes, false);
    if (result.buffer == nullptr) {
      result.outcome =
          failed(SHAKEDOWN_CKPT_MEMORY, "no memory for " + std::to_string(bytes) + " bytes to restore into");
      return result;
    }
    for (std::size_t at = 0; at < parts_.size() && result.outcome.good(); ++at) {
      result.outcome = fill(parts_[at], result.buffer->data() + result.regions[at].at);
    }
    result.repaired_blocks = fetcher_.repaired_blocks();
    if (result.outcome.error == SHAKEDOWN_CKPT_LOST) result.outcome.words += ": " + joined(fetcher_.problems());
    return result;
  }

 private:
  Outcome lost(int rank) const {
    return failed(SHAKEDOWN_CKPT_LOST, "the state of rank " + std::to_string(rank) + " is not whole at any level");
  }

  Outcome mismatch(const Protected& part, const std::string& why) const {
    return failed(SHAKEDOWN_CKPT_MISMATCH,
                  "'" + part.name + "' does not fit generation " + std::to_string(candidate_.generation) + ": " + why);
  }

  Source& source_of(const Manifest& manifest) {
    return sources_.try_emplace(manifest.rank, fetcher_, manifest).first->second;
  }

  /// The region of this part in what a rank saved, or why it is not to be had. Null with a good outcome: another rank
  /// may.
  Outcome find(const Protected& part, int rank, const Manifest*& manifest, const Region*& region) {
    manifest = fetcher_.manifest_of(rank);
    if (manifest == nullptr) return lost(rank);
    region = region_named(*manifest, part.name);
    if (region == nullptr) return {};
    if (region->type != part.type) {
      return mismatch(part, "its elements were of type " + std::to_string(region->type) + ", now of type " +
                                std::to_string(part.type));
    }
    if (region->box.global != part.box.global || region->box.local.size() != part.box.local.size()) {
      return mismatch(part, "the global array had another shape");
    }
    return {};
  }

  Outcome copy_whole(const Protected& part, int rank, std::uint8_t* into) {
    const Manifest* manifest = nullptr;
    const Region* region = nullptr;
    if (Outcome found = find(part, rank, manifest, region); !found.good()) return found;
    if (region == nullptr) return mismatch(part, "it was not saved");
    if (region->box != part.box) return mismatch(part, "it had another shape on this rank");
    const std::uint8_t* from = source_of(*manifest).bytes(region->at, region->bytes);
    if (from == nullptr) return lost(rank);
    std::copy_n(from, region->bytes, into);
    return {};
  }

  Outcome fill(const Protected& part, std::uint8_t* into) {
    const bool same_ranks = candidate_.ranks == context_.topology->ranks();
    if (part.box.global.empty()) {
      const bool scalar = part.box.local.empty();
      if (!same_ranks && !scalar) {
        return mismatch(part, "it belongs to one rank alone (no global shape), and " +
                                  std::to_string(candidate_.ranks) + " ranks saved it, not " +
                                  std::to_string(context_.topology->ranks()));
      }
      return copy_whole(part, context_.rank < candidate_.ranks ? context_.rank : 0, into);
    }
    if (volume(part.box.local).value_or(0) == 0) return {};
    if (same_ranks) {
      const Manifest* manifest = nullptr;
      const Region* region = nullptr;
      if (Outcome found = find(part, context_.rank, manifest, region); !found.good()) return found;
      if (region != nullptr && region->box == part.box) return copy_whole(part, context_.rank, into);
    }
    return intersect(part, into);
  }

  Outcome intersect(const Protected& part, std::uint8_t* into) {
    std::vector<Overlap> shared;
    bool saved = false;
    for (int rank = 0; rank < candidate_.ranks; ++rank) {
      const Manifest* manifest = nullptr;
      const Region* region = nullptr;
      if (Outcome found = find(part, rank, manifest, region); !found.good()) return found;
      if (region == nullptr) continue;
      saved = true;
      const auto overlap = overlap_of(region->box, part.box);
      if (!overlap) continue;
      shared.push_back(*overlap);
      if (!move_runs(part, *manifest, *region, *overlap, into)) return lost(rank);
    }
    if (!saved) return mismatch(part, "it was not saved");
    if (!covered(part.box, shared)) return mismatch(part, "no rank saved some of this rank's box");
    return {};
  }

  bool move_runs(const Protected& part, const Manifest& manifest, const Region& region, const Overlap& overlap,
                 std::uint8_t* into) {
    const std::uint64_t each = element_bytes(part.type);
    Source& source = source_of(manifest);
    bool whole = true;
    for_each_shared_run(region.box, part.box, overlap, [&](const SharedRun& run) {
      const std::uint8_t* from = whole ? source.bytes(region.at + run.from * each, run.elements * each) : nullptr;
      whole = from != nullptr;
      if (whole) std::copy_n(from, run.elements * each, into + run.to * each);
    });
    return whole;
  }

  const Context& context_;
  const Candidate& candidate_;
  const std::vector<Protected>& parts_;
  Fetcher fetcher_;
  std::map<int, Source> sources_;
};

}  // namespace

Loaded load(const Context& context, const Candidate& candidate, const std::vector<Protected>& parts) {
  return Loader(context, candidate, parts).run();
}

}  // namespace shakedown::checkpoint
