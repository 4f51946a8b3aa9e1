#include "transport.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <list>
#include <stdexcept>

#include "files.hpp"

namespace shakedown::checkpoint {
namespace {

constexpr std::uint8_t kData = 1, kGaveUp = 2, kRequest = 3, kReply = 4, kHello = 5;
constexpr std::size_t kHeadBytes = 1 + 8 + 8 + 8;         // kind, job, step, length
constexpr std::size_t kMostInbox = std::size_t{4} << 20;  // of one peer; beyond it the sender waits
constexpr std::uint64_t kMostMessage = std::uint64_t{1} << 30;
constexpr std::size_t kMostSpare = 16;  // what three peers send ahead

std::string trouble(const std::string& action) { return "cannot " + action + ": " + words_of(-errno); }

void prepare_socket(int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/// The address by which others reach this host.
sockaddr_in6 own_address() {
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  sockaddr_in6 address = {};
  auto* plain = reinterpret_cast<sockaddr_in*>(&address);
  plain->sin_family = AF_INET;
  plain->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::getaddrinfo(name, nullptr, &hints, &found) != 0) return address;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    if (one->ai_family != AF_INET && one->ai_family != AF_INET6) continue;
    std::memcpy(&address, one->ai_addr, one->ai_addrlen);
    break;
  }
  ::freeaddrinfo(found);
  return address;
}

sockaddr_in6 parsed_address(const std::string& ip) {
  sockaddr_in6 address = {};
  auto* plain = reinterpret_cast<sockaddr_in*>(&address);
  if (::inet_pton(AF_INET, ip.c_str(), &plain->sin_addr) == 1) {
    plain->sin_family = AF_INET;
  } else if (::inet_pton(AF_INET6, ip.c_str(), &address.sin6_addr) == 1) {
    address.sin6_family = AF_INET6;
  } else {
    throw std::runtime_error("'" + ip + "' is not a numeric IP address");
  }
  return address;
}

socklen_t length_of(const sockaddr_in6& address) {
  return address.sin6_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
}

}  // namespace

Payload Payload::of(Bytes bytes) {
  auto owned = std::make_shared<const Bytes>(std::move(bytes));
  return {owned, {owned->data(), owned->size()}};
}

struct Transport::Message {
  std::uint64_t job = 0;
  std::uint64_t step = 0;
  Bytes bytes;
};

/// A connection that this process opened, to send. One message after the other: head, then payload.
struct Transport::Outgoing {
  int socket = -1;
  struct Part {
    Bytes head;
    Payload payload;
  };
  std::deque<Part> parts;
  std::size_t done = 0;  // of the first part
};

/// A connection that another opened.
struct Transport::Incoming {
  int socket = -1;
  int from = -1;  // unknown until its hello
  Bytes head;
  std::uint8_t kind = 0;
  Message message;
  std::uint64_t length = 0;
  std::uint64_t filled = 0;  // of its bytes
  bool over = false;
};

struct Transport::Peer {
  Address address = {};
  std::unique_ptr<Outgoing> out;
  std::deque<Message> inbox;
  std::size_t inbox_bytes = 0;
  std::deque<Message> replies;
  std::uint64_t gave_up = 0;  // the latest job
  bool gone = false;          // its connection ended
};

struct Transport::State {
  int listener = -1;
  int waker = -1;
  int rank = 0;
  std::uint64_t job = 0;
  std::uint64_t questions = 0;
  RunId key = {};
  std::vector<Peer> peers;
  std::list<Incoming> incoming;
  std::vector<Bytes> spare;
  std::atomic<bool> cancelled = false;
};

