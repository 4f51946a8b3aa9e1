#include "worker.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "common/clock.hpp"
#include "common/error.hpp"
#include "draws.hpp"
#include "ethernet.hpp"

namespace shakedown::radio_forwarder {
namespace {

constexpr int kBatch = 32;                     // frames of one node before another has its turn
constexpr std::size_t kMostBuffers = 1 << 16;  // frames on the air at once, of a thread
constexpr std::size_t kMostDeliveries = 1 << 21;
constexpr std::int64_t kLongestWaitNs = 50'000'000;  // until it looks whether it is to stop

}  // namespace

Worker::Worker(Forwarder& forwarder, const std::vector<std::uint32_t>& mine, bool hosts)
    : forwarder_(forwarder),
      channel_(forwarder.channel()),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      wheel_(monotonic_ns()),
      hosts_(hosts && forwarder.hosts().any()),
      is_ready_(forwarder.nodes().size(), 0) {
  if (epoll_.fd() < 0) throw cannot(std::string("epoll_create1: ") + std::strerror(errno));
  for (const auto node : mine) watch(forwarder.nodes()[node].tap.fd(), node);
  if (hosts_) watch(forwarder.hosts().socket.fd(), 0);
  if (channel_.collisions) passing_.resize(forwarder.nodes().size());
  current_ = take_buffer();
}

void Worker::watch(int fd, std::uint32_t node) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  event.data.u32 = node;
  if (epoll_ctl(epoll_.fd(), EPOLL_CTL_ADD, fd, &event) == 0) return;
  throw cannot(std::string("epoll_ctl: ") + std::strerror(errno), "see /proc/sys/fs/epoll/max_user_watches");
}

void Worker::run() {
  while (!forwarder_.stopping()) {
    wheel_.take(monotonic_ns(), [this](std::uint32_t delivery) { deliver_later(delivery); });
    for (auto turns = std::min<std::size_t>(ready_.size(), 16); turns > 0; --turns) {
      const std::uint32_t node = ready_.front();
      ready_.pop_front();
      if (node == 0 ? read_hosts() : read_node(node))
        ready_.push_back(node);
      else
        is_ready_[node] = 0;
    }
    wait(!ready_.empty());
  }
}

void Worker::wait(bool poll_only) {
  std::int64_t pause = 0;
  if (!poll_only) {
    const std::int64_t next = wheel_.next_ns();
    pause =
        next == Wheel::kNothing ? kLongestWaitNs : std::clamp<std::int64_t>(next - monotonic_ns(), 0, kLongestWaitNs);
  }
  const timespec timeout{pause / 1'000'000'000, pause % 1'000'000'000};
  std::array<epoll_event, 256> events{};
  const int found = epoll_pwait2(epoll_.fd(), events.data(), static_cast<int>(events.size()), &timeout, nullptr);
  for (int i = 0; i < found; ++i) {
    const std::uint32_t node = events[static_cast<std::size_t>(i)].data.u32;
    if (is_ready_[node] != 0) continue;
    is_ready_[node] = 1;
    ready_.push_back(node);
  }
}

/// Whether there may be more.
bool Worker::read_node(std::uint32_t node) {
  Transmitter& transmitter = forwarder_.links().of(node);
  const int tap = forwarder_.nodes()[node].tap.fd();
  const std::lock_guard guard(transmitter.lock);
  for (int i = 0; i < kBatch; ++i) {
    Buffer& buffer = buffers_[current_];
    const ssize_t got = read(tap, buffer.bytes.get(), channel_.most_bytes + 1);
    if (got < 0) {
      if (errno == EINTR) continue;
      return false;  // EAGAIN; or the interface is gone, of which there will be no more
    }
    buffer.length = static_cast<std::size_t>(got);
    forward(transmitter, node, monotonic_ns());
  }
  return true;
}

