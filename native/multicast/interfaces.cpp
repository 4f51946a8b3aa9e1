#include "interfaces.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

#include "common/error.hpp"

namespace shakedown::multicast {
namespace {

double number_in(const std::string& path) {
  double value = 0;
  std::ifstream file(path);
  file >> value;  // refused where the interface has no speed
  return file ? value : 0;
}

/// Asked of the kernel: below /sys may be the interfaces of another network namespace.
int mtu_of(const std::string& name) {
  ifreq request{};
  std::copy_n(name.begin(), std::min(name.size(), sizeof request.ifr_name - 1), request.ifr_name);
  const int door = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const int failed = door < 0 ? -1 : ioctl(door, SIOCGIFMTU, &request);
  if (door >= 0) close(door);
  return failed == 0 ? request.ifr_mtu : 0;
}

int bits_of(const std::uint8_t* mask, std::size_t bytes) {
  int bits = 0;
  for (std::size_t i = 0; i < bytes; ++i) bits += std::popcount(mask[i]);
  return bits;
}

std::string show(Family family, const std::array<std::uint8_t, 16>& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(family == Family::ipv4 ? AF_INET : AF_INET6, address.data(), text.data(), text.size());
  return text.data();
}

bool parse(const std::string& word, Family family, std::array<std::uint8_t, 16>& address) {
  return inet_pton(family == Family::ipv4 ? AF_INET : AF_INET6, word.c_str(), address.data()) == 1;
}

std::array<std::uint8_t, 16> masked(std::array<std::uint8_t, 16> address, int prefix) {
  for (int i = 0; i < 16; ++i) {
    const int kept = std::clamp(prefix - 8 * i, 0, 8);
    auto& byte = address[static_cast<std::size_t>(i)];
    byte = static_cast<std::uint8_t>(byte & (0xff00 >> kept));
  }
  return address;
}

/// What one host has, for an error.
std::string listed(const std::vector<Interface>& interfaces, Family family) {
  std::string text;
  for (const auto& one : interfaces) {
    if (one.family == family) text += (text.empty() ? "" : ", ") + one.name + ' ' + one.text();
  }
  return text.empty() ? std::string("no ") + name_of(family) + " address" : text;
}

Error none(const std::string& host, const std::vector<Interface>& has, Family family, const std::string& why) {
  return cannot(host + ": " + why + " (it has " + listed(has, family) + ")",
                "name an interface (eth1) or a network (10.77.0.0/24) with --interface, or leave that family out");
}

/// The best address among those of one host that `fits` takes: none that is link-local where there is another.
template <class Fits>
const Interface* best(const std::vector<Interface>& interfaces, Family family, Fits&& fits) {
  const Interface* found = nullptr;
  for (const auto& one : interfaces) {
    if (one.family != family || !fits(one)) continue;
    if (found == nullptr || (found->link_local() && !one.link_local())) found = &one;
  }
  return found;
}

/// By name or network, on every rank.
std::vector<Interface> asked_for(const std::vector<std::string>& hosts,
                                 const std::vector<std::vector<Interface>>& found, Family family,
                                 const std::string& asked) {
  std::array<std::uint8_t, 16> network{};
  const auto slash = asked.find('/');
  int prefix = -1;
  if (slash != std::string::npos) {
    const std::string bits = asked.substr(slash + 1);
    const int most = family == Family::ipv4 ? 32 : 128;
    if (bits.empty() || bits.size() > 3 || bits.find_first_not_of("0123456789") != std::string::npos ||
        std::stoi(bits) > most || !parse(asked.substr(0, slash), family, network)) {
      throw usage("--interface '" + asked + "' is not a network of " + name_of(family),
                  "such as 10.77.0.0/24 or fd77::/64; a name fits both families");
    }
    prefix = std::stoi(bits);
    network = masked(network, prefix);
  }
  std::vector<Interface> chosen;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const Interface* one = best(found[i], family, [&](const Interface& each) {
      return prefix < 0 ? each.name == asked : masked(each.address, prefix) == network;
    });
    if (one == nullptr) {
      throw none(hosts[i], found[i], family,
                 (prefix < 0 ? "no interface " : "no address in ") + asked + " that is up, with an address of " +
                     name_of(family));
    }
    chosen.push_back(*one);
  }
  return chosen;
}

std::vector<Interface> within_one_host(const std::vector<std::string>& hosts,
                                       const std::vector<std::vector<Interface>>& found, Family family,
                                       bool loopback_works) {
  const Interface* one = nullptr;
  if (loopback_works) one = best(found[0], family, [](const Interface& each) { return each.loopback; });
  if (one == nullptr) {
    one = best(found[0], family, [](const Interface& each) { return each.multicast && !each.loopback; });
  }
  if (one == nullptr) {
    throw none(hosts[0], found[0], family,
               std::string("no interface takes multicast of ") + name_of(family) + ", nor does the loopback");
  }
  return std::vector<Interface>(hosts.size(), *one);
}

/// The fastest network on which every host has an address that no other host has (a bridge for containers has the same
/// one everywhere, and leads nowhere).
std::vector<Interface> in_common(const std::vector<std::string>& hosts,
                                 const std::vector<std::vector<Interface>>& found, Family family) {
  std::vector<Interface> chosen;
  for (const auto& first : found[0]) {
    if (first.family != family || first.loopback || first.link_local() || !first.multicast || !first.running) continue;
    std::vector<Interface> candidate;
    std::set<std::pair<std::string, std::string>> places;
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      const Interface* one = best(found[i], family, [&](const Interface& each) {
        return each.network() == first.network() && each.multicast && each.running;
      });
      if (one == nullptr) break;
      places.insert({one->text(), hosts[i]});
      candidate.push_back(*one);
    }
    std::set<std::string> addresses;
    for (const auto& place : places) addresses.insert(place.first);
    if (candidate.size() != hosts.size() || addresses.size() != places.size()) continue;
    if (chosen.empty() || first.speed_bit_s > chosen[0].speed_bit_s) chosen = candidate;
  }
  if (chosen.empty()) {
    throw none(hosts[0], found[0], family,
               std::string("the hosts have no network of ") + name_of(family) + " in common, each at its own address");
  }
  return chosen;
}

}  // namespace