Transport::Transport(const std::string& numeric_ip) : state_(std::make_unique<State>()) {
  sockaddr_in6 known = numeric_ip.empty() ? own_address() : parsed_address(numeric_ip);
  sockaddr_in6 bound = known;
  if (numeric_ip.empty()) {
    const auto family = known.sin6_family;
    bound = {};
    bound.sin6_family = family;  // any address of this host
  }
  state_->listener = ::socket(known.sin6_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (state_->listener < 0) throw std::runtime_error(trouble("open a socket"));
  const int on = 1;
  ::setsockopt(state_->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  socklen_t length = sizeof bound;
  if (::bind(state_->listener, reinterpret_cast<sockaddr*>(&bound), length_of(bound)) != 0 ||
      ::listen(state_->listener, SOMAXCONN) != 0 ||
      ::getsockname(state_->listener, reinterpret_cast<sockaddr*>(&bound), &length) != 0) {
    const std::string why = trouble("listen for the other ranks");
    ::close(state_->listener);
    throw std::runtime_error(why);
  }
  known.sin6_port = bound.sin6_port;  // at the same place in both families
  std::memcpy(address_.data(), &known, sizeof known);
  state_->waker = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (state_->waker < 0) {
    const std::string why = trouble("make an event");
    ::close(state_->listener);
    throw std::runtime_error(why);
  }
}

Transport::~Transport() {
  for (const Peer& peer : state_->peers) {
    if (peer.out != nullptr) ::close(peer.out->socket);
  }
  for (const Incoming& connection : state_->incoming) ::close(connection.socket);
  ::close(state_->listener);
  ::close(state_->waker);
}

void Transport::meet(int rank, std::vector<Address> peers, const RunId& key) {
  state_->rank = rank;
  state_->key = key;
  state_->peers.resize(peers.size());
  for (std::size_t at = 0; at < peers.size(); ++at) state_->peers[at].address = peers[at];
}

void Transport::begin(std::uint64_t job) {
  state_->job = job;
  for (Peer& peer : state_->peers) {
    std::erase_if(peer.inbox, [&](const Message& message) { return message.job < job; });
    peer.inbox_bytes = 0;
    for (const Message& message : peer.inbox) peer.inbox_bytes += message.bytes.size();
    peer.replies.clear();
  }
}

void Transport::give_up(std::uint64_t job) {
  for (Peer& peer : state_->peers) {
    if (peer.out != nullptr) queue(*peer.out, kGaveUp, job, 0, {});
  }
}

void Transport::queue(Outgoing& connection, std::uint8_t kind, std::uint64_t job, std::uint64_t step, Payload payload) {
  Packer head;
  head.u8(kind);
  head.u64(job);
  head.u64(step);
  head.u64(payload.bytes.size());
  connection.parts.push_back({head.take(), std::move(payload)});
}

/// The connection to a peer, made if need be: it may still be under way, then what is queued waits for it.
Transport::Outgoing* Transport::connected(int to) {
  Peer& peer = state_->peers[static_cast<std::size_t>(to)];
  if (peer.out != nullptr) return peer.out.get();
  sockaddr_in6 address = {};
  std::memcpy(&address, peer.address.data(), sizeof address);
  const int socket = ::socket(address.sin6_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) return nullptr;
  prepare_socket(socket);
  if (::connect(socket, reinterpret_cast<sockaddr*>(&address), length_of(address)) != 0 && errno != EINPROGRESS) {
    ::close(socket);
    return nullptr;
  }
  peer.out = std::make_unique<Outgoing>();
  peer.out->socket = socket;
  Packer hello;
  hello.raw(state_->key);
  hello.u32(static_cast<std::uint32_t>(state_->rank));
  queue(*peer.out, kHello, 0, 0, Payload::of(hello.take()));
  return peer.out.get();
}

bool Transport::waits(Deadline deadline) const {
  return !state_->cancelled.load(std::memory_order_acquire) && Clock::now() < deadline;
}

bool Transport::flushed(int to, Deadline deadline) {
  const Peer& peer = state_->peers[static_cast<std::size_t>(to)];
  while (peer.out != nullptr && !peer.out->parts.empty()) {
    if (!waits(deadline)) {
      // Half a message cannot be taken back: the connection ends with it.
      ::close(peer.out->socket);
      state_->peers[static_cast<std::size_t>(to)].out.reset();
      return false;
    }
    turn(deadline);
  }
  return peer.out != nullptr;
}

bool Transport::send(int to, std::uint64_t job, std::uint64_t step, Payload payload, Deadline deadline) {
  Outgoing* connection = connected(to);
  if (connection == nullptr) return false;
  queue(*connection, kData, job, step, std::move(payload));
  return flushed(to, deadline);
}

std::optional<Bytes> Transport::receive(int from, std::uint64_t job, std::uint64_t step, Deadline deadline) {
  Peer& peer = state_->peers[static_cast<std::size_t>(from)];
  while (true) {
    for (auto at = peer.inbox.begin(); at != peer.inbox.end(); ++at) {
      if (at->job > job) return std::nullopt;
      if (at->job != job || at->step != step) continue;
      Bytes bytes = std::move(at->bytes);
      peer.inbox_bytes -= bytes.size();
      peer.inbox.erase(at);
      return bytes;
    }
    if (peer.gone || peer.gave_up >= job || !waits(deadline)) return std::nullopt;
    turn(deadline);
  }
}

void Transport::recycle(Bytes&& bytes) {
  if (state_->spare.size() < kMostSpare && bytes.size() == kBlockBytes) state_->spare.push_back(std::move(bytes));
}

std::optional<Bytes> Transport::request(int to, Bytes question, Deadline deadline) {
  Outgoing* connection = connected(to);
  if (connection == nullptr) return std::nullopt;
  const std::uint64_t number = ++state_->questions;
  queue(*connection, kRequest, state_->job, number, Payload::of(std::move(question)));
  Peer& peer = state_->peers[static_cast<std::size_t>(to)];
  if (!flushed(to, deadline)) return std::nullopt;
  while (true) {
    for (Message& reply : peer.replies) {
      if (reply.step != number) continue;
      Bytes bytes = std::move(reply.bytes);
      peer.replies.clear();
      return bytes;
    }
    if (peer.gone || !waits(deadline)) return std::nullopt;
    turn(deadline);
  }
}

void Transport::idle(Deadline deadline) {
  while (waits(deadline)) {
    if (turn(deadline)) return;
  }
}

void Transport::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(state_->waker, &one, sizeof one);
}

void Transport::cancel() {
  state_->cancelled.store(true, std::memory_order_release);
  wake();
}

/// Waits for the network once and does what can be done. True where wake() was called.
bool Transport::turn(Deadline deadline) {
  std::vector<pollfd> ready = {{state_->listener, POLLIN, 0}, {state_->waker, POLLIN, 0}};
  std::vector<Incoming*> readers;
  for (Incoming& connection : state_->incoming) {
    const bool full =
        connection.from >= 0 && state_->peers[static_cast<std::size_t>(connection.from)].inbox_bytes > kMostInbox;
    if (full) continue;
    ready.push_back({connection.socket, POLLIN, 0});
    readers.push_back(&connection);
  }
  std::vector<Peer*> writers;
  for (Peer& peer : state_->peers) {
    if (peer.out == nullptr || peer.out->parts.empty()) continue;
    ready.push_back({peer.out->socket, POLLOUT, 0});
    writers.push_back(&peer);
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  const int wait = static_cast<int>(std::clamp<long long>(left, 0, 1000));
  if (::poll(ready.data(), ready.size(), wait) <= 0) return false;
  std::size_t at = 2;
  for (Incoming* connection : readers) {
    if (ready[at++].revents != 0) read_from(*connection);
  }
  for (Peer* peer : writers) {
    if (ready[at++].revents == 0) continue;
    write_to(*peer->out);
    if (peer->out->socket < 0) peer->out.reset();
  }
  state_->incoming.remove_if([](const Incoming& connection) { return connection.over; });
  if (ready[0].revents != 0) accept_all();
  if (ready[1].revents == 0) return false;
  std::uint64_t count = 0;
  return ::read(state_->waker, &count, sizeof count) > 0;
}

void Transport::accept_all() {
  while (true) {
    const int socket = ::accept4(state_->listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (socket < 0) return;
    prepare_socket(socket);
    state_->incoming.emplace_back();
    state_->incoming.back().socket = socket;
  }
}

void Transport::read_from(Incoming& connection) {
  const auto end = [&] {
    ::close(connection.socket);
    connection.over = true;
    if (connection.from >= 0) state_->peers[static_cast<std::size_t>(connection.from)].gone = true;
  };
  // One head or one part of a payload each turn: no peer keeps the others waiting.
  if (connection.head.size() < kHeadBytes) {
    std::uint8_t head[kHeadBytes];
    const ssize_t got = ::recv(connection.socket, head, kHeadBytes - connection.head.size(), 0);
    if (got <= 0) {
      if (got == 0 || (errno != EAGAIN && errno != EINTR)) end();
      return;
    }
    connection.head.insert(connection.head.end(), head, head + got);
    if (connection.head.size() < kHeadBytes) return;
    Unpacker from(connection.head);
    connection.kind = from.u8();
    connection.message.job = from.u64();
    connection.message.step = from.u64();
    connection.length = from.u64();
    // Whoever has not shown the key may send a hello only.
    const bool known = connection.from >= 0 || (connection.kind == kHello && connection.length == sizeof(RunId) + 4);
    if (!known || connection.length > kMostMessage) return end();
  } else {
    Bytes& bytes = connection.message.bytes;
    if (bytes.empty() && !state_->spare.empty()) {
      bytes = std::move(state_->spare.back());
      state_->spare.pop_back();
    }
    // Block by block, whatever length was announced.
    if (connection.filled == 0 || connection.filled == bytes.size()) {
      bytes.resize(std::min(connection.length, connection.filled + kBlockBytes));
    }
    const ssize_t got =
        ::recv(connection.socket, bytes.data() + connection.filled, bytes.size() - connection.filled, 0);
    if (got <= 0) {
      if (got == 0 || (errno != EAGAIN && errno != EINTR)) end();
      return;
    }
    connection.filled += static_cast<std::uint64_t>(got);
  }
  if (connection.filled < connection.length) return;
  arrived(connection);
  connection.head.clear();
  connection.message = {};
  connection.filled = 0;
  if (connection.over) ::close(connection.socket);
}

void Transport::arrived(Incoming& connection) {
  Message& message = connection.message;
  if (connection.kind == kHello) {
    Unpacker from(message.bytes);
    RunId key = {};
    from.raw(key);
    const int rank = from.number();
    const bool ours = from.sound() && key == state_->key && static_cast<std::size_t>(rank) < state_->peers.size();
    if (!ours || connection.from >= 0) {
      connection.over = true;
      return;
    }
    connection.from = rank;
    state_->peers[static_cast<std::size_t>(rank)].gone = false;
    return;
  }
  Peer& peer = state_->peers[static_cast<std::size_t>(connection.from)];
  if (connection.kind == kGaveUp) {
    peer.gave_up = std::max(peer.gave_up, message.job);
  } else if (connection.kind == kRequest) {
    Bytes answer = handler_ ? handler_(message.bytes) : Bytes();
    if (Outgoing* back = connected(connection.from); back != nullptr) {
      queue(*back, kReply, message.job, message.step, Payload::of(std::move(answer)));
    }
  } else if (connection.kind == kReply) {
    peer.replies.push_back(std::move(message));
  } else if (message.job >= state_->job) {
    peer.inbox_bytes += message.bytes.size();
    peer.inbox.push_back(std::move(message));
  }
}

void Transport::write_to(Outgoing& connection) {
  while (!connection.parts.empty()) {
    const Outgoing::Part& part = connection.parts.front();
    const std::size_t head = part.head.size();
    const bool in_head = connection.done < head;
    const std::uint8_t* from =
        in_head ? part.head.data() + connection.done : part.payload.bytes.data() + (connection.done - head);
    const std::size_t left = in_head ? head - connection.done : head + part.payload.bytes.size() - connection.done;
    const ssize_t sent = left == 0 ? 0 : ::send(connection.socket, from, left, MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno == EAGAIN || errno == EINTR) return;
      ::close(connection.socket);
      connection.socket = -1;
      return;
    }
    connection.done += static_cast<std::size_t>(sent);
    if (connection.done < head + part.payload.bytes.size()) continue;
    connection.parts.pop_front();
    connection.done = 0;
  }
}

}  // namespace shakedown::checkpoint
