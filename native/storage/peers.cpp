#include "peers.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "common/clock.hpp"

namespace shakedown::storage {
namespace {

constexpr std::size_t kTokenBytes = 32;  // in hexadecimal digits
constexpr std::uint32_t kMostText = 64U << 20U;
constexpr int kNapMs = 20;

std::string fresh_token() {
  std::array<std::uint8_t, kTokenBytes / 2> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw cannot("the kernel gave no random numbers");
  }
  std::string text;
  for (const auto byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

void put(int fd, const void* data, std::size_t bytes) {
  const auto* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t done = send(fd, at, bytes, MSG_NOSIGNAL);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) throw cannot("another process of the job has gone", "its own message says why");
    at += done;
    bytes -= static_cast<std::size_t>(done);
  }
}

void get(int fd, void* data, std::size_t bytes) {
  auto* at = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t done = recv(fd, at, bytes, 0);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) throw cannot("another process of the job has gone", "its own message says why");
    at += done;
    bytes -= static_cast<std::size_t>(done);
  }
}

void put_text(int fd, const std::string& text) {
  const auto length = static_cast<std::uint32_t>(text.size());
  put(fd, &length, sizeof length);
  put(fd, text.data(), text.size());
}

std::string get_text(int fd) {
  std::uint32_t length = 0;
  get(fd, &length, sizeof length);
  if (length > kMostText) throw cannot("another process of the job sent nonsense");
  std::string text(length, '\0');
  get(fd, text.data(), length);
  return text;
}

void at_once(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/// This host's addresses, those that other hosts can reach first.
std::vector<std::string> own_addresses() {
  std::vector<std::string> outer;
  std::vector<std::string> inner;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return {"127.0.0.1"};
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_UP) == 0) continue;
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (one->ifa_addr->sa_family == AF_INET) {
      inet_ntop(AF_INET, &reinterpret_cast<sockaddr_in*>(one->ifa_addr)->sin_addr, text.data(), text.size());
    } else if (one->ifa_addr->sa_family == AF_INET6) {
      const auto* address = reinterpret_cast<sockaddr_in6*>(one->ifa_addr);
      if (IN6_IS_ADDR_LINKLOCAL(&address->sin6_addr)) continue;
      inet_ntop(AF_INET6, &address->sin6_addr, text.data(), text.size());
    } else {
      continue;
    }
    ((one->ifa_flags & IFF_LOOPBACK) != 0 ? inner : outer).emplace_back(text.data());
  }
  freeifaddrs(all);
  outer.insert(outer.end(), inner.begin(), inner.end());
  return outer;
}

/// Listens on any address of both families, where there are both.
int listener(std::uint16_t& port) {
  for (const int family : {AF_INET6, AF_INET}) {
    const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) continue;
    sockaddr_storage address{};
    socklen_t length = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    address.ss_family = static_cast<sa_family_t>(family);
    const int off = 0;
    if (family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(fd, reinterpret_cast<sockaddr*>(&address), length) == 0 && listen(fd, SOMAXCONN) == 0 &&
        getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0) {
      port = ntohs(family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
                                      : reinterpret_cast<sockaddr_in*>(&address)->sin_port);
      return fd;
    }
    close(fd);
  }
  throw cannot(std::string("no port can be listened to: ") + std::strerror(errno));
}

/// Written beside and renamed, so that nobody reads half of it; for its owner alone, as it holds the token.
void announce(const std::string& meeting, const std::string& text) {
  const std::string beside = meeting + ".new";
  const bool free = unlink(beside.c_str()) == 0 || errno == ENOENT;
  const int fd = free ? open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
  const bool written =
      fd >= 0 && write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && fsync(fd) == 0;
  if (fd >= 0) close(fd);
  if (!written || rename(beside.c_str(), meeting.c_str()) != 0) {
    throw cannot("the other processes cannot be given the place to meet (" + meeting + "): " + std::strerror(errno),
                 "--rendezvous names a file that all of them can see");
  }
}

