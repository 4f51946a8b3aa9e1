#include "listener.hpp"

#include <sys/epoll.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "common/clock.hpp"

namespace shakedown::multicast {
namespace {

constexpr int kPatienceMs = 5;  // between two looks at whether it is over
// A listener that sleeps at once when nothing is left is woken for the next packet, which on one host costs the sender
// more than the packet itself. After few packets it naps instead, as adapters moderate their interrupts, where the
// socket holds what comes meanwhile: at 10 million packets a second half of the least buffer.
constexpr long kListenerNapNs = 50'000;
constexpr int kFew = 16;
constexpr int kNapBuffer = 2 << 20;  // as SO_RCVBUF tells it, with the kernel's own share

void nap() {
  const timespec length{0, kListenerNapNs};
  nanosleep(&length, nullptr);
}

std::int64_t dropped(const Stage& stage) {
  std::int64_t total = 0;
  for (const auto& one : stage.inlets) total += drops_of(one);
  return total;
}

}  // namespace

/// Room for a batch of datagrams.
class Listener::Inbox {
 public:
  Inbox(int batch, std::size_t bytes, bool senders)
      : bytes_(bytes), data_(static_cast<std::size_t>(batch) * bytes), from_(static_cast<std::size_t>(batch)) {
    messages_.resize(static_cast<std::size_t>(batch));
    pieces_.resize(messages_.size());
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      pieces_[i] = {data_.data() + i * bytes, bytes};
      messages_[i].msg_hdr.msg_iov = &pieces_[i];
      messages_[i].msg_hdr.msg_iovlen = 1;
      if (senders) messages_[i].msg_hdr.msg_name = from_[i].get();
    }
    named_ = senders;
  }

  int receive(int fd) {
    if (named_) {
      for (auto& one : messages_) one.msg_hdr.msg_namelen = sizeof(sockaddr_storage);
    }
    return recvmmsg(fd, messages_.data(), static_cast<unsigned>(messages_.size()), MSG_DONTWAIT, nullptr);
  }
  [[nodiscard]] std::size_t size() const { return messages_.size(); }
  [[nodiscard]] const std::uint8_t* data(std::size_t i) const { return data_.data() + i * bytes_; }
  /// Its true length; what is longer than a packet of ours counts as one byte too long.
  [[nodiscard]] std::size_t length(std::size_t i) const {
    const bool cut = (messages_[i].msg_hdr.msg_flags & MSG_TRUNC) != 0;
    return cut ? 0 : messages_[i].msg_len;
  }
  const Endpoint& from(std::size_t i) {
    from_[i].length = messages_[i].msg_hdr.msg_namelen;
    return from_[i];
  }

 private:
  std::size_t bytes_;
  std::vector<std::uint8_t> data_;
  std::vector<Endpoint> from_;
  std::vector<mmsghdr> messages_;
  std::vector<iovec> pieces_;
  bool named_ = false;
};

Listener::Listener(const Stage& stage, std::uint32_t trial, std::size_t bytes, std::uint64_t packets_each, Take take)
    : stage_(stage),
      options_(*stage.options),
      trial_(trial),
      bytes_(bytes),
      take_(std::move(take)),
      tallies_(static_cast<std::size_t>(stage.size)) {
  if (!stage.listens()) return;
  for (int sender = 0; sender < stage.senders(); ++sender) {
    tallies_[static_cast<std::size_t>(sender)].expect(packets_each);
  }
  dropped_before_ = dropped(stage);
  backlog_before_ = backlog_drops();
  thread_ = std::thread([this] { run(); });
}

Listener::~Listener() { stop(); }

void Listener::stop() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

void Listener::count(const std::uint8_t* data, std::size_t bytes, std::int64_t now_ns, const Endpoint& from) {
  Header header;
  switch (examine({data, bytes}, stage_.world->run, options_.verify, header)) {
    case Arrival::foreign:
      ++heard_.foreign;
      return;
    case Arrival::corrupt:
      ++heard_.corrupt;
      return;
    case Arrival::whole:
      break;
  }
  if (header.trial != trial_) return;  // late, of a trial that is over
  if (header.sender >= tallies_.size()) {
    ++heard_.corrupt;
    return;
  }
  Tally& tally = tallies_[header.sender];
  const std::int64_t before = tally.unique();
  if (!tally.take(header.sequence)) {
    ++heard_.corrupt;
    return;
  }
  if (static_cast<int>(header.sender) == stage_.rank) return;  // its own, by way of its kernel
  if (first_ns_ == 0) first_ns_ = now_ns;
  last_ns_ = now_ns;
  others_ += tally.unique() - before;
  if (take_) take_(header, now_ns, from);
}

