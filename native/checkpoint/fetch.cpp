#include "fetch.hpp"

#include <algorithm>

#include "coding/coding.hpp"

namespace shakedown::checkpoint {
namespace {

constexpr std::uint8_t kManifest = 1, kData = 2;
constexpr std::uint8_t kThere = 1;
constexpr std::size_t kMostProblems = 16;

Bytes question(std::uint8_t what, const PartName& name, std::uint64_t at, std::uint64_t bytes) {
  Packer packer;
  packer.u8(what);
  packer.u64(name.generation);
  packer.u8(static_cast<std::uint8_t>(name.kind));
  packer.u32(static_cast<std::uint32_t>(name.rank));
  packer.u64(at);
  packer.u64(bytes);
  return packer.take();
}

/// Reads in a folder of this process: memory of its own for the worker, which may be left behind with it.
bool read_here(Folder* folder, double patience, std::uint8_t what, const PartName& name, std::uint64_t at,
               std::uint64_t bytes, Bytes& into) {
  if (folder == nullptr) return false;
  const auto found = std::make_shared<Bytes>(bytes);
  const Outcome read = folder->run(patience, [what, name, at, found](Store& store) {
    return what == kManifest ? store.read_manifest(name, *found) : store.read_data(name, at, *found);
  });
  if (!read.good()) return false;
  into = std::move(*found);
  return true;
}

}  // namespace

Bytes answer_request(const Context& context, std::span<const std::uint8_t> asked) {
  Unpacker from(asked);
  const std::uint8_t what = from.u8();
  PartName name;
  name.generation = from.u64();
  name.kind = static_cast<Kind>(from.u8());
  name.rank = from.number();
  const std::uint64_t at = from.u64();
  const std::uint64_t bytes = from.u64();
  Bytes found;
  if (!from.sound() || bytes > kBlockBytes) return {};
  if (!read_here(context.local, context.patience_seconds, what, name, at, bytes, found)) return {};
  found.insert(found.begin(), kThere);
  return found;
}

/// The code of one group, as its parity files describe it.
struct Fetcher::Code {
  Code(std::vector<std::uint64_t> bytes, int losses) : plan(std::move(bytes), losses) {
    for (int member = 0; member < plan.members(); ++member) parts.push_back(plan.parity_of(member));
  }
  StripePlan plan;
  std::vector<std::vector<StripePlan::Parity>> parts;  // of each member's parity file
  std::vector<Manifest> members;
  std::vector<std::optional<Manifest>> parity;  // of each member
};

void Fetcher::problem(std::string words) {
  if (problems_.size() < kMostProblems) problems_.push_back(std::move(words));
}

std::vector<int> Fetcher::sources(Kind kind, int rank, bool global) const {
  std::vector<int> nodes = nodes_with(candidate_, kind, rank);
  std::erase_if(nodes, [&](int node) { return (node == kGlobalNode) != global; });
  const int own = context_.topology->node_of(context_.rank);
  std::stable_partition(nodes.begin(), nodes.end(), [&](int node) { return node == own; });
  return nodes;
}

/// Bytes from a node's folder or the shared one; nothing where they are not to be had.
std::optional<Bytes> Fetcher::ask(int node, std::uint8_t what, const PartName& name, std::uint64_t at,
                                  std::uint64_t bytes) {
  if (silent_.contains(node)) return std::nullopt;
  if (node == kGlobalNode || node == context_.topology->node_of(context_.rank)) {
    Folder* folder = node == kGlobalNode ? context_.global : context_.local;
    Bytes found;
    if (!read_here(folder, context_.patience_seconds, what, name, at, bytes, found)) return std::nullopt;
    return found;
  }
  const std::vector<int>& there = context_.topology->on_node(node);
  const int whom = there[static_cast<std::size_t>(context_.rank) % there.size()];
  auto answer = context_.transport->request(whom, question(what, name, at, bytes), context_.peer_deadline());
  if (!answer) silent_.insert(node);
  if (!answer) problem("node " + context_.topology->name_of_node(node) + " does not answer");
  if (!answer || answer->empty() || answer->front() != kThere) return std::nullopt;
  answer->erase(answer->begin());
  return answer;
}

bool Fetcher::read(int node, const PartName& name, std::uint64_t at, std::span<std::uint8_t> into) {
  const auto found = ask(node, kData, name, at, into.size());
  if (!found || found->size() != into.size()) return false;
  std::copy(found->begin(), found->end(), into.begin());
  return true;
}

std::optional<Manifest> Fetcher::read_manifest(int node, const PartName& name) {
  const auto bytes = ask(node, kManifest, name, 0, 0);
  if (!bytes) return std::nullopt;
  std::string why;
  auto manifest = decode_manifest(*bytes, why);
  const bool right = manifest && manifest->generation == name.generation && manifest->kind == name.kind &&
                     manifest->rank == name.rank && manifest->run == candidate_.run;
  if (!right) problem("the manifest of rank " + std::to_string(name.rank) + " cannot be used: " + why);
  return right ? std::move(manifest) : std::nullopt;
}

const Manifest* Fetcher::manifest_of(int rank) {
  if (const auto known = manifests_.find(rank); known != manifests_.end()) return &known->second;
  for (const bool global : {false, true}) {
    for (const Kind kind : {Kind::kRank, Kind::kCopy}) {
      for (const int node : sources(kind, rank, global)) {
        auto manifest = read_manifest(node, {candidate_.generation, kind, rank});
        if (manifest) return &manifests_.emplace(rank, std::move(*manifest)).first->second;
      }
    }
    const Code* code = global ? nullptr : code_of(rank);
    if (code == nullptr) continue;
    for (const Manifest& member : code->members) {
      if (member.rank == rank) return &manifests_.emplace(rank, member).first->second;
    }
  }
  return nullptr;
}

bool Fetcher::read_verified(Kind kind, int rank, bool global, std::uint64_t at, std::uint32_t checksum,
                            std::span<std::uint8_t> into) {
  for (const int node : sources(kind, rank, global)) {
    const PartName name{candidate_.generation, kind, rank};
    if (!read(node, name, at, into)) continue;
    if (coding::crc32c(into.data(), into.size()) == checksum) return true;
    problem("a damaged block of rank " + std::to_string(rank) + " on " +
            (global ? "the global folder" : "node " + context_.topology->name_of_node(node)));
  }
  return false;
}

bool Fetcher::block(const Manifest& manifest, std::uint64_t index, std::span<std::uint8_t> into) {
  if (index >= manifest.checksums.size()) return false;
  const std::uint64_t at = index * kBlockBytes;
  const std::uint32_t checksum = manifest.checksums[index];
  if (read_verified(Kind::kRank, manifest.rank, false, at, checksum, into)) return true;
  ++repaired_;
  if (read_verified(Kind::kCopy, manifest.rank, false, at, checksum, into)) return true;
  if (rebuilt(manifest, index, into)) return true;
  if (read_verified(Kind::kRank, manifest.rank, true, at, checksum, into)) return true;
  problem("block " + std::to_string(index) + " of rank " + std::to_string(manifest.rank) + " is whole at no level");
  return false;
}

const Fetcher::Code* Fetcher::code_of(int rank) {
  if (const auto known = codes_.find(rank); known != codes_.end()) return known->second.get();
  std::shared_ptr<Code> code;
  for (const Holding* holding : parity_of_group(candidate_, rank)) {
    auto manifest = read_manifest(holding->node, {candidate_.generation, Kind::kParity, holding->rank});
    if (!manifest) continue;
    if (code == nullptr) {
      std::vector<Manifest> members;
      std::vector<std::uint64_t> bytes;
      std::string why;
      for (const Bytes& packed : manifest->member_manifests) {
        auto member = decode_manifest(packed, why);
        if (!member) break;
        bytes.push_back(member->data_bytes);
        members.push_back(std::move(*member));
      }
      if (members.size() != manifest->members.size()) continue;
      code = std::make_shared<Code>(std::move(bytes), manifest->losses);
      code->members = std::move(members);
      code->parity.resize(code->members.size());
    }
    const auto& members = code->members;
    const auto member =
        std::find_if(members.begin(), members.end(), [&](const Manifest& one) { return one.rank == holding->rank; });
    if (member != members.end())
      code->parity[static_cast<std::size_t>(member - members.begin())] = std::move(*manifest);
  }
  codes_[rank] = code;
  return code.get();
}

bool Fetcher::stripe_block(const Code& code, std::uint64_t stripe, int block, Bytes& into) {
  const int member = code.plan.member_of(stripe, block);
  const Manifest& described = code.members[static_cast<std::size_t>(member)];
  std::fill(into.begin(), into.end(), std::uint8_t{0});
  if (block < code.plan.data_blocks()) {
    const std::uint64_t bytes = code.plan.data_bytes(stripe, member);
    if (bytes == 0) return true;
    const std::uint64_t index = code.plan.index_of(stripe, member);
    const std::span<std::uint8_t> part(into.data(), bytes);
    const std::uint32_t checksum = described.checksums[index];
    return read_verified(Kind::kRank, described.rank, false, index * kBlockBytes, checksum, part) ||
           read_verified(Kind::kCopy, described.rank, false, index * kBlockBytes, checksum, part) ||
           read_verified(Kind::kRank, described.rank, true, index * kBlockBytes, checksum, part);
  }
  const auto& parity = code.parity[static_cast<std::size_t>(member)];
  if (!parity) return false;
  const auto& parts = code.parts[static_cast<std::size_t>(member)];
  const auto part = std::lower_bound(parts.begin(), parts.end(), stripe,
                                     [](const auto& one, std::uint64_t to) { return one.stripe < to; });
  const auto number = static_cast<std::size_t>(part - parts.begin());
  if (number >= parity->checksums.size()) return false;
  return read_verified(Kind::kParity, parity->rank, false, part->at, parity->checksums[number], into);
}

bool Fetcher::rebuilt(const Manifest& manifest, std::uint64_t index, std::span<std::uint8_t> into) {
  const Code* code = code_of(manifest.rank);
  if (code == nullptr) return false;
  const StripePlan& plan = code->plan;
  int member = 0;
  while (code->members[static_cast<std::size_t>(member)].rank != manifest.rank) ++member;
  const std::uint64_t stripe = plan.stripe_of(member, index);
  const int wanted = plan.block_of(stripe, member);
  std::vector<int> from;
  std::vector<Bytes> blocks;
  for (int block = 0; block < plan.members() && static_cast<int>(from.size()) < plan.data_blocks(); ++block) {
    Bytes bytes(plan.length(stripe));
    if (block == wanted || !stripe_block(*code, stripe, block, bytes)) continue;
    from.push_back(block);
    blocks.push_back(std::move(bytes));
  }
  const auto factors = coding::rebuilding_factors(plan.data_blocks(), plan.losses(), from, wanted);
  if (factors.size() != blocks.size() || blocks.empty()) return false;
  std::fill(into.begin(), into.end(), std::uint8_t{0});
  for (std::size_t at = 0; at < blocks.size(); ++at) {
    coding::multiply_add(factors[at], blocks[at].data(), into.data(), into.size());
  }
  return coding::crc32c(into.data(), into.size()) == manifest.checksums[index];
}

}  // namespace shakedown::checkpoint