int reach(const std::string& address, std::uint16_t port, int limit_ms) {
  const bool six = address.find(':') != std::string::npos;
  sockaddr_storage where{};
  socklen_t length = 0;
  if (six) {
    auto* to = reinterpret_cast<sockaddr_in6*>(&where);
    to->sin6_family = AF_INET6;
    to->sin6_port = htons(port);
    if (inet_pton(AF_INET6, address.c_str(), &to->sin6_addr) != 1) return -1;
    length = sizeof *to;
  } else {
    auto* to = reinterpret_cast<sockaddr_in*>(&where);
    to->sin_family = AF_INET;
    to->sin_port = htons(port);
    if (inet_pton(AF_INET, address.c_str(), &to->sin_addr) != 1) return -1;
    length = sizeof *to;
  }
  const int fd = socket(six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  int failed = 1;
  if (connect(fd, reinterpret_cast<sockaddr*>(&where), length) == 0) {
    failed = 0;
  } else if (errno == EINPROGRESS) {
    pollfd one{fd, POLLOUT, 0};
    socklen_t size = sizeof failed;
    if (poll(&one, 1, limit_ms) == 1) getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &size);
  }
  if (failed != 0) {
    close(fd);
    return -1;
  }
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  at_once(fd);
  return fd;
}

void limit_waiting(int fd, int seconds) {
  const timeval limit{seconds, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

/// Who is at the door: a rank that knows the token, and its connection; -1 for anyone else.
std::pair<int, int> admit(int door, const std::string& token) {
  const int fd = accept4(door, nullptr, nullptr, SOCK_CLOEXEC);
  if (fd < 0) return {-1, -1};
  limit_waiting(fd, 2);
  std::array<char, kTokenBytes> said{};
  std::int32_t rank = -1;
  try {
    get(fd, said.data(), said.size());
    get(fd, &rank, sizeof rank);
  } catch (const Error&) {
    rank = -1;
  }
  if (rank < 0 || std::string(said.data(), said.size()) != token) {
    close(fd);
    return {-1, -1};
  }
  limit_waiting(fd, 0);
  at_once(fd);
  return {rank, fd};
}

/// Rank 0: let the others in, each with the token and a rank of its own.
std::vector<int> receive_all(int size, const std::string& meeting, double end_s) {
  std::uint16_t port = 0;
  const int door = listener(port);
  const std::string token = fresh_token();
  std::ostringstream text;
  text << token << ' ' << port;
  for (const auto& one : own_addresses()) text << ' ' << one;
  text << '\n';
  announce(meeting, text.str());
  std::vector<int> links(static_cast<std::size_t>(size), -1);
  int missing = size - 1;
  for (double left = end_s - now_s(); missing > 0 && left > 0; left = end_s - now_s()) {
    pollfd one{door, POLLIN, 0};
    if (poll(&one, 1, static_cast<int>(std::min(left, 1.0) * 1000) + 1) < 1) continue;
    const auto [rank, fd] = admit(door, token);
    if (fd < 0) continue;
    if (rank < 1 || rank >= size || links[static_cast<std::size_t>(rank)] >= 0) {
      close(fd);
      continue;
    }
    put(fd, "y", 1);
    links[static_cast<std::size_t>(rank)] = fd;
    --missing;
  }
  close(door);
  unlink(meeting.c_str());
  links.erase(links.begin());
  if (missing == 0) return links;
  for (const int fd : links) {
    if (fd >= 0) close(fd);
  }
  throw cannot(std::to_string(missing) + " of " + std::to_string(size) + " processes of the job did not come",
               "each must see the file " + meeting + " and reach this host by TCP");
}

int come(int rank, const std::string& meeting, double end_s) {
  while (now_s() < end_s) {
    std::ifstream file(meeting);  // of an earlier run, perhaps: then nobody answers, or not to that token
    std::string token;
    std::uint16_t port = 0;
    if (file >> token >> port && token.size() == kTokenBytes) {
      for (std::string address; file >> address;) {
        const int fd = reach(address, port, 500);
        if (fd < 0) continue;
        const std::int32_t mine = rank;
        char yes = 0;
        try {
          limit_waiting(fd, 2);
          put(fd, token.data(), token.size());
          put(fd, &mine, sizeof mine);
          get(fd, &yes, 1);
          limit_waiting(fd, 0);
          return fd;
        } catch (const Error&) {
          close(fd);
        }
      }
    }
    poll(nullptr, 0, kNapMs);
  }
  throw cannot("rank 0 was not found by way of " + meeting,
               "--rendezvous names a file that all processes see; TCP must pass between the hosts");
}

}  // namespace

int launched_rank() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MPI_RANKID", "SLURM_PROCID",
                           "FLUX_TASK_RANK", "PALS_RANKID", "JSM_NAMESPACE_RANK"}) {
    if (const char* word = std::getenv(name); word != nullptr && *word != '\0') return std::atoi(word);
  }
  return 0;
}

