// Opening the sockets of a group of ranks.
#include <algorithm>

#include "multicast.hpp"

namespace shakedown::multicast {

Object Stage::params() const {
  Object params;
  params.add("pattern", name_of(pattern)).add("family", multicast::name_of(interface.family)).add("ranks", size);
  params.add("receivers", size - 1).add("interface", interface.name);
  // What is not as usual tells one value from another.
  if (options->spread != 1) params.add("groups", options->spread);
  if (options->segments == 1) params.add("segments", 1);
  return params;
}

Stage open_stage(const World& world, const Options& options, MPI_Comm comm, Pattern pattern, const Interface& interface,
                 const std::string& base, std::uint16_t port, std::uint32_t number) {
  Stage stage;
  stage.world = &world;
  stage.options = &options;
  stage.comm = comm;
  MPI_Comm_rank(comm, &stage.rank);
  MPI_Comm_size(comm, &stage.size);
  stage.pattern = pattern;
  stage.interface = interface;
  stage.base = base;
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
