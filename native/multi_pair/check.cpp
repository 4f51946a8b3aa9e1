#include "check.hpp"

#include <algorithm>
#include <cstdlib>

#include "pingpong/pattern.hpp"

namespace shakedown::multi_pair {
namespace {

using pingpong::count_wrong;
using pingpong::fill;
using pingpong::fill_wrong;

constexpr std::size_t kLine = 64;
constexpr std::size_t kHead = 4096;                        // of a sample's messages that is compared after it,
constexpr std::size_t kCheckBytes = std::size_t{8} << 20;  // most that one check of whole messages takes
constexpr int kMostSlots = 64;
constexpr std::int64_t kWhole = -1;  // as a sample's number
constexpr int kLanes = 2;
constexpr int kTail = 1'000;  // as a slot's number: the end of a sample's message

}  // namespace

Messages::Messages(const Group& group, const Options& options, const Shape& shape)
    : group_(group), options_(options), shape_(shape), slots_(slots(shape, options.window)) {
  const std::size_t bytes = static_cast<std::size_t>(kLanes * slots_) * stride(shape.bytes);
  together(group.control, [&] {
    for (Buffer* buffer : {&out_, &in_}) {
      *buffer = Buffer(bytes, options.pages);
      fill(buffer->as<std::uint8_t>(), 0);
    }
  });
}

int Messages::slots(const Shape& shape, int window) {
  const int most = is_ring(shape.kernel) || shape.kernel == Kernel::latency ? 2 : std::min(window, kMostSlots);
  return std::max(2, static_cast<int>(std::min(static_cast<std::size_t>(most), kCheckBytes / stride(shape.bytes))));
}

std::size_t Messages::stride(std::size_t bytes) {
  return (std::max<std::size_t>(bytes, 1) + kLine - 1) / kLine * kLine;
}

std::span<std::uint8_t> Messages::at(const Buffer& buffer, int lane, int slot) const {
  return buffer.as<std::uint8_t>().subspan(static_cast<std::size_t>(lane * slots_ + slot) * stride(shape_.bytes),
                                           shape_.bytes);
}

void Messages::set_lanes(std::vector<Lane> sends, std::vector<Lane> receives) {
  sends_ = std::move(sends);
  receives_ = std::move(receives);
}

std::uint64_t Messages::seed(std::int64_t sample, const Lane& lane, int slot, int sender) const {
  return pingpong::seed_of({static_cast<int>(shape_.kernel), shape_.bytes, sample, slot, lane.number == 0, sender});
}

void Messages::fill_sample(std::int64_t sample) {
  if (!options_.verify) return;
  for (const Lane& lane : sends_) {
    const auto data = out(lane.number);
    const std::size_t head = std::min(data.size(), kHead);
    fill(data.first(head), seed(sample, lane, 0, group_.rank));
    fill(data.last(std::min(data.size() - head, kLine)), seed(sample, lane, kTail, group_.rank));
  }
}

void Messages::check_sample(std::int64_t sample) {
  if (!options_.verify) return;
  for (const Lane& lane : receives_) {
    const auto data = in(lane.number);
    const std::size_t head = std::min(data.size(), kHead);
    const std::size_t tail = std::min(data.size() - head, kLine);
    note(data.first(head), seed(sample, lane, 0, lane.peer), lane.peer, 0);
    note(data.last(tail), seed(sample, lane, kTail, lane.peer), lane.peer, data.size() - tail);
  }
}

void Messages::check_whole() {
  if (!options_.verify) return;
  std::vector<MPI_Request> requests;
  requests.reserve((sends_.size() + receives_.size()) * static_cast<std::size_t>(slots_));
  const int bytes = static_cast<int>(shape_.bytes);
  for (int slot = 0; slot < slots_; ++slot) {
    for (const Lane& lane : receives_) {
      fill_wrong(in(lane.number, slot), seed(kWhole, lane, slot, lane.peer));
      MPI_Irecv(in(lane.number, slot).data(), bytes, MPI_BYTE, lane.peer, lane.tag, group_.data,
                &requests.emplace_back(MPI_REQUEST_NULL));
    }
  }
  for (int slot = 0; slot < slots_; ++slot) {
    for (const Lane& lane : sends_) {
      fill(out(lane.number, slot), seed(kWhole, lane, slot, group_.rank));
      MPI_Isend(out(lane.number, slot).data(), bytes, MPI_BYTE, lane.peer, lane.tag, group_.data,
                &requests.emplace_back(MPI_REQUEST_NULL));
    }
  }
  std::vector<MPI_Status> statuses(requests.size());
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), statuses.data());
  damage();
  std::size_t at = 0;
  for (int slot = 0; slot < slots_; ++slot) {
    for (const Lane& lane : receives_) {
      int arrived = 0;
      MPI_Get_count(&statuses[at++], MPI_BYTE, &arrived);
      note_length(std::abs(arrived - bytes), lane.peer);
      note(in(lane.number, slot), seed(kWhole, lane, slot, lane.peer), lane.peer, 0);
    }
  }
  MPI_Barrier(group_.control);  // all that was sent has arrived
  int stray = 0;
  MPI_Status status;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, group_.data, &stray, &status);
  if (stray != 0) note_length(1, status.MPI_SOURCE);
  MPI_Barrier(group_.control);  // nobody sends more before all have looked
}

/// A message that begins at `offset` of what is shown.
void Messages::note(std::span<const std::uint8_t> found, std::uint64_t seed, int sender, std::size_t offset) {
  const std::int64_t count = count_wrong(found, seed);
  if (count == 0) return;
  if (wrong_.count == 0) {
    std::size_t right = 0;  // so many bytes from the first on are right
    for (std::size_t step = found.size(); step > 0; step /= 2) {
      while (right + step <= found.size() && count_wrong(found.first(right + step), seed) == 0) right += step;
    }
    wrong_.byte = static_cast<std::int64_t>(offset + right);
    wrong_.sender = sender;
  }
  wrong_.count += count;
}

void Messages::note_length(std::int64_t count, int sender) {
  if (count > 0 && wrong_.count == 0) wrong_.sender = sender;
  wrong_.count += count;
}

void Messages::damage() {
  if (group_.rank != static_cast<int>(group_.members.size()) - 1 || receives_.empty() || shape_.bytes == 0) return;
  const Lane& lane = receives_.front();
  const auto first = in(lane.number, 0);
  if (options_.inject == Inject::flip) first[first.size() / 2] ^= 1U;
  if (options_.inject == Inject::stale) fill(first, seed(kWhole - 1, lane, 0, lane.peer));
  if (options_.inject == Inject::swap) std::swap_ranges(first.begin(), first.end(), in(lane.number, 1).begin());
  if (options_.inject == Inject::lost) fill_wrong(first, seed(kWhole, lane, 0, lane.peer));
}

}  // namespace shakedown::multi_pair
