// Opening the sockets of a group of ranks.
#include <algorithm>

#include "multicast.hpp"

namespace shakedown::multicast {

Object Stage::params() const {
  Object params;
  params.add("pattern", name_of(pattern)).add("family", multicast::name_of(interface.family)).add("ranks", size);
  params.add("receivers", size - 1).add("interface", interface.name);
  params.add("groups", std::min(options->spread, senders()));
  if (options->segments == 1) params.add("segments", 1);
  return params;
}

Offer Stage::offer() const {
  // A listener's link carries the packets of all senders but its own.
  const int heard = pattern == Pattern::many_to_many ? size - 1 : 1;
  const double whole =
      link_bit_s > 0 ? link_bit_s / (heard * wire_bits(interface.family, options->bytes, interface.mtu)) : 0;
  if (options->share <= 0)
    return {options->rate, options->rate > 0 && whole > 0 ? options->rate / whole : 0, link_bit_s};
  return {options->share * whole, options->share, link_bit_s};
}

Stage open_stage(const World& world, const Options& options, MPI_Comm comm, Pattern pattern, const Interface& interface,
                 const Network& network, std::uint16_t port, std::uint32_t number) {
  Stage stage;
  stage.world = &world;
  stage.options = &options;
  stage.comm = comm;
  MPI_Comm_rank(comm, &stage.rank);
  MPI_Comm_size(comm, &stage.size);
  stage.pattern = pattern;
  stage.interface = interface;
  stage.base = network.base;
  stage.link_bit_s = interface.loopback ? 0 : network.link_bit_s;
  stage.port = port;
  stage.trials = number << 16;
  // Chosen by itself within one host, nothing leaves it.
  stage.ttl = world.one_host() && options.interface == "auto" ? 0 : options.ttl;
  const auto here = std::count_if(world.ranks.begin(), world.ranks.end(), [&](const Rank& one) {
    return one.host == world.ranks[static_cast<std::size_t>(world.rank)].host;
  });
  stage.loop = here > 1;
  together(comm, [&] {
    const int buffer = options.buffer_bytes;
    if (stage.listens()) {
      for (int i = 0; i < std::min(options.spread, stage.senders()); ++i) {
        const Endpoint group = stage.group(static_cast<unsigned>(i));
        stage.inlets.push_back(group_socket(group, interface, buffer));
        join(stage.inlets.back(), group, interface);
      }
    }
    stage.echo = sending_socket(interface, stage.ttl, stage.loop, buffer);
    if (stage.sends()) {
      stage.outlet = sending_socket(interface, stage.ttl, stage.loop, buffer);
      connect_to(stage.outlet, stage.group(static_cast<unsigned>(stage.rank % options.spread)));
    }
  });
  return stage;
}

}  // namespace shakedown::multicast