/// When a frame leaves the radio, behind those before it. False where its queue is full.
bool Worker::send(Transmitter& transmitter, std::size_t bytes, Sending& sending) const {
  sending.begin_ns = sending.end_ns = sending.read_ns;
  if (!channel_.serialise) return true;
  auto& on_air = transmitter.on_air_ns;
  while (!on_air.empty() && on_air.front() <= sending.read_ns) on_air.pop_front();
  if (on_air.size() >= channel_.queue_frames) return false;
  const double air_s = channel_.overhead_s + 8 * static_cast<double>(bytes) / channel_.waveform.rate_bit_s;
  sending.begin_ns = std::max(sending.read_ns, transmitter.busy_until_ns);
  sending.end_ns = sending.begin_ns + static_cast<std::int64_t>(air_s * 1e9);
  transmitter.busy_until_ns = sending.end_ns;
  on_air.push_back(sending.end_ns);
  return true;
}

/// The frame in the current buffer, which a node of ours sends now.
void Worker::forward(Transmitter& transmitter, std::uint32_t from, std::int64_t now_ns) {
  const Buffer& buffer = buffers_[current_];
  counts_.add(kFrames);
  counts_.add(kBytes, buffer.length);
  forwarder_.count_sent(from);
  Sending sending{from, 0, now_ns, now_ns, now_ns};
  if (buffer.length < kHeadBytes || buffer.length > channel_.most_bytes) return counts_.add(kMalformed);
  if (!send(transmitter, buffer.length, sending)) return counts_.add(kQueue);
  sending.number = transmitter.frames++;
  if (channel_.collisions) collides(from, {sending.begin_ns, sending.end_ns, kNone});
  deliver_to_all(transmitter, sending);
}

void Worker::deliver_to_all(Transmitter& transmitter, const Sending& sending) {
  const std::uint8_t* const bytes = buffers_[current_].bytes.get();
  bool elsewhere = false;
  ++buffers_[current_].holders;  // so that a delivery at once does not give it back
  if (is_group(bytes)) {
    for (const Neighbour& neighbour : transmitter.neighbours) {
      if (is_here(neighbour.node))
        deliver_to(neighbour, sending);
      else
        elsewhere = true;
    }
  } else if (const std::uint32_t to = node_of(bytes); to == 0 || to >= forwarder_.nodes().size()) {
    counts_.add(kNoNode);
  } else if (const Neighbour* const neighbour = find(transmitter, to); neighbour == nullptr) {
    counts_.add(kOutOfRange);
  } else if (is_here(to)) {
    deliver_to(*neighbour, sending);
  } else {
    elsewhere = true;
  }
  Buffer& buffer = buffers_[current_];
  if (elsewhere && is_here(sending.from)) {
    const auto air = static_cast<std::uint64_t>(sending.end_ns - sending.read_ns);
    const DistantFrame frame{sending.from, sending.number, air, {buffer.bytes.get(), buffer.length}};
    counts_.add(kSentToHosts, static_cast<std::uint64_t>(forwarder_.hosts().send(frame, datagram_)));
  }
  if (--buffer.holders != 0) current_ = take_buffer();
}

void Worker::deliver_to(const Neighbour& neighbour, const Sending& sending) {
  Buffer& buffer = buffers_[current_];
  const double likely = success(neighbour.reception, buffer.length);
  const bool received = likely >= 1 || draw(channel_.seed, sending.from, neighbour.node, sending.number) < likely;
  if (!received) counts_.add(kByChance);
  if (!received && !channel_.collisions) return;
  const std::int64_t arrives_ns = sending.end_ns + neighbour.propagation_ns;
  const std::int64_t due_ns = arrives_ns + channel_.delay_ns;
  if (received && !channel_.collisions && due_ns <= sending.read_ns)
    return write_tap(neighbour.node, buffer, sending.read_ns);
  std::uint32_t delivery = kNone;
  if (received) {
    if (deliveries_.size() - free_deliveries_.size() >= kMostDeliveries ||
        buffers_.size() - free_buffers_.size() >= kMostBuffers) {
      return counts_.add(kNoBuffer);
    }
    if (free_deliveries_.empty()) {
      free_deliveries_.push_back(static_cast<std::uint32_t>(deliveries_.size()));
      deliveries_.push_back({});
    }
    delivery = free_deliveries_.back();
    free_deliveries_.pop_back();
    deliveries_[delivery] = {current_, neighbour.node, due_ns, false};
    ++buffer.holders;
    wheel_.add(due_ns, delivery);
  }
  if (!channel_.collisions) return;
  const bool collided = collides(neighbour.node, {sending.begin_ns + neighbour.propagation_ns, arrives_ns, delivery});
  if (received) deliveries_[delivery].collided = collided;
}

