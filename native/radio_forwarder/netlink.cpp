#include "netlink.hpp"

#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "common/error.hpp"

namespace shakedown::radio_forwarder {

Handle& Handle::operator=(Handle&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}
Handle::~Handle() {
  if (fd_ >= 0) close(fd_);
}
int Handle::release() { return std::exchange(fd_, -1); }

void Messages::put(const void* data, std::size_t bytes) {
  const auto* const from = static_cast<const std::uint8_t*>(data);
  buffer_.insert(buffer_.end(), from, from + bytes);
  buffer_.resize((buffer_.size() + 3) / 4 * 4);  // NLMSG_ALIGN and RTA_ALIGN
}

std::size_t Messages::begin(std::uint16_t type, std::uint16_t flags) {
  nlmsghdr head{};
  head.nlmsg_type = type;
  head.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | NLM_F_ACK | flags);
  head.nlmsg_seq = ++count_;
  const std::size_t at = buffer_.size();
  put(&head, sizeof head);
  return at;
}

std::size_t Messages::begin_link(int index, std::uint32_t flags) {
  const std::size_t at = begin(RTM_NEWLINK, 0);
  ifinfomsg link{};
  link.ifi_family = AF_UNSPEC;
  link.ifi_index = index;
  link.ifi_flags = link.ifi_change = flags;
  put(&link, sizeof link);
  return at;
}

void Messages::end(std::size_t at) {
  const auto length = static_cast<std::uint32_t>(buffer_.size() - at);
  std::memcpy(buffer_.data() + at + offsetof(nlmsghdr, nlmsg_len), &length, sizeof length);
}

void Messages::attribute(std::uint16_t type, const void* data, std::size_t bytes) {
  const rtattr head{static_cast<std::uint16_t>(sizeof(rtattr) + bytes), type};
  buffer_.insert(buffer_.end(), reinterpret_cast<const std::uint8_t*>(&head),
                 reinterpret_cast<const std::uint8_t*>(&head) + sizeof head);
  put(data, bytes);
}

std::size_t Messages::open_attribute(std::uint16_t type) {
  const std::size_t at = buffer_.size();
  const rtattr head{sizeof(rtattr), static_cast<std::uint16_t>(type | NLA_F_NESTED)};
  put(&head, sizeof head);
  return at;
}

void Messages::close_attribute(std::size_t at) {
  const auto length = static_cast<std::uint16_t>(buffer_.size() - at);
  std::memcpy(buffer_.data() + at + offsetof(rtattr, rta_len), &length, sizeof length);
}

void Messages::set_address(int index, const std::array<std::uint8_t, 6>& mac, int mtu) {
  const std::size_t message = begin_link(index, 0);
  attribute(IFLA_ADDRESS, mac.data(), mac.size());
  const auto bytes = static_cast<std::uint32_t>(mtu);
  attribute(IFLA_MTU, &bytes, sizeof bytes);
  const std::size_t families = open_attribute(IFLA_AF_SPEC);
  const std::size_t ipv6 = open_attribute(AF_INET6);
  constexpr std::uint8_t kNone = IN6_ADDR_GEN_MODE_NONE;
  attribute(IFLA_INET6_ADDR_GEN_MODE, &kNone, sizeof kNone);
  close_attribute(ipv6);
  close_attribute(families);
  end(message);
}

void Messages::set_up(int index) { end(begin_link(index, IFF_UP)); }

void Messages::add_address(int index, const std::vector<std::uint8_t>& address, int prefix) {
  const std::size_t message = begin(RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE);
  ifaddrmsg head{};
  head.ifa_family = address.size() == 4 ? AF_INET : AF_INET6;
  head.ifa_prefixlen = static_cast<std::uint8_t>(prefix);
  head.ifa_flags = address.size() == 4 ? 0 : IFA_F_NODAD;
  head.ifa_index = static_cast<std::uint32_t>(index);
  put(&head, sizeof head);
  attribute(IFA_LOCAL, address.data(), address.size());
  attribute(IFA_ADDRESS, address.data(), address.size());
  end(message);
}

void Messages::carry_out(const std::string& what) {
  const Handle socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  const auto failed = [&](int error) { return cannot(what + ": " + std::strerror(error)); };
  if (socket.fd() < 0) throw failed(errno);
  if (send(socket.fd(), buffer_.data(), buffer_.size(), 0) < 0) throw failed(errno);
  std::array<std::uint8_t, 16384> answer{};
  for (std::uint32_t answered = 0; answered < count_;) {
    const ssize_t got = recv(socket.fd(), answer.data(), answer.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw failed(got < 0 ? errno : EPIPE);
    for (std::size_t at = 0; at + sizeof(nlmsghdr) <= static_cast<std::size_t>(got);) {
      nlmsghdr head{};
      std::memcpy(&head, answer.data() + at, sizeof head);
      if (head.nlmsg_len < sizeof head) throw failed(EBADMSG);
      if (head.nlmsg_type == NLMSG_ERROR) {
        int error = 0;
        std::memcpy(&error, answer.data() + at + sizeof head, sizeof error);
        if (error != 0) throw failed(-error);
        ++answered;
      }
      at += NLMSG_ALIGN(head.nlmsg_len);
    }
  }
}

}  // namespace shakedown::radio_forwarder
