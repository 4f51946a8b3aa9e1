#include "control.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "common/error.hpp"
#include "common/json.hpp"

namespace shakedown::radio_forwarder {
namespace {

constexpr std::size_t kMostLine = 256;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 28;  // 16 million links at once

std::vector<std::string> split(std::string_view line, char at) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin <= line.size();) {
    const auto end = std::min(line.find(at, begin), line.size());
    if (end > begin || at == '\0') words.emplace_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

std::int64_t number(const std::string& word) {
  std::int64_t found = -1;
  const auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), found);
  return error == std::errc{} && rest == word.data() + word.size() ? found : -1;
}

std::string refusal(const std::string& what) { return to_json(Object().add("error", what)); }

}  // namespace

std::int64_t bytes_after(const std::vector<std::string>& words) {
  if (words.empty()) return -1;
  if (words[0] == "links") {
    const std::int64_t links = words.size() == 2 ? number(words[1]) : -1;
    return links < 0 || links > kMostBytes / 16 ? -1 : links * 16;
  }
  if (words[0] == "start") {
    const std::int64_t bytes = words.size() == 3 ? number(words[2]) : -1;
    return bytes > 1 << 16 ? -1 : bytes;
  }
  if (words[0] == "space") return words.size() == 2 ? 0 : -1;
  return words.size() == 1 ? 0 : -1;
}

Control::Control(Forwarder& forwarder, const std::vector<Node>& nodes, const std::string& path)
    : forwarder_(forwarder), nodes_(nodes), path_(path) {
  // It has its name only once it listens: whoever sees it may connect.
  const std::string nameless = path + "+";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (nameless.size() >= sizeof address.sun_path) {
    throw usage("the path of the control socket has " + std::to_string(path.size()) + " bytes: " + path,
                "a folder whose path has fewer: with one more byte, Unix sockets have at most 107");
  }
  std::memcpy(address.sun_path, nameless.data(), nameless.size());
  listener_ = Handle(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const bool bound =
      listener_.fd() >= 0 && bind(listener_.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  const bool named = bound && listen(listener_.fd(), 64) == 0 && link(nameless.c_str(), path.c_str()) == 0;
  const int error = errno;
  if (bound) unlink(nameless.c_str());
  if (!named) {
    throw cannot("listen at " + path + ": " + std::strerror(error),
                 error == EADDRINUSE || error == EEXIST ? "another emulation has this folder: choose another" : "");
  }
}

Control::~Control() { unlink(path_.c_str()); }

void Control::serve(int signals) {
  while (!end_) {
    std::vector<pollfd> watched{{signals, POLLIN, 0}, {listener_.fd(), POLLIN, 0}};
    for (const auto& [fd, client] : clients_) watched.push_back({fd, POLLIN, 0});
    if (poll(watched.data(), watched.size(), -1) < 0 && errno != EINTR) throw cannot(std::strerror(errno));
    if (watched[0].revents != 0) {
      signalfd_siginfo info{};
      while (read(signals, &info, sizeof info) == sizeof info) end_ = end_ || info.ssi_signo != SIGCHLD;
      reap();
    }
    if (watched[1].revents != 0) {
      Handle socket(accept4(listener_.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      const int fd = socket.fd();
      if (fd >= 0) clients_.insert_or_assign(fd, Client{std::move(socket), {}});
    }
    for (std::size_t i = 2; i < watched.size(); ++i) {
      const auto at = clients_.find(watched[i].fd);
      if (watched[i].revents != 0 && !hear(at->second)) clients_.erase(at);
    }
  }
}

bool Control::hear(Client& client) {
  std::array<char, 1 << 16> block{};
  for (;;) {
    const ssize_t got = recv(client.socket.fd(), block.data(), block.size(), 0);
    if (got == 0) return false;
    if (got < 0) return errno == EINTR || errno == EAGAIN ? answer_all(client) : false;
    client.unread.append(block.data(), static_cast<std::size_t>(got));
    if (!answer_all(client)) return false;
  }
}

bool Control::answer_all(Client& client) {
  for (;;) {
    const auto end = client.unread.find('\n');
    if (end == std::string::npos) return client.unread.size() <= kMostLine;
    const auto words = split(std::string_view(client.unread).substr(0, end), ' ');
    const std::int64_t bytes = end > kMostLine ? -1 : bytes_after(words);
    std::string reply;
    if (bytes < 0) {
      reply = refusal("not a command: " + client.unread.substr(0, std::min<std::size_t>(end, 80)));
    } else {
      const std::size_t whole = end + 1 + static_cast<std::size_t>(bytes);
      if (client.unread.size() < whole) return true;
      reply = answer(words, std::string_view(client.unread).substr(end + 1, static_cast<std::size_t>(bytes)));
      client.unread.erase(0, whole);
    }
    reply += '\n';
    for (std::size_t at = 0; at < reply.size();) {  // whoever asks reads: for at most 5 s it is waited for
      const ssize_t sent = ::send(client.socket.fd(), reply.data() + at, reply.size() - at, MSG_NOSIGNAL);
      pollfd ready{client.socket.fd(), POLLOUT, 0};
      if (sent > 0)
        at += static_cast<std::size_t>(sent);
      else if (errno != EINTR && (errno != EAGAIN || poll(&ready, 1, 5000) <= 0))
        return false;
    }
    if (bytes < 0) return false;  // what follows cannot be told from a command
  }
}

std::string Control::answer(const std::vector<std::string>& words, std::string_view bytes) {
  try {
    if (words[0] == "links") return change_links(bytes);
    if (words[0] == "counts") return to_json(forwarder_.totals().json().add("links", forwarder_.links().count()));
    if (words[0] == "traffic") return traffic();
    if (words[0] == "start") return start(words, bytes);
    if (words[0] == "space") return to_json(Object().add("fd", space(words[1])));
    if (words[0] == "end") {
      end_ = true;
      return "{}";
    }
    return refusal("not a command: " + words[0]);
  } catch (const Error& error) {
    return refusal(error.what());
  }
}

std::string Control::change_links(std::string_view bytes) {
  std::vector<LinkChange> changes(bytes.size() / sizeof(LinkChange));
  if (!changes.empty()) std::memcpy(changes.data(), bytes.data(), changes.size() * sizeof(LinkChange));
  forwarder_.links().change(changes);
  return to_json(Object().add("changed", changes.size()));
}

std::string Control::traffic() const {
  std::vector<std::uint64_t> sent, received;
  for (std::uint32_t node = 1; node < nodes_.size(); ++node) {
    const auto counted = forwarder_.traffic(node);
    sent.push_back(counted.sent);
    received.push_back(counted.received);
  }
  return to_json(Object().add("sent", sent).add("received", received));
}

int Control::space(const std::string& word) const {
  const std::int64_t node = number(word);
  if (node < 1 || node >= std::ssize(nodes_)) throw usage("there is no node " + word);
  const int fd = nodes_[static_cast<std::size_t>(node)].space.fd();
  if (fd < 0) throw usage("node " + word + " is on another host");
  return fd;
}

std::string Control::start(const std::vector<std::string>& words, std::string_view bytes) {
  const auto argv = split(bytes, '\0');
  if (argv.size() < 2 || argv[1].empty()) throw usage("start: no command");
  const int where = words[1] == "0" ? -1 : space(words[1]);
  return to_json(Object().add("pid", start_process(where, argv[0], {argv.begin() + 1, argv.end()})));
}

void Control::reap() {
  while (waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

}  // namespace shakedown::radio_forwarder
