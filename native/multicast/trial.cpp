// One trial: every sender sends for so long, every listener counts, and rank 0 learns what came of it.
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "common/clock.hpp"
#include "listener.hpp"

namespace shakedown::multicast {
namespace {

constexpr std::int64_t kNapNs = 50'000;
constexpr int kUdpSegment = 103;        // UDP_SEGMENT of linux/udp.h, which older C libraries lack
constexpr std::uint64_t kDamaged = 10;  // one packet in so many

void sleep_until(std::int64_t when_ns) {
  const timespec when{when_ns / 1'000'000'000, when_ns % 1'000'000'000};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, nullptr);
}

/// A batch of packets as sendmmsg takes them: header and payload, each packet in two pieces.
class Batch {
 public:
  Batch(const Stage& stage, std::uint32_t trial, std::size_t bytes)
      : stage_(stage), payloads_(static_cast<std::uint32_t>(stage.rank), bytes), trial_(trial), bytes_(bytes) {
    const auto count = static_cast<std::size_t>(stage.options->batch);
    headers_.resize(count);
    pieces_.resize(2 * count);
    messages_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      pieces_[2 * i] = {&headers_[i], sizeof(Header)};
      messages_[i].msg_hdr.msg_iov = &pieces_[2 * i];
      messages_[i].msg_hdr.msg_iovlen = 2;
    }
    const auto first = payloads_.at(0);
    flipped_.assign(first.begin(), first.end());
  }

  /// Let the kernel cut up to `most` packets out of one large piece, where it can (Linux 4.18, UDP_SEGMENT).
  void segments(int fd, std::size_t most) {
    most = std::min({most, kMostSegments, kMostBytes / bytes_});
    segments_ = most > 1 && segment(fd, static_cast<int>(bytes_)) ? most : 1;
  }

  [[nodiscard]] std::size_t room() const { return messages_.size() - filled_; }
  void clear() { filled_ = 0; }

  void put(std::uint64_t sequence, std::int64_t now_ns) {
    Header& header = headers_[filled_];
    header.run = stage_.world->run;
    header.sequence = sequence;
    header.sent_ns = now_ns;
    header.trial = trial_;
    header.sender = static_cast<std::uint32_t>(stage_.rank);
    header.target = kNobody;
    header.bytes = static_cast<std::uint32_t>(bytes_);
    header.checksum = checksum(header, payloads_.sum(sequence));
    const auto payload = payloads_.at(sequence);
    pieces_[2 * filled_ + 1] = {payload.data(), payload.size()};
    ++filled_;
  }

  /// One bit of the last packet is wrong on its way.
  void damage(std::uint64_t sequence) {
    auto& piece = pieces_[2 * (filled_ - 1) + 1];
    if (piece.iov_len == 0) {
      headers_[filled_ - 1].sequence ^= 1;
      return;
    }
    const auto payload = payloads_.at(sequence);
    std::copy(payload.begin(), payload.end(), flipped_.begin());
    flipped_[flipped_.size() / 2] ^= 16;
    piece.iov_base = flipped_.data();
  }

  /// Send all; how many the kernel had no room for.
  std::int64_t flush(int fd) {
    std::int64_t refused = 0;
    for (std::size_t at = 0; at < filled_;) {
      const std::size_t together = std::min(segments_, filled_ - at);
      const int done = together > 1 ? send_segments(fd, at, together)
                                    : sendmmsg(fd, messages_.data() + at, static_cast<unsigned>(filled_ - at), 0);
      if (done > 0) {
        at += static_cast<std::size_t>(done);
      } else if (together > 1 && (errno == EINVAL || errno == EIO || errno == EMSGSIZE)) {
        segments_ = 1;  // this way out cannot: packet by packet
        segment(fd, 0);
      } else if (errno == ENOBUFS || errno == EPERM) {  // a full queue; a firewall's refusal
        refused += static_cast<std::int64_t>(together);
        at += together;
      } else if (errno != EINTR && errno != EAGAIN && errno != ECONNREFUSED) {
        throw cannot("sending to the group failed: " + std::string(std::strerror(errno)),
                     errno == EMSGSIZE ? "smaller packets (--bytes): at most 65507 over IPv4" : "");
      }
    }
    filled_ = 0;
    return refused;
  }

 private:
  static constexpr std::size_t kMostSegments = 64;  // that every kernel takes

  static bool segment(int fd, int bytes) { return setsockopt(fd, IPPROTO_UDP, kUdpSegment, &bytes, sizeof bytes) == 0; }

  /// The packets from `at` on as one message, which the kernel cuts; how many were taken, or -1.
  int send_segments(int fd, std::size_t at, std::size_t count) {
    msghdr message{};
    message.msg_iov = &pieces_[2 * at];
    message.msg_iovlen = 2 * count;
    return sendmsg(fd, &message, 0) < 0 ? -1 : static_cast<int>(count);
  }