/// Add a transmission that passes a node; whether it overlaps another there. Those are then lost as well.
bool Worker::collides(std::uint32_t at, const Passing& passing) {
  auto& all = passing_[at];
  const std::int64_t now_ns = monotonic_ns();
  std::erase_if(all, [now_ns](const Passing& one) { return one.end_ns <= now_ns; });
  bool overlaps = false;
  for (const Passing& one : all) {
    if (one.begin_ns >= passing.end_ns || passing.begin_ns >= one.end_ns) continue;
    overlaps = true;
    if (one.delivery != kNone) deliveries_[one.delivery].collided = true;
  }
  all.push_back(passing);
  return overlaps;
}

void Worker::deliver_later(std::uint32_t index) {
  const Delivery delivery = deliveries_[index];
  Buffer& buffer = buffers_[delivery.buffer];
  if (delivery.collided)
    counts_.add(kCollision);
  else
    write_tap(delivery.to, buffer, delivery.due_ns);
  free_deliveries_.push_back(index);
  if (--buffer.holders == 0) free_buffers_.push_back(delivery.buffer);
}

void Worker::write_tap(std::uint32_t to, const Buffer& buffer, std::int64_t due_ns) {
  if (channel_.latest_ns > 0 && monotonic_ns() - due_ns > channel_.latest_ns) return counts_.add(kTooLate);
  if (write(forwarder_.nodes()[to].tap.fd(), buffer.bytes.get(), buffer.length) < 0) return counts_.add(kTapFull);
  counts_.add(kDelivered);
  forwarder_.count_received(to);
  counts_.late.add(monotonic_ns() - due_ns);
}

std::uint32_t Worker::take_buffer() {
  if (free_buffers_.empty()) {
    free_buffers_.push_back(static_cast<std::uint32_t>(buffers_.size()));
    buffers_.push_back({std::make_unique<std::uint8_t[]>(channel_.most_bytes + 1), 0, 0});
  }
  const std::uint32_t buffer = free_buffers_.back();
  free_buffers_.pop_back();
  return buffer;
}

/// Frames of other hosts' nodes, for ours that hear them. Whether there may be more.
bool Worker::read_hosts() {
  std::array<std::uint8_t, 65536> datagram{};
  for (int i = 0; i < kBatch; ++i) {
    const ssize_t got = recv(forwarder_.hosts().socket.fd(), datagram.data(), datagram.size(), 0);
    if (got < 0) return errno == EINTR;
    const auto frame = decode({datagram.data(), static_cast<std::size_t>(got)}, forwarder_.hosts().emulation);
    if (!frame || frame->from < 1 || frame->from >= forwarder_.nodes().size() || frame->frame.size() < kHeadBytes ||
        frame->frame.size() > channel_.most_bytes || frame->air_ns > 1'000'000'000'000) {
      counts_.add(kMalformed);
      continue;
    }
    if (is_here(frame->from)) continue;  // our own, which a multicast group gives back
    Buffer& buffer = buffers_[current_];
    std::memcpy(buffer.bytes.get(), frame->frame.data(), frame->frame.size());
    buffer.length = frame->frame.size();
    counts_.add(kFrames);
    counts_.add(kBytes, buffer.length);
    const std::int64_t now_ns = monotonic_ns();
    const std::int64_t end_ns = now_ns + static_cast<std::int64_t>(frame->air_ns);
    Transmitter& transmitter = forwarder_.links().of(frame->from);
    const std::lock_guard guard(transmitter.lock);
    deliver_to_all(transmitter, {frame->from, frame->number, now_ns, now_ns, end_ns});
  }
  return true;
}

}  // namespace shakedown::radio_forwarder
