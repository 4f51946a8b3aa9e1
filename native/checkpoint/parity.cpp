// Level 3: each member of a group sends its blocks to those that hold parity of their stripe, which add what arrives. A
// node so keeps losses / (members - losses) of its data as parity, and any `losses` nodes of the group may be lost.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "coding/coding.hpp"
#include "drain.hpp"
#include "stripes.hpp"

namespace shakedown::checkpoint {
namespace {

constexpr std::uint64_t kStepHeader = 17;
constexpr std::uint64_t kAtOnce = std::uint64_t{8} * kBlockBytes;  // of parity, in a write
constexpr std::uint64_t kStepStripes = std::uint64_t{2} << 32;

/// One rank's part in the code of its group.
class ParityExchange {
 public:
  ParityExchange(const Context& context, std::shared_ptr<const Staged> staged, std::uint64_t job, Group group)
      : context_(context),
        staged_(std::move(staged)),
        job_(job),
        group_(std::move(group)),
        gone_(group_.members.size(), false) {
    const auto& members = group_.members;
    self_ = static_cast<int>(std::find(members.begin(), members.end(), context.rank) - members.begin());
  }

  Outcome run() {
    if (Outcome met = exchange_headers(); !met.good()) return met;
    const StripePlan plan(member_bytes_, group_.losses);
    begin(plan);
    for (std::uint64_t stripe = 0; stripe < plan.stripes(); ++stripe) {
      if (plan.block_of(stripe, self_) < plan.data_blocks()) {
        send_block(plan, stripe);
      } else {
        add_parity(plan, stripe);
      }
    }
    end();
    return state_;
  }

 private:
  [[nodiscard]] int rank_of(int member) const { return group_.members[static_cast<std::size_t>(member)]; }

  void fail(Outcome why) {
    if (state_.good()) state_ = std::move(why);  // the first; what went well changes nothing
  }

  Outcome exchange_headers() {
    const Manifest& own = staged_->manifest;
    const Bytes header = staged_->buffer == nullptr ? Bytes() : encode_manifest(own);
    for (const int member : group_.members) {
      if (member == context_.rank) continue;
      context_.transport->send(member, job_, kStepHeader, Payload::of(header), context_.peer_deadline());
    }
    Outcome met;
    for (const int member : group_.members) {
      auto arrived = member == context_.rank
                         ? std::optional(header)
                         : context_.transport->receive(member, job_, kStepHeader, context_.peer_deadline());
      std::string why;
      auto manifest = arrived ? decode_manifest(*arrived, why) : std::nullopt;
      if (!manifest || manifest->rank != member || manifest->generation != own.generation || manifest->run != own.run) {
        met = failed(SHAKEDOWN_CKPT_PEER, "rank " + std::to_string(member) + " of this group takes no part");
        continue;
      }
      member_bytes_.push_back(manifest->data_bytes);
      manifests_.push_back(std::move(*arrived));
    }
    return met;
  }

  /// Storage does this after what it does already, of which the outcome is taken first.
  void on_disk(std::function<Outcome(PartWriter&)> step) {
    const Folder::Begun before = std::exchange(writing_, {});
    if (Outcome written = context_.local->end(before, context_.patience_seconds); !written.good()) {
      return fail(std::move(written));
    }
    writing_ = context_.local->begin_beside(
        context_.patience_seconds, [writer = writer_, step = std::move(step)](Store&) { return step(*writer); });
  }

  void begin(const StripePlan& plan) {
    if (context_.local == nullptr) return fail(failed(SHAKEDOWN_CKPT_STORAGE, "there is no local folder for parity"));
    const auto parity = plan.parity_of(self_);
    parity_bytes_ = parity.empty() ? 0 : parity.back().at + parity.back().bytes;
    for (auto& sums : sums_) sums = Buffer::of(std::min(kAtOnce, parity_bytes_), true);
    if (sums_[0] == nullptr || sums_[1] == nullptr) return fail(failed(SHAKEDOWN_CKPT_MEMORY, "no memory for parity"));
    writer_ = std::make_shared<PartWriter>(context_.local->store());
    const PartName name{staged_->manifest.generation, Kind::kParity, context_.rank};
    on_disk([name, bytes = parity_bytes_](PartWriter& writer) { return writer.begin(name, bytes); });
  }

  void send_block(const StripePlan& plan, std::uint64_t stripe) {
    if (plan.data_bytes(stripe, self_) == 0) return;  // the others know that there is nothing
    const auto block = staged_->block(plan.index_of(stripe, self_));
    for (int parity = plan.data_blocks(); parity < plan.members(); ++parity) {
      const int to = plan.member_of(stripe, parity);
      if (gone_[static_cast<std::size_t>(to)]) continue;
      if (context_.transport->send(rank_of(to), job_, kStepStripes + stripe, {staged_, block},
                                   context_.peer_deadline()))
        continue;
      gone_[static_cast<std::size_t>(to)] = true;
      fail(failed(SHAKEDOWN_CKPT_PEER, "rank " + std::to_string(rank_of(to)) + " of this group is not reached"));
    }
  }

