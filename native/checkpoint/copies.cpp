// Level 2: every rank's state goes to its partner, block by block, in step: all send block i before any waits for block
// i + 1, so that no rank needs to hold more than a few blocks of others.
#include <algorithm>
#include <utility>

#include "coding/coding.hpp"
#include "drain.hpp"

namespace shakedown::checkpoint {
namespace {

constexpr std::uint64_t kStepHeader = 16;
constexpr std::uint64_t kStepBlocks = std::uint64_t{1} << 32;

/// A copy that is arriving.
struct Arriving {
  int from = 0;
  std::uint64_t blocks = 0;
  Manifest manifest;
  std::shared_ptr<PartWriter> writer;
  Folder::Begun writing;  // the block before, which storage takes while the next one arrives
  Outcome state;
};

/// Storage does this for the copy after what it does already, of which the outcome is taken first.
void on_disk(const Context& context, Arriving& copy, Folder::Work work) {
  const double patience = context.patience_seconds;
  const Folder::Begun before = std::exchange(copy.writing, {});
  copy.state = context.local->end(before, patience);
  if (copy.state.good()) copy.writing = context.local->begin_beside(patience, std::move(work));
}

/// What the partner is to keep beside the data: the state's manifest, as that of a copy.
Bytes header_of(const Staged& staged) {
  if (staged.buffer == nullptr) return {};
  Manifest manifest = staged.manifest;
  manifest.kind = Kind::kCopy;
  return encode_manifest(manifest);
}

Arriving begun(const Context& context, const Manifest& own, int from, std::uint64_t job) {
  Arriving copy;
  copy.from = from;
  const auto header = context.transport->receive(from, job, kStepHeader, context.peer_deadline());
  std::string why = "it sent nothing";
  auto manifest = header && !header->empty() ? decode_manifest(*header, why) : std::nullopt;
  if (!manifest || manifest->rank != from || manifest->generation != own.generation || manifest->run != own.run) {
    copy.state = failed(SHAKEDOWN_CKPT_PEER, "the state of rank " + std::to_string(from) + " did not arrive: " + why);
    return copy;
  }
  copy.manifest = std::move(*manifest);
  copy.blocks = copy.manifest.checksums.size();
  if (context.local == nullptr) {
    copy.state = failed(SHAKEDOWN_CKPT_STORAGE, "there is no local folder for copies");
    return copy;
  }
  copy.writer = std::make_shared<PartWriter>(context.local->store());
  on_disk(context, copy,
          [writer = copy.writer, name = PartName{own.generation, Kind::kCopy, from},
           bytes = copy.manifest.data_bytes](Store&) { return writer->begin(name, bytes); });
  return copy;
}

/// Takes block `index`. What cannot be used is dropped, and the sender goes on.
void take_block(const Context& context, Arriving& copy, std::uint64_t job, std::uint64_t index) {
  if (copy.state.error == SHAKEDOWN_CKPT_PEER) return;
  auto block = context.transport->receive(copy.from, job, kStepBlocks + index, context.peer_deadline());
  if (!block) {
    copy.state = failed(SHAKEDOWN_CKPT_PEER, "rank " + std::to_string(copy.from) + " stopped sending its state");
    return;
  }
  if (!copy.state.good()) return;
  const bool right = block->size() == block_bytes(copy.manifest.data_bytes, index) &&
                     coding::crc32c(block->data(), block->size()) == copy.manifest.checksums[index];
  if (!right) {
    copy.state =
        failed(SHAKEDOWN_CKPT_STORAGE, "the state of rank " + std::to_string(copy.from) + " was damaged on its way");
    return;
  }
  on_disk(context, copy,
          [writer = copy.writer, data = Payload::of(std::move(*block))](Store&) { return writer->add(data.bytes); });
}

void end_copy(const Context& context, Arriving& copy) {
  if (copy.writer == nullptr) return;
  const double patience = context.patience_seconds;
  Outcome written = context.local->end(copy.writing, patience);
  if (copy.state.good()) copy.state = std::move(written);
  const bool whole = copy.state.good();
  const auto ending = [writer = copy.writer, whole, manifest = encode_manifest(copy.manifest)](Store&) {
    Outcome step = whole ? writer->finish(manifest) : Outcome{};
    if (!whole || !step.good()) writer->abandon();
    return step;
  };
  Outcome ended = context.local->end(context.local->begin_beside(patience, ending), patience);
  if (whole) copy.state = std::move(ended);
}

}  // namespace

Outcome exchange_copies(const Context& context, const std::shared_ptr<const Staged>& staged, std::uint64_t job) {
  const Topology& topology = *context.topology;
  const int partner = topology.partner_of(context.rank);
  if (partner < 0) {
    return failed(SHAKEDOWN_CKPT_STORAGE,
                  "level 2 needs nodes in two failure domains: only the local level was written");
  }
  Transport& transport = *context.transport;
  const Manifest& own = staged->manifest;
  const std::uint64_t own_blocks = staged->buffer == nullptr ? 0 : own.checksums.size();
  bool sending = transport.send(partner, job, kStepHeader, Payload::of(header_of(*staged)), context.peer_deadline());
  std::vector<Arriving> copies;
  for (const int whose : topology.copies_at(context.rank)) copies.push_back(begun(context, own, whose, job));
  std::uint64_t rounds = own_blocks;
  for (const Arriving& copy : copies) rounds = std::max(rounds, copy.blocks);
  for (std::uint64_t index = 0; index < rounds; ++index) {
    if (sending && index < own_blocks) {
      sending =
          transport.send(partner, job, kStepBlocks + index, {staged, staged->block(index)}, context.peer_deadline());
    }
    for (Arriving& copy : copies) {
      if (index < copy.blocks) take_block(context, copy, job, index);
    }
  }
  Outcome result;
  if (!sending)
    result = failed(SHAKEDOWN_CKPT_PEER,
                    "rank " + std::to_string(partner) + ", which keeps this rank's copy, is not reached");
  for (Arriving& copy : copies) {
    end_copy(context, copy);
    if (!copy.state.good()) result = copy.state;
  }
  if (staged->buffer == nullptr) result = failed(SHAKEDOWN_CKPT_MEMORY, "this rank's state was not staged");
  return result;
}

}  // namespace shakedown::checkpoint
