#include "drain.hpp"

#include <algorithm>

namespace shakedown::checkpoint {
namespace {

constexpr int kFanOut = 8;
constexpr std::uint64_t kStepUp = 1;
constexpr std::uint64_t kStepDown = 2;

constexpr std::uint32_t bit_of(int level) { return 1U << static_cast<unsigned>(level); }

constexpr std::uint64_t kAtOnce = std::uint64_t{8} * kBlockBytes;  // keeps a device busy that has one write at a time

Outcome write_whole(const std::shared_ptr<Store>& store, const Staged& staged) {
  const Manifest& manifest = staged.manifest;
  PartWriter writer(store);
  Outcome step = writer.begin({manifest.generation, Kind::kRank, manifest.rank}, manifest.data_bytes);
  for (std::uint64_t at = 0; step.good() && at < manifest.data_bytes; at += kAtOnce) {
    step = writer.add({staged.buffer->data() + at, std::min(kAtOnce, manifest.data_bytes - at)});
  }
  if (step.good()) step = writer.finish(encode_manifest(manifest));
  if (!step.good()) writer.abandon();
  return step;
}

Folder::Work writing(const Folder& folder, const std::shared_ptr<const Staged>& staged) {
  return [store = folder.store(), staged](Store&) { return write_whole(store, *staged); };
}

Bytes packed(std::uint32_t bits) {
  Packer packer;
  packer.u32(bits);
  return packer.take();
}

std::uint32_t unpacked(const Bytes& bytes) {
  Unpacker from(bytes);
  return from.u32();
}

}  // namespace

std::optional<std::uint32_t> agree(const Context& context, std::uint64_t job, std::uint32_t bits) {
  if (context.transport == nullptr) return bits;
  Transport& transport = *context.transport;
  const int parent = (context.rank - 1) / kFanOut;
  const int first_child = context.rank * kFanOut + 1;
  const int end_child = std::min(first_child + kFanOut, context.topology->ranks());
  for (int child = first_child; child < end_child; ++child) {
    const auto theirs = transport.receive(child, job, kStepUp, context.peer_deadline());
    bits &= theirs ? unpacked(*theirs) : 0;
  }
  if (context.rank != 0) {
    if (!transport.send(parent, job, kStepUp, Payload::of(packed(bits)), context.peer_deadline())) return std::nullopt;
    const auto all = transport.receive(parent, job, kStepDown, context.peer_deadline());
    if (!all) return std::nullopt;
    bits = unpacked(*all);
  }
  for (int child = first_child; child < end_child; ++child) {
    transport.send(child, job, kStepDown, Payload::of(packed(bits)), context.peer_deadline());
  }
  return bits;
}

Drained drain(const Context& context, const std::shared_ptr<const Staged>& staged, std::uint64_t job) {
  Drained result;
  const int level = staged->manifest.level;
  std::uint32_t bits = 0;
  const auto part = [&](int which, const Outcome& outcome) {
    if (outcome.good()) bits |= bit_of(which);
    if (!outcome.good()) result.problems.push_back(outcome.words);
  };
  if (context.transport != nullptr) context.transport->begin(job);
  const double patience = context.patience_seconds;
  const bool state_is_there = staged->buffer != nullptr;
  if (!state_is_there) result.problems.emplace_back("this rank's state was not staged");
  // The node's own copy is part of every level: the cheapest to restart from. Its storage works while the ranks
  // exchange or the shared folder is written.
  Folder::Begun own;
  if (state_is_there && context.local != nullptr) own = context.local->begin(patience, writing(*context.local, staged));
  if (level == SHAKEDOWN_CKPT_GLOBAL && state_is_there) {
    part(level, context.global == nullptr ? failed(SHAKEDOWN_CKPT_STORAGE, "there is no folder for this level")
                                          : context.global->run(patience, writing(*context.global, staged)));
  }
  if (level == SHAKEDOWN_CKPT_PARTNER) part(level, exchange_copies(context, staged, job));
  if (level == SHAKEDOWN_CKPT_GROUP) part(level, exchange_parity(context, staged, job));
  if (own.worker != nullptr) part(SHAKEDOWN_CKPT_LOCAL, context.local->end(own, patience));
  const auto all = agree(context, job, bits);
  if (context.transport != nullptr) {
    if (!all) context.transport->give_up(job);
    context.transport->begin(job + 1);
  }
  result.agreed = all.has_value();
  const std::uint32_t have = all.value_or(0);
  const bool at_home = (have & bit_of(SHAKEDOWN_CKPT_LOCAL)) != 0;
  const bool safer = (have & bit_of(level)) != 0 && (level == SHAKEDOWN_CKPT_GLOBAL || at_home);
  result.level = safer ? level : at_home ? SHAKEDOWN_CKPT_LOCAL : 0;
  if (!result.agreed)
    result.problems.emplace_back("another rank did not answer: whether this generation is whole shows at restart");
  if (result.agreed && result.level < level && result.problems.empty()) {
    result.problems.emplace_back("another rank failed in its part");
  }
  return result;
}

void discard(const Context& context, Folder* folder, std::uint64_t generation) {
  if (folder == nullptr) return;
  std::vector<PartName> names = {{generation, Kind::kRank, context.rank}, {generation, Kind::kParity, context.rank}};
  for (const int whose : context.topology->copies_at(context.rank)) names.push_back({generation, Kind::kCopy, whose});
  if (folder == context.global) names.resize(1);
  // Best effort: what stays is removed with the generation later, and is never taken for whole.
  (void)folder->run(context.patience_seconds, [names = std::move(names)](Store& store) {
    for (const PartName& name : names) store.remove_part(name);
    return Outcome{};
  });
}

}  // namespace shakedown::checkpoint
