// Which interface and which groups each family uses.
#include <algorithm>
#include <sstream>

#include "multicast.hpp"

namespace shakedown::multicast {
namespace {

std::string drawn_group(Family family, std::uint64_t run) {
  const auto byte = [&](int at) { return static_cast<unsigned>((run >> (8 * at)) & 0xff); };
  std::ostringstream text;
  if (family == Family::ipv4) {  // RFC 2365: 239.255.0.0/16 is the site-local scope
    text << "239.255." << byte(0) % 128 << '.' << byte(1);
  } else {  // RFC 4291, section 2.7: transient, site-local
    text << std::hex << "ff15::" << byte(2) * 256 + byte(3) << ':' << byte(0) * 256 + byte(1) << ":1";
  }
  return text.str();
}

}  // namespace

std::vector<Network> choose_networks(const World& world, const Options& options) {
  std::vector<std::string> hosts;
  std::vector<std::vector<Interface>> found;
  for (const auto& rank : world.ranks) {
    hosts.push_back(rank.host);
    found.push_back(rank.interfaces);
  }
  std::vector<Network> networks;
  together(world.comm, [&] {
    for (std::size_t i = 0; i < options.families.size(); ++i) {
      const Family family = options.families[i];
      Network network{choose_interfaces(hosts, found, family, options.interface, loopback_works(family)),
                      options.groups.empty() ? drawn_group(family, world.run) : options.groups[i], 0};
      const auto slowest = std::min_element(network.interfaces.begin(), network.interfaces.end(),
                                            [](const auto& a, const auto& b) { return a.speed_bit_s < b.speed_bit_s; });
      network.link_bit_s = slowest->speed_bit_s;
      if (options.share > 0 && (network.link_bit_s <= 0 || slowest->loopback)) {
        throw cannot("a share of the link is requested, and the rate of " + slowest->name + " is not known",
                     "run it over two hosts or more whose interfaces report their speed (ethtool), or give --rate");
      }
      networks.push_back(network);
    }
  });
  return networks;
}

void tell_sizes(Emitter& emitter, const Options& options, const std::vector<Network>& networks) {
  for (const auto& network : networks) {
    const int head = network.interfaces[0].family == Family::ipv4 ? 28 : 48;  // IP and UDP
    const auto least = std::min_element(network.interfaces.begin(), network.interfaces.end(),
                                        [](const auto& a, const auto& b) { return a.mtu < b.mtu; });
    if (static_cast<int>(options.bytes) + head <= least->mtu) continue;
    emitter.notice("multicast-fragments",
                   "packets of " + std::to_string(options.bytes) + " bytes travel in fragments: the MTU of " +
                       least->name + " is " + std::to_string(least->mtu),
                   "--bytes " + std::to_string(least->mtu - head) + " or less");
  }
}

}  // namespace shakedown::multicast