  /// The data blocks of a stripe as they arrive, in the order of `factors`; fewer where a member has nothing there.
  std::vector<Bytes> data_of(const StripePlan& plan, std::uint64_t stripe, int parity, Bytes& factors) {
    std::vector<Bytes> blocks;
    for (int data = 0; data < plan.data_blocks(); ++data) {
      const int from = plan.member_of(stripe, data);
      const std::uint64_t bytes = plan.data_bytes(stripe, from);
      if (bytes == 0 || gone_[static_cast<std::size_t>(from)]) continue;
      auto block = context_.transport->receive(rank_of(from), job_, kStepStripes + stripe, context_.peer_deadline());
      if (!block || block->size() != bytes) {
        gone_[static_cast<std::size_t>(from)] = true;
        fail(failed(SHAKEDOWN_CKPT_PEER,
                    "rank " + std::to_string(rank_of(from)) + " of this group stopped sending its state"));
        continue;
      }
      blocks.push_back(std::move(*block));
      factors.push_back(coding::coefficient(plan.data_blocks(), parity, data));
    }
    return blocks;
  }

  void add_parity(const StripePlan& plan, std::uint64_t stripe) {
    Bytes factors;
    std::vector<Bytes> blocks = data_of(plan, stripe, plan.block_of(stripe, self_) - plan.data_blocks(), factors);
    if (!state_.good()) return;
    const std::uint64_t length = plan.length(stripe);
    if (summed_ + length > sums_[0]->bytes()) write_sums();
    std::uint8_t* const sum = sums_[0]->data() + summed_;
    std::memset(sum, 0, length);
    std::vector<const std::uint8_t*> from;
    from.reserve(blocks.size());
    for (const Bytes& block : blocks) from.push_back(block.data());
    const bool alike =
        std::all_of(blocks.begin(), blocks.end(), [&](const Bytes& one) { return one.size() == length; });
    if (alike && !from.empty()) coding::multiply_add(factors, from, {&sum, 1}, length);  // one pass over the sum
    for (std::size_t at = 0; !alike && at < blocks.size(); ++at) {
      coding::multiply_add(factors[at], from[at], sum, blocks[at].size());
    }
    checksums_.push_back(coding::crc32c(sum, length));
    summed_ += length;
    for (Bytes& block : blocks) context_.transport->recycle(std::move(block));
  }

  /// Hands the sums to storage, and goes on in the other buffer, which storage is done with by then.
  void write_sums() {
    on_disk([sums = sums_[0], bytes = summed_](PartWriter& writer) { return writer.add({sums->data(), bytes}); });
    std::swap(sums_[0], sums_[1]);
    summed_ = 0;
  }

  void end() {
    if (writer_ == nullptr) return;
    if (state_.good() && summed_ > 0) write_sums();
    Outcome written = context_.local->end(writing_, context_.patience_seconds);
    if (!written.good()) fail(std::move(written));
    Manifest manifest = staged_->manifest;
    manifest.kind = Kind::kParity;
    manifest.data_bytes = parity_bytes_;
    manifest.checksums = checksums_;
    manifest.regions.clear();
    manifest.losses = group_.losses;
    manifest.members = group_.members;
    manifest.member_manifests = manifests_;
    const auto ending = [whole = state_.good(), writer = writer_, bytes = encode_manifest(manifest)](Store&) {
      Outcome step = whole ? writer->finish(bytes) : Outcome{};
      if (!whole || !step.good()) writer->abandon();
      return step;
    };
    const double patience = context_.patience_seconds;
    Outcome ended = context_.local->end(context_.local->begin_beside(patience, ending), patience);
    if (!ended.good()) fail(std::move(ended));
  }

  const Context& context_;
  std::shared_ptr<const Staged> staged_;
  std::uint64_t job_;
  Group group_;
  int self_ = 0;
  Outcome state_;
  std::vector<bool> gone_;
  std::vector<std::uint64_t> member_bytes_;
  std::vector<Bytes> manifests_;
  std::uint64_t parity_bytes_ = 0;
  std::vector<std::uint32_t> checksums_;
  std::shared_ptr<PartWriter> writer_;
  Folder::Begun writing_;                        // what storage does meanwhile
  std::array<std::shared_ptr<Buffer>, 2> sums_;  // parity: that which is summed, and that which is being written
  std::uint64_t summed_ = 0;                     // bytes in the first
};

}  // namespace

Outcome exchange_parity(const Context& context, const std::shared_ptr<const Staged>& staged, std::uint64_t job) {
  Group group = context.topology->group_of(context.rank, context.group_size, context.group_losses);
  if (group.members.empty()) {
    return failed(SHAKEDOWN_CKPT_STORAGE,
                  "level 3 needs groups of nodes in more failure domains: only the local level was written");
  }
  return ParityExchange(context, staged, job, std::move(group)).run();
}

}  // namespace shakedown::checkpoint
