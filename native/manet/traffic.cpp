#include <arpa/inet.h>
#include <dirent.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <thread>

#include "binomial.hpp"
#include "common/affinity.hpp"
#include "common/clock.hpp"
#include "common/error.hpp"
#include "manet.hpp"
#include "radio_forwarder/ethernet.hpp"

namespace shakedown::manet {
namespace {

constexpr int kBurst = 32;
constexpr std::size_t kStampAt = radio_forwarder::kHeadBytes;
constexpr double kPatience_s = 60;  // that nothing moves, before frames are given up

/// Runs in the network namespace of a node, in a thread of its own.
template <class Function>
void inside(const Node& node, Function&& function) {
  std::exception_ptr error;
  std::thread([&] {
    try {
      if (setns(node.space.fd(), CLONE_NEWNET) != 0) throw cannot(std::string("enter a node: ") + std::strerror(errno));
      function();
    } catch (...) {
      error = std::current_exception();
    }
  }).join();
  if (error) std::rethrow_exception(error);
}

/// Wait until `done`, as long as `count` still rises.
template <class Done, class Count>
bool wait_for(Done&& done, Count&& count) {
  auto before = count();
  double since = now_s();
  while (!done()) {
    const timespec pause{0, 50'000};
    nanosleep(&pause, nullptr);
    if (const auto now = count(); now != before) {
      before = now;
      since = now_s();
    } else if (now_s() - since > kPatience_s) {
      return false;
    }
  }
  return true;
}

}  // namespace

Port::Port(const Node& node, bool listens) {
  inside(node, [&] {
    const int protocol = listens ? htons(kEtherType) : 0;
    socket_ = Handle(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | (listens ? SOCK_NONBLOCK : 0), protocol));
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = static_cast<std::uint16_t>(protocol);
    address.sll_ifindex = static_cast<int>(if_nametoindex(radio_forwarder::kInterface));
    const int on = 1, room = 4 << 20;
    bool made = socket_.fd() >= 0;
    made = made && bind(socket_.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    if (listens) {
      made = made && setsockopt(socket_.fd(), SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) == 0;
      if (made && setsockopt(socket_.fd(), SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room) != 0)
        setsockopt(socket_.fd(), SOL_SOCKET, SO_RCVBUF, &room, sizeof room);  // as much as an ordinary user may
    } else {
      made = made && setsockopt(socket_.fd(), SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof on) == 0;
    }
    if (!made) throw cannot(std::string("a packet socket in a node: ") + std::strerror(errno));
  });
}

int Port::send(const std::vector<std::uint8_t>& frame, int copies) const {
  iovec part{const_cast<std::uint8_t*>(frame.data()), frame.size()};
  std::array<mmsghdr, kBurst> messages{};
  for (auto& message : messages) message.msg_hdr = {nullptr, 0, &part, 1, nullptr, 0, 0};
  const int sent = sendmmsg(socket_.fd(), messages.data(), static_cast<unsigned>(std::min(copies, kBurst)), 0);
  if (sent < 0 && errno != ENOBUFS && errno != EAGAIN && errno != EINTR)
    throw cannot(std::string("send a frame: ") + std::strerror(errno));
  return std::max(sent, 0);
}

int Port::take(const std::function<void(const Arrival&)>& taker) const {
  std::array<std::uint8_t, 64> head{};
  alignas(cmsghdr) std::array<char, 256> control{};
  int count = 0;
  for (;;) {
    iovec part{head.data(), head.size()};
    msghdr message{nullptr, 0, &part, 1, control.data(), control.size(), 0};
    if (recvmsg(socket_.fd(), &message, 0) < static_cast<ssize_t>(kStampAt + 8)) {
      if (errno == EINTR) continue;
      return count;
    }
    Arrival arrival;
    arrival.from = radio_forwarder::node_of(head.data() + 6);
    std::memcpy(&arrival.sent_ns, head.data() + kStampAt, 8);
    for (cmsghdr* one = CMSG_FIRSTHDR(&message); one != nullptr; one = CMSG_NXTHDR(&message, one)) {
      if (one->cmsg_level != SOL_SOCKET || one->cmsg_type != SCM_TIMESTAMPNS) continue;
      timespec when{};
      std::memcpy(&when, CMSG_DATA(one), sizeof when);
      arrival.arrived_ns = std::int64_t{when.tv_sec} * 1'000'000'000 + when.tv_nsec;
    }
    taker(arrival);
    ++count;
  }
}

std::uint64_t Port::drops() const {
  tpacket_stats stats{};
  socklen_t length = sizeof stats;
  getsockopt(socket_.fd(), SOL_PACKET, PACKET_STATISTICS, &stats, &length);
  return stats.tp_drops;
}

std::vector<std::uint8_t> make_frame(std::uint32_t from, std::uint32_t to, std::size_t bytes) {
  std::vector<std::uint8_t> frame(std::max(bytes, kStampAt + 8));
  const auto source = radio_forwarder::mac_of(from), target = radio_forwarder::mac_of(to);
  std::fill_n(frame.begin(), 6, std::uint8_t{0xff});
  if (to != 0) std::copy(target.begin(), target.end(), frame.begin());
  std::copy(source.begin(), source.end(), frame.begin() + 6);
  frame[12] = kEtherType >> 8;
  frame[13] = kEtherType & 0xff;
  return frame;
}

void stamp(std::vector<std::uint8_t>& frame) {
  const std::int64_t now = unix_ns();
  std::memcpy(frame.data() + kStampAt, &now, sizeof now);
}

std::uint64_t arrived(const Node& node) {
  std::uint64_t packets = 0;
  inside(node, [&] {
    std::ifstream file("/proc/thread-self/net/dev");
    for (std::string line; std::getline(file, line);) {
      const auto colon = line.find(':');
      if (colon == std::string::npos || line.find(radio_forwarder::kInterface) == std::string::npos) continue;
      std::istringstream numbers(line.substr(colon + 1));
      std::uint64_t bytes = 0;
      numbers >> bytes >> packets;
    }
  });
  return packets;
}

double forward_all(Forwarder& forwarder, std::vector<Node>& nodes, std::int64_t frames, std::size_t bytes,
                   std::int64_t& missing) {
  // At most 64 nodes send: what is measured is frames, whatever number of nodes they are between.
  const auto count = static_cast<std::uint32_t>(nodes.size() - 1);
  const std::uint32_t senders = std::min<std::uint32_t>(count, 64);
  std::vector<Port> ports;
  std::vector<std::vector<std::uint8_t>> made;
  std::vector<std::uint32_t> targets;
  for (std::uint32_t i = 0; i < senders; ++i) {
    const std::uint32_t from = 1 + i * (count / senders), to = from % count + 1;
    ports.emplace_back(nodes[from], false);
    made.push_back(make_frame(from, to, bytes));
    targets.push_back(to);
  }
  const auto read = [&] { return static_cast<std::int64_t>(forwarder.totals().fates[radio_forwarder::kFrames]); };
  const auto reached = [&] {
    std::uint64_t sum = 0;
    for (const auto to : targets) sum += arrived(nodes[to]);
    return static_cast<std::int64_t>(sum);
  };
  const std::int64_t before = read(), arrived_before = reached();
  const std::int64_t window = std::int64_t{senders} * 100;  // under way at once: a TAP holds 500 or more
  const double begin = now_s();
  std::int64_t sent = 0;
  for (std::size_t turn = 0; sent < frames; turn = (turn + 1) % senders) {
    if (sent - (read() - before) > window && !wait_for([&] { return sent - (read() - before) <= window / 2; }, read)) {
      break;
    }
    sent += ports[turn].send(made[turn], static_cast<int>(std::min<std::int64_t>(kBurst, frames - sent)));
  }
  wait_for([&] { return read() - before >= sent; }, read);
  const double seconds = now_s() - begin;
  // A frame is counted as read before it is written.
  wait_for([&] { return reached() - arrived_before >= frames; }, reached);
  missing = frames - (reached() - arrived_before);
  return seconds;
}

std::vector<double> delays(std::vector<Node>& nodes, double rate, std::int64_t frames, std::size_t bytes) {
  const auto count = static_cast<std::uint32_t>(nodes.size() - 1);
  const std::uint32_t senders = std::min<std::uint32_t>(count, 16);
  std::vector<Port> from, to;
  std::vector<std::vector<std::uint8_t>> made;
  for (std::uint32_t i = 0; i < senders; ++i) {
    const std::uint32_t sender = 1 + i * (count / senders), target = sender % count + 1;
    from.emplace_back(nodes[sender], false);
    to.emplace_back(nodes[target], true);
    made.push_back(make_frame(sender, target, bytes));
  }
  std::vector<double> found;
  found.reserve(static_cast<std::size_t>(frames));
  const auto collect = [&] {
    for (const Port& port : to)
      port.take(
          [&](const Port::Arrival& one) { found.push_back(static_cast<double>(one.arrived_ns - one.sent_ns) * 1e-9); });
  };
  prctl(PR_SET_TIMERSLACK, 1);
  const std::int64_t begin = monotonic_ns(), step = static_cast<std::int64_t>(1e9 / rate);
  for (std::int64_t i = 0; i < frames; ++i) {
    const std::int64_t due = begin + i * step;
    const timespec when{due / 1'000'000'000, due % 1'000'000'000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, nullptr);
    const auto turn = static_cast<std::size_t>(i) % senders;
    stamp(made[turn]);
    from[turn].send(made[turn], 1);
  }
  prctl(PR_SET_TIMERSLACK, 0);
  const auto whole = [&] {
    collect();
    return std::ssize(found) >= frames;
  };
  if (!wait_for(whole, [&] { return found.size(); })) found.clear();
  return found;
}

Loss losses(Forwarder& forwarder, std::vector<Node>& nodes, std::uint32_t count, std::int64_t frames, std::size_t bytes,
            const std::function<double(std::uint32_t from, std::uint32_t to)>& of) {
  std::vector<Port> from, to;
  for (std::uint32_t node = 1; node <= count; ++node) {
    from.emplace_back(nodes[node], false);
    to.emplace_back(nodes[node], true);
  }
  std::vector<std::vector<std::int64_t>> heard(count + 1, std::vector<std::int64_t>(count + 1));  // by receiver, sender
  std::int64_t taken = 0;
  const auto delivered = [&] {
    return static_cast<std::int64_t>(forwarder.totals().fates[radio_forwarder::kDelivered]);
  };
  const auto decided = [&] {
    const auto fates = forwarder.totals().fates;
    std::uint64_t sum = 0;
    for (const auto one : {radio_forwarder::kDelivered, radio_forwarder::kByChance, radio_forwarder::kTapFull,
                           radio_forwarder::kTooLate, radio_forwarder::kNoBuffer}) {
      sum += fates[one];
    }
    return static_cast<std::int64_t>(sum);
  };
  std::vector<std::int64_t> hearers(count + 1);  // of each sender
  for (std::uint32_t sender = 1; sender <= count; ++sender) {
    for (std::uint32_t receiver = 1; receiver <= count; ++receiver)
      hearers[sender] += of(sender, receiver) >= 0 ? 1 : 0;
  }
  const std::int64_t delivered_before = delivered(), decided_before = decided();
  const auto collect = [&] {
    for (std::uint32_t node = 1; node <= count; ++node)
      taken += to[node - 1].take([&](const Port::Arrival& one) { ++heard[node][one.from]; });
  };
  std::int64_t due = 0;  // of every frame that was sent, what becomes of it at each who may hear it
  const auto settled = [&] {
    collect();
    return decided() - decided_before >= due && taken >= delivered() - delivered_before;
  };
  Loss loss;
  for (std::int64_t done = 0; done < frames; done += kBurst) {
    const int copies = static_cast<int>(std::min<std::int64_t>(kBurst, frames - done));
    for (std::uint32_t node = 1; node <= count; ++node) {
      const auto frame = make_frame(node, 0, bytes);
      for (int left = copies; left > 0;) {
        const int took = from[node - 1].send(frame, left);
        left -= took;
        due += took * hearers[node];
      }
    }
    if (!wait_for(settled, [&] { return taken + decided(); })) break;
  }
  loss.uncounted = delivered() - delivered_before - taken;
  for (std::uint32_t sender = 1; sender <= count; ++sender) {
    for (std::uint32_t receiver = 1; receiver <= count; ++receiver) {
      const double likely = of(sender, receiver);
      if (likely < 0) continue;
      ++loss.links;
      const double rare = tail(frames, heard[receiver][sender], likely);
      if (rare < 0.005) ++loss.outside;
      loss.least = std::min(loss.least, rare);
    }
  }
  return loss;
}

std::uint64_t kernel_bytes() {
  std::ifstream file("/proc/meminfo");
  std::uint64_t sum = 0, number = 0;
  for (std::string name, unit; file >> name >> number && std::getline(file, unit);) {
    if (name == "SUnreclaim:" || name == "Percpu:" || name == "KernelStack:") sum += number * 1024;
  }
  return sum;
}

bool kernel_is_at_it() {
  DIR* const all = opendir("/proc");
  bool found = false;
  for (const dirent* one = all == nullptr ? nullptr : readdir(all); one != nullptr && !found; one = readdir(all)) {
    if (one->d_name[0] < '1' || one->d_name[0] > '9') continue;
    const std::string name = read_line(std::string("/proc/") + one->d_name + "/comm");
    found = name.starts_with("kworker/") && name.ends_with("+netns");
  }
  if (all != nullptr) closedir(all);
  return found;
}

}  // namespace shakedown::manet