int Listener::drain(Inbox& inbox, int fd) {
  int all = 0;
  for (;;) {
    const int got = inbox.receive(fd);
    if (got <= 0) return all;  // nothing there; an error of the socket would show as loss
    all += got;
    const std::int64_t now = monotonic_ns();
    for (int i = 0; i < got; ++i) {
      const auto at = static_cast<std::size_t>(i);
      count(inbox.data(at), inbox.length(at), now, inbox.from(at));
    }
    if (static_cast<std::size_t>(got) < inbox.size()) return all;
  }
}

bool Listener::complete() const {
  const std::int64_t expected = expected_;
  return expected >= 0 && others_ >= expected;
}

bool Listener::silent() const {
  if (expected_ < 0) return false;
  const auto linger_ns = static_cast<std::int64_t>(options_.linger_s * 1e9);
  return monotonic_ns() - std::max<std::int64_t>(last_ns_, told_ns_) > linger_ns;
}

void Listener::run() {
  Inbox inbox(take_ ? 1 : options_.batch, bytes_, static_cast<bool>(take_));
  const Socket poll(epoll_create1(EPOLL_CLOEXEC));
  for (const auto& one : stage_.inlets) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = one.fd();
    epoll_ctl(poll.fd(), EPOLL_CTL_ADD, one.fd(), &event);
  }
  std::array<epoll_event, 64> ready{};
  prctl(PR_SET_TIMERSLACK, 1UL);  // naps end when they are asked to
  const bool naps = !take_ && !stage_.inlets.empty() && receive_buffer(stage_.inlets[0]) >= kNapBuffer;
  int got = 0;
  while (!stop_) {
    const bool more = naps && got > 0 && got < kFew;
    const bool over = silent();  // asked before the sockets are: who slept meanwhile still takes what lies in them
    got = 0;
    if (options_.spin) {
      for (const auto& one : stage_.inlets) got += drain(inbox, one.fd());
    } else {
      if (more) nap();
      const int count = epoll_wait(poll.fd(), ready.data(), static_cast<int>(ready.size()), more ? 0 : kPatienceMs);
      for (int i = 0; i < count; ++i) got += drain(inbox, ready[static_cast<std::size_t>(i)].data.fd);
    }
    if (complete() || (over && got == 0)) return;
  }
}

Heard Listener::finish(const std::vector<std::int64_t>& sent) {
  if (!stage_.listens()) return {};
  std::int64_t expected = 0;
  for (int sender = 0; sender < stage_.size; ++sender) {
    if (sender != stage_.rank) expected += sent[static_cast<std::size_t>(sender)];
  }
  told_ns_ = monotonic_ns();
  expected_ = expected;
  thread_.join();
  Heard heard = heard_;
  heard.expected = expected;
  for (int sender = 0; sender < stage_.size; ++sender) {
    const Tally& tally = tallies_[static_cast<std::size_t>(sender)];
    if (sender == stage_.rank) continue;
    heard.unique += tally.unique();
    heard.duplicates += tally.duplicates();
    heard.reordered += tally.reordered();
    if (sent[static_cast<std::size_t>(sender)] > 0 && tally.unique() == 0) ++heard.unheard;
  }
  // Of its own packets that came round, what is missing was dropped at the same socket and is lost to nobody.
  const auto me = static_cast<std::size_t>(stage_.rank);
  const std::int64_t own = stage_.loop ? std::max<std::int64_t>(0, sent[me] - tallies_[me].unique()) : 0;
  heard.dropped = std::max<std::int64_t>(0, dropped(stage_) - dropped_before_ - own);
  heard.backlog = backlog_drops() - backlog_before_;
  heard.span_ns = last_ns_ - first_ns_;
  return heard;
}

}  // namespace shakedown::multicast