Peers::Peers(int rank, int size, const std::string& meeting, double wait_s) : rank_(rank), size_(size) {
  if (rank < 0 || rank >= size) {
    throw usage("this is rank " + std::to_string(rank) + " of a job of " + std::to_string(size),
                "--ranks says how many processes the launcher starts");
  }
  if (size == 1) return;
  const double end_s = now_s() + wait_s;
  if (rank == 0) {
    links_ = receive_all(size, meeting, end_s);
  } else {
    links_ = {come(rank, meeting, end_s)};
  }
}

Peers::~Peers() {
  for (const int fd : links_) close(fd);
}

Peers::Peers(Peers&& other) noexcept { *this = std::move(other); }

Peers& Peers::operator=(Peers&& other) noexcept {
  std::swap(rank_, other.rank_);
  std::swap(size_, other.size_);
  std::swap(links_, other.links_);
  return *this;
}

std::vector<std::string> Peers::gather(const std::string& mine) {
  if (rank_ > 0) {
    put_text(links_[0], mine);
    return {};
  }
  std::vector<std::string> all = {mine};
  all.reserve(static_cast<std::size_t>(size_));
  for (const int fd : links_) all.push_back(get_text(fd));
  return all;
}

std::string Peers::hand_out(const std::string& mine) {
  if (rank_ > 0) return get_text(links_[0]);
  for (const int fd : links_) put_text(fd, mine);
  return mine;
}

std::vector<std::string> Peers::share(const std::string& mine) {
  std::vector<std::string> all = gather(mine);
  if (size_ == 1) return all;
  // As one text, each part with its length before it: rank 0 sends it once to each.
  std::string whole;
  for (const auto& text : all) whole += std::to_string(text.size()) + ' ' + text;
  whole = hand_out(whole);
  if (rank_ == 0) return all;
  for (std::size_t at = 0; at < whole.size();) {
    const std::size_t space = whole.find(' ', at);
    const auto length = static_cast<std::size_t>(std::atoll(whole.c_str() + at));
    all.push_back(whole.substr(space + 1, length));
    at = space + 1 + length;
  }
  return all;
}

double Peers::most(double mine) {
  const auto bytes_of = [](double number) {
    std::string bytes(sizeof number, '\0');
    std::memcpy(bytes.data(), &number, sizeof number);
    return bytes;
  };
  const auto number_of = [](const std::string& bytes) {
    double number = 0;
    if (bytes.size() == sizeof number) std::memcpy(&number, bytes.data(), sizeof number);
    return number;
  };
  double found = mine;
  for (const auto& text : gather(bytes_of(mine))) found = std::max(found, number_of(text));
  return number_of(hand_out(bytes_of(found)));
}

void Peers::agree(int code, const std::string& text) {
  std::string worst = "0 ";
  for (const auto& said : gather(std::to_string(code) + ' ' + text)) {
    if (std::atoi(worst.c_str()) == kOk) worst = said;
  }
  const std::string said = hand_out(worst);
  const int theirs = std::atoi(said.c_str());
  if (theirs != kOk) throw Agreed(static_cast<ExitCode>(theirs), said.substr(said.find(' ') + 1));
}

}  // namespace shakedown::storage
