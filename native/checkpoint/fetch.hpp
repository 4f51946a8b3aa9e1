// Blocks of a generation, from wherever they are whole: the cheapest level first, each block by its checksum, so that
// one damaged block costs no more than a block from a safer level.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "context.hpp"
#include "inventory.hpp"
#include "stripes.hpp"

namespace shakedown::checkpoint {

/// Answers what another rank's Fetcher asks of this node's folder.
Bytes answer_request(const Context& context, std::span<const std::uint8_t> question);

class Fetcher {
 public:
  Fetcher(const Context& context, const Candidate& candidate) : context_(context), candidate_(candidate) {}

  /// What a rank of the run that wrote it has saved; null where no source is sound. `problems` has the reasons.
  const Manifest* manifest_of(int rank);
  /// Fills `into` with the block of a rank's data: verified, or false.
  bool block(const Manifest& manifest, std::uint64_t index, std::span<std::uint8_t> into);

  [[nodiscard]] std::uint64_t repaired_blocks() const { return repaired_; }
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

 private:
  struct Code;
  [[nodiscard]] std::vector<int> sources(Kind kind, int rank, bool global) const;
  std::optional<Bytes> ask(int node, std::uint8_t what, const PartName& name, std::uint64_t at, std::uint64_t bytes);
  bool read(int node, const PartName& name, std::uint64_t at, std::span<std::uint8_t> into);
  std::optional<Manifest> read_manifest(int node, const PartName& name);
  bool read_verified(Kind kind, int rank, bool global, std::uint64_t at, std::uint32_t checksum,
                     std::span<std::uint8_t> into);
  const Code* code_of(int rank);
  bool rebuilt(const Manifest& manifest, std::uint64_t index, std::span<std::uint8_t> into);
  bool stripe_block(const Code& code, std::uint64_t stripe, int block, Bytes& into);
  void problem(std::string words);

  const Context& context_;
  const Candidate& candidate_;
  std::map<int, Manifest> manifests_;
  std::map<int, std::shared_ptr<const Code>> codes_;
  std::set<int> silent_;  // nodes that did not answer
  std::vector<std::string> problems_;
  std::uint64_t repaired_ = 0;
};

}  // namespace shakedown::checkpoint