std::string Interface::text() const { return show(family, address) + '/' + std::to_string(prefix); }

std::string Interface::network() const { return show(family, masked(address, prefix)) + '/' + std::to_string(prefix); }

bool Interface::link_local() const {
  if (family == Family::ipv4) return address[0] == 169 && address[1] == 254;
  return address[0] == 0xfe && (address[1] & 0xc0) == 0x80;
}

std::vector<Interface> list_interfaces() {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) {
    throw cannot(std::string("the interfaces cannot be listed: ") + std::strerror(errno));
  }
  std::vector<Interface> found;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_netmask == nullptr || (one->ifa_flags & IFF_UP) == 0) continue;
    const int family = one->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    Interface made;
    made.name = one->ifa_name;
    made.index = if_nametoindex(one->ifa_name);
    made.family = family == AF_INET ? Family::ipv4 : Family::ipv6;
    if (family == AF_INET) {
      sockaddr_in address{};
      sockaddr_in mask{};
      std::memcpy(&address, one->ifa_addr, sizeof address);
      std::memcpy(&mask, one->ifa_netmask, sizeof mask);
      std::memcpy(made.address.data(), &address.sin_addr, 4);
      made.prefix = std::popcount(mask.sin_addr.s_addr);
    } else {
      sockaddr_in6 address{};
      sockaddr_in6 mask{};
      std::memcpy(&address, one->ifa_addr, sizeof address);
      std::memcpy(&mask, one->ifa_netmask, sizeof mask);
      std::memcpy(made.address.data(), &address.sin6_addr, 16);
      made.prefix = bits_of(mask.sin6_addr.s6_addr, 16);
    }
    const std::string folder = "/sys/class/net/" + made.name;
    made.mtu = mtu_of(made.name);
    made.speed_bit_s = std::max(0.0, number_in(folder + "/speed")) * 1e6;
    made.loopback = (one->ifa_flags & IFF_LOOPBACK) != 0;
    made.multicast = (one->ifa_flags & IFF_MULTICAST) != 0;
    made.running = (one->ifa_flags & IFF_RUNNING) != 0;
    found.push_back(made);
  }
  freeifaddrs(all);
  return found;
}

std::string to_text(const std::vector<Interface>& interfaces) {
  std::ostringstream text;
  for (const auto& one : interfaces) {
    text << one.name << ' ' << one.index << ' ' << name_of(one.family) << ' ' << show(one.family, one.address) << ' '
         << one.prefix << ' ' << one.mtu << ' ' << one.speed_bit_s << ' ' << one.loopback << ' ' << one.multicast << ' '
         << one.running << '\n';
  }
  return text.str();
}

std::vector<Interface> from_text(const std::string& text) {
  std::vector<Interface> found;
  std::istringstream words(text);
  std::string family;
  std::string address;
  for (Interface one; words >> one.name >> one.index >> family >> address >> one.prefix >> one.mtu >> one.speed_bit_s >>
                      one.loopback >> one.multicast >> one.running;) {
    one.family = family == "ipv4" ? Family::ipv4 : Family::ipv6;
    one.address = {};
    parse(address, one.family, one.address);
    found.push_back(one);
  }
  return found;
}

std::vector<Interface> choose_interfaces(const std::vector<std::string>& hosts,
                                         const std::vector<std::vector<Interface>>& found, Family family,
                                         const std::string& asked, bool loopback_works) {
  if (asked != "auto") return asked_for(hosts, found, family, asked);
  if (std::set<std::string>(hosts.begin(), hosts.end()).size() == 1) {
    return within_one_host(hosts, found, family, loopback_works);
  }
  return in_common(hosts, found, family);
}

double wire_bits(Family family, std::size_t payload_bytes, int mtu) {
  constexpr std::size_t kEthernet = 38;
  const std::size_t head = family == Family::ipv4 ? 20 : 40;
  const std::size_t datagram = payload_bytes + 8;
  const auto most = static_cast<std::size_t>(std::max(mtu, 576));
  if (mtu <= 0 || datagram + head <= most) return 8.0 * static_cast<double>(datagram + head + kEthernet);
  const std::size_t each_head = family == Family::ipv4 ? head : head + 8;
  const std::size_t each = (most - each_head) / 8 * 8;  // a fragment's offset counts 8 bytes (RFC 791, RFC 8200)
  const std::size_t fragments = (datagram + each - 1) / each;
  return 8.0 * static_cast<double>(datagram + fragments * (each_head + kEthernet));
}

}  // namespace shakedown::multicast