  const Stage& stage_;
  Payloads payloads_;
  std::size_t segments_ = 1;
  std::uint32_t trial_;
  std::size_t bytes_;
  std::vector<Header> headers_;
  std::vector<iovec> pieces_;
  std::vector<mmsghdr> messages_;
  std::vector<std::uint8_t> flipped_;
  std::size_t filled_ = 0;
};

/// Put the packet of a place in the sequence into the batch, damaged where tests ask for it.
void put(Batch& batch, std::uint64_t place, Inject inject, std::int64_t now_ns) {
  const std::uint64_t which = place % kDamaged;
  switch (inject) {
    case Inject::none:
      batch.put(place, now_ns);
      return;
    case Inject::drop:
      if (which != 3) batch.put(place, now_ns);
      return;
    case Inject::flip:
      batch.put(place, now_ns);
      if (which == 3) batch.damage(place);
      return;
    case Inject::duplicate:
      batch.put(place, now_ns);
      if (which == 3) batch.put(place, now_ns);
      return;
    case Inject::swap:
      batch.put(which == 3 ? place + 1 : which == 4 ? place - 1 : place, now_ns);
  }
}

/// Packet i is due i / rate after the beginning; what is due is sent together, up to a batch at a time.
Sent send(const Stage& stage, const Trial& trial, std::uint32_t number) {
  prctl(PR_SET_TIMERSLACK, 1UL);  // sleeps end when they are asked to
  Batch batch(stage, number, trial.bytes);
  const Options& options = *stage.options;
  batch.segments(stage.outlet.fd(), static_cast<std::size_t>(options.segments));
  const auto total =
      trial.rate > 0 ? std::clamp<std::uint64_t>(static_cast<std::uint64_t>(std::llround(trial.rate * trial.seconds)),
                                                 kDamaged, kMostPackets - 1)
                     : kMostPackets - 1;
  const std::int64_t begin = monotonic_ns();
  // A sender that cannot keep the rate ends late by a tenth, and has sent less.
  const auto end = begin + static_cast<std::int64_t>(trial.seconds * (trial.rate > 0 ? 1.1e9 : 1e9)) +
                   (trial.rate > 0 ? 50'000'000 : 0);
  Sent sent;
  std::uint64_t next = 0;
  std::int64_t now = begin;
  while (next < total && now < end) {
    std::uint64_t due = total;
    if (trial.rate > 0) {
      due = std::min<std::uint64_t>(
          total, static_cast<std::uint64_t>(static_cast<double>(now - begin) * 1e-9 * trial.rate) + 1);
    }
    if (due <= next) {
      const auto when = begin + static_cast<std::int64_t>(static_cast<double>(next) / trial.rate * 1e9);
      sleep_until(std::max(when, now + kNapNs));
    } else {
      while (next < due && batch.room() >= 2) put(batch, next++, options.inject, now);
      sent.refused += batch.flush(stage.outlet.fd());
    }
    now = monotonic_ns();
  }
  sent.packets = static_cast<std::int64_t>(next);
  sent.span_ns = now - begin;
  if (trial.rate > 0 && next == total) {  // the last packet's turn lasts as long as any other's
    sent.span_ns = std::max(sent.span_ns, static_cast<std::int64_t>(static_cast<double>(total) / trial.rate * 1e9));
  }
  return sent;
}

template <class T>
std::vector<T> gather(MPI_Comm comm, const T& mine, int size) {
  std::vector<T> all(static_cast<std::size_t>(size));
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, comm, &request);
  rest(request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);  // done already
  return all;
}

}  // namespace

Outcome run_trial(Stage& stage, const Trial& trial) {
  const std::uint32_t number = ++stage.trials;
  const auto packets = static_cast<std::uint64_t>(trial.rate > 0 ? trial.rate * trial.seconds : 4e6 * trial.seconds);
  Listener listener(stage, number, trial.bytes, packets);
  meet(stage.comm);
  Sent sent;
  int code = kOk;
  std::string why;
  try {
    if (stage.sends()) sent = send(stage, trial, number);
  } catch (const Error& error) {
    code = error.code;
    why = error.what();
  }
  Outcome outcome;
  outcome.sent = gather(stage.comm, sent, stage.size);
  agree(stage.comm, code, why);
  std::vector<std::int64_t> packets_of;
  for (const auto& one : outcome.sent) packets_of.push_back(one.packets);
  outcome.heard = gather(stage.comm, listener.finish(packets_of), stage.size);
  return outcome;
}

}  // namespace shakedown::multicast
