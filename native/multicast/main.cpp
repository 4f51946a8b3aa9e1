// UDP multicast between ranks: parse -> join the job -> for every pattern, family and size: reach all, measure, emit.
#include <algorithm>
#include <cmath>
#include <sstream>

#include "common/clock.hpp"
#include "multicast.hpp"
#include "search.hpp"

namespace shakedown::multicast {
namespace {

constexpr double kReachRate = 2000;  // packets/s of all senders together while the pairs are tried
constexpr double kReachS = 0.02;
constexpr double kReachLongestS = 0.5;
constexpr int kJoins = 3;
constexpr int kConfirmations = 3;  // trials in a row without loss
constexpr double kProof = 1000;    // packets that a trial without loss has at least

/// One stage's work on its root: everything is measured by all its members, and printed by rank 0 of the job.
class Session {
 public:
  Session(Stage& stage, Emitter& emitter) : stage_(stage), options_(*stage.options), emitter_(emitter) {}

  void run(bool first_pattern) {
    if (!reached()) return;
    for (const Kernel kernel : options_.kernels) {
      const bool once = kernel == Kernel::join || kernel == Kernel::latency;  // alike in both patterns
      if (once && !first_pattern) continue;
      switch (kernel) {
        case Kernel::join:
          joins();
          break;
        case Kernel::latency:
          latencies();
          break;
        case Kernel::rate:
          rate();
          break;
        case Kernel::lossless:
          lossless();
          break;
      }
    }
  }

 private:
  [[nodiscard]] bool root() const { return stage_.rank == 0; }

  std::string host_of(int rank) const {
    const World& world = *stage_.world;
    return world.ranks[static_cast<std::size_t>(world.order[static_cast<std::size_t>(rank)])].host;
  }

  Case begin(const char* kernel) const {
    Case made;
    made.kernel = kernel;
    made.params = stage_.params();
    made.begin_ns = unix_ns();
    return made;
  }

  void emit(Case& made, const Residual* residual = nullptr) {
    made.end_ns = unix_ns();
    if (root()) emitter_.series(made, residual);
  }

  /// Whether every listener hears every sender, within the time that joining may take.
  bool reached() {
    Case made = begin("reach");
    const double begin_s = now_s();
    const double each = kReachRate / stage_.senders();
    const double seconds = std::min(kReachLongestS, std::max(kReachS, 10 / each));
    Outcome outcome;
    Totals totals;
    for (bool again = true; again;) {
      outcome = run_trial(stage_, {std::max(each, 10 / seconds), seconds, options_.echo_bytes});
      totals = add_up(outcome);
      int more = totals.unheard > 0 && now_s() - begin_s < options_.settle_s ? 1 : 0;
      MPI_Bcast(&more, 1, MPI_INT, 0, stage_.comm);
      again = more != 0;
    }
    made.seconds.push_back(now_s() - begin_s);
    made.work.add("pairs", totals.listeners * totals.senders - (totals.senders > 1 ? totals.listeners : 0));
    const Residual residual{static_cast<double>(totals.unheard), 0, "pairs of ranks between which nothing passed"};
    emit(made, &residual);
    if (totals.unheard > 0 && root()) tell_unheard(outcome);
    return totals.unheard == 0;
  }

  void tell_unheard(const Outcome& outcome) {
    std::string deaf;
    int more = 0;
    for (std::size_t rank = 0; rank < outcome.heard.size(); ++rank) {
      if (outcome.heard[rank].unheard == 0) continue;
      if (deaf.size() > 300) {
        ++more;
        continue;
      }
      deaf += (deaf.empty() ? "" : ", ") + host_of(static_cast<int>(rank)) + " (rank " +
              std::to_string(stage_.world->order[rank]) + ") of " + std::to_string(outcome.heard[rank].unheard);
    }
    if (more > 0) deaf += " and " + std::to_string(more) + " more";
    emitter_.notice(
        "multicast-unheard",
        "multicast does not pass over " + stage_.interface.name + ": nothing is heard at " + deaf + " senders",
        "a switch that snoops IGMP or MLD needs a querier in that network; look for a firewall on the "
        "hosts and, over routers, for a TTL that is too small (--ttl)");
  }

  void joins() {
    Case made = begin("join");
    const auto delays = join_delays(stage_, kJoins);
    std::int64_t failed = 0;
    for (const double one : delays) {
      if (one < 0) {
        ++failed;
      } else {
        made.seconds.push_back(one);
      }
    }
    made.work.add("joins", 1);
    const Residual residual{static_cast<double>(failed), 0, "joins after which nothing was heard"};
    emit(made, &residual);
  }

  void latencies() {
    Case made = begin("latency");
    made.params.add("bytes", options_.echo_bytes).add("wait", options_.spin ? "spin" : "sleep");
    made.params.add("method", options_.one_way ? "one-way" : "echo");
    const Latencies found = options_.one_way ? one_way_latencies(stage_) : echo_latencies(stage_);
    made.seconds = found.seconds;
    made.work.add("packets", 1);
    if (!root()) return;
    if (found.seconds.empty()) {
      emitter_.notice("multicast-no-latency", "no round trip was answered",
                      "is unicast UDP allowed between the hosts?");
      return;
    }
    emit(made);
    if (options_.one_way) {
      Case clock = begin("clock");
      clock.seconds = {found.uncertainty_s};
      emit(clock);
    }
    if (found.lost > 0) {
      emitter_.notice("multicast-latency-lost", std::to_string(found.lost) + " probes were lost and are not counted");
    }
    tell_slow(found);
  }

  /// A receiver whose median is more than twice that of all.
  void tell_slow(const Latencies& found) {
    const auto median = [](std::vector<double> values) {
      const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
      std::nth_element(values.begin(), middle, values.end());
      return *middle;
    };
    const double usual = median(found.seconds);
    for (std::size_t i = 0; i < found.of_each.size(); ++i) {
      if (found.of_each[i].empty()) continue;
      const double its = median(found.of_each[i]);
      if (its <= 2 * usual) continue;
      std::ostringstream text;
      text << host_of(static_cast<int>(i) + 1) << " has a multicast latency of " << its * 1e6
           << " us; the median of all is " << usual * 1e6 << " us";
      emitter_.notice("multicast-slow", text.str());
    }
  }

  void add_sample(Case& made, const Totals& totals) const {
    // The mean time between two packets at a listener.
    if (totals.delivered > 0 && totals.span_s > 0) made.seconds.push_back(totals.span_s / totals.delivered);
  }

  void rate() {
    const Offer offer = stage_.offer();
    Case made = begin("rate");
    made.params.add("bytes", options_.bytes).add("offered", offer.rate);
    if (offer.share > 0) made.params.add("link_share", offer.share).add("link_bit_s", offer.link_bit_s);
    Case loss = made;
    loss.kernel = "loss";
    Totals all;
    double offered = 0;
    for (std::int64_t i = 0; i < options_.samples; ++i) {
      const Totals totals = add_up(run_trial(stage_, {offer.rate, options_.seconds, options_.bytes}));
      add_sample(made, totals);
      all.add(totals);
      offered = std::max(offered, totals.offered());
    }
    made.work.add("packets", 1).add("bytes", options_.bytes);
    const Residual residual{static_cast<double>(all.corrupt), 0, "corrupt packets"};
    emit(made, &residual);
    const auto part = [&](std::int64_t packets) {
      return all.expected > 0 ? static_cast<double>(packets) / static_cast<double>(all.expected) : 0;
    };
    loss.work.add("loss", part(all.lost))
        .add("loss_worst", all.loss_at(all.worst()))
        .add("loss_receivers", part(all.dropped));
    loss.work.add("loss_senders", part(all.refused)).add("loss_network", part(all.network));
    loss.work.add("expected", all.expected).add("lost", all.lost).add("duplicates", all.duplicates);
    loss.work.add("reordered", all.reordered).add("corrupt", all.corrupt).add("foreign", all.foreign);
    emit(loss);
    if (root()) tell(all, offered, offer.rate);
  }

  void tell(const Totals& all, double offered, double asked) {
    if (all.dropped > 0) {
      emitter_.notice("multicast-receive-buffer",
                      std::to_string(all.dropped) + " packets were dropped at receivers' sockets, which were full",
                      "a receiver is too slow for this rate, or needs a larger buffer: sysctl net.core.rmem_max");
    }
    if (all.refused > 0) {
      emitter_.notice("multicast-send-queue", std::to_string(all.refused) + " deliveries were lost in senders' kernels",
                      "a longer queue (ip link set dev INTERFACE txqueuelen), or a lower rate");
    }
    if (all.backlog > 0) {
      emitter_.notice("multicast-backlog", std::to_string(all.backlog) + " packets were dropped in a kernel's backlog",
                      "sysctl net.core.netdev_max_backlog");
    }
    if (all.duplicates > 0) {
      emitter_.notice("multicast-duplicates", std::to_string(all.duplicates) + " packets came more than once",
                      "look for a loop, or two ways, between the switches");
    }
    if (all.network > 0 && all.worst() >= 0) {
      std::ostringstream text;
      text << all.network << " packets were lost on the way; the most at " << host_of(all.worst()) << ", "
           << 100 * all.loss_at(all.worst()) << " % of its packets";
      emitter_.notice("multicast-lost", text.str());
    }
    if (asked > 0 && offered < 0.95 * asked) {
      std::ostringstream text;
      text << "the senders reached " << offered << " packets/s of the " << asked << " requested";
      emitter_.notice("multicast-slow-sender", text.str(), "the sending host is the limit at this size of packet");
    }
  }

  /// All members know every outcome, and so search alike.
  void lossless() {
    Case made = begin("lossless");
    made.params.add("bytes", options_.bytes);
    // As fast as the senders can is found first: it is what the search starts from.
    const Totals most = add_up(run_trial(stage_, {0, options_.seconds, options_.bytes}));
    Search search(std::max(most.offered(), 1.0), options_.resolution, kConfirmations, kProof / options_.seconds);
    std::int64_t corrupt = most.corrupt;
    std::int64_t lost = most.lost;  // in the last trial that lost anything
    double lowest = most.offered();
    while (!search.done()) {
      const double rate = search.rate();
      const Totals last = add_up(run_trial(stage_, {rate, options_.seconds, options_.bytes}));
      corrupt += last.corrupt;
      search.told(last.lossless(), last.offered());
      if (last.lossless()) add_sample(made, last);
      if (!last.lossless()) {
        lost = last.lost + last.corrupt;
        lowest = rate;
      }
      // Only those at the rate that stands are the result.
      const bool moved = std::abs(search.rate() - rate) > 1e-9 * rate;
      if (!last.lossless() || (moved && !search.done())) made.seconds.clear();
      if (root()) emitter_.progress(0.5, "rate without loss");
    }
    made.work.add("packets", 1).add("bytes", options_.bytes);
    const Residual residual{static_cast<double>(corrupt), 0, "corrupt packets"};
    const bool found = search.found() > 0;
    if (!found) made.seconds.clear();
    // A loss is a value, and no failure of the run: without a rate there is no case, but for packets that were corrupt.
    if (found || corrupt > 0) emit(made, &residual);
    if (!root()) return;
    if (found) {
      tell_few(search.found() * options_.seconds);
    } else {
      tell_none(lowest, lost);
    }
  }

  void tell_none(double lowest, std::int64_t lost) {
    std::ostringstream text;
    text << "no rate without loss was found among " << stage_.size << " ranks (" << name_of(stage_.pattern) << "): ";
    if (lost > 0) {
      text << lost << " packets were lost even at " << lowest << " packets/s";
    } else {
      text << "none held in " << kConfirmations << " trials in a row";
    }
    emitter_.notice("multicast-no-lossless-rate", text.str(),
                    "multicast.loss says how much is lost at a given rate, and where");
  }

  /// Few packets without a loss say little of the rate at which they went.
  void tell_few(double packets) {
    if (packets >= 0.95 * kProof) return;
    std::ostringstream text;
    text << "a trial at the rate without loss had " << std::llround(packets) << " packets of each sender, "
         << "fewer than " << kProof << ": the senders can do no more";
    emitter_.notice("multicast-few-packets", text.str(), "longer trials (--seconds)");
  }

  Stage& stage_;
  const Options& options_;
  Emitter& emitter_;
};

Object facts_of(const World& world, const Options& options, const std::vector<Network>& networks, int port) {
  Object facts = world.facts();
  std::vector<Object> chosen;
  for (const auto& network : networks) {
    std::vector<Object> places;
    for (const auto& one : network.interfaces) {
      places.push_back(Object()
                           .add("interface", one.name)
                           .add("address", one.text())
                           .add("mtu", one.mtu)
                           .add("link_bit_s", one.speed_bit_s));
    }
    chosen.push_back(Object()
                         .add("family", name_of(network.interfaces[0].family))
                         .add("group", network.base)
                         .add("by_rank", places));
  }
  facts.add("networks", chosen).add("port", port).add("groups", options.spread);
  facts.add("ttl", world.one_host() && options.interface == "auto" ? 0 : options.ttl);
  facts.add("trial_s", options.seconds).add("batch", options.batch).add("verified", options.verify);
  return facts;
}

void tell_buffer(Emitter& emitter, const Stage& stage) {
  int granted = stage.inlets.empty() ? 0 : receive_buffer(stage.inlets[0]);
  int least = granted > 0 ? granted : stage.options->buffer_bytes * 2;
  MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_INT, MPI_MIN, stage.comm);
  if (stage.rank != 0) return;
  emitter.facts(Object().add("receive_buffer_bytes", least));
  if (least >= stage.options->buffer_bytes) return;
  emitter.notice("multicast-small-buffer",
                 "a receive buffer of " + std::to_string(least) + " bytes was granted where " +
                     std::to_string(stage.options->buffer_bytes) + " were requested",
                 "sysctl -w net.core.rmem_max=" + std::to_string(stage.options->buffer_bytes));
}

void measure(Emitter& emitter, const World& world, const Options& options, const std::vector<Network>& networks,
             std::uint16_t port) {
  const auto place =
      static_cast<int>(std::find(world.order.begin(), world.order.end(), world.rank) - world.order.begin());
  std::uint32_t number = 0;
  for (const auto& network : networks) {
    for (const int size : group_sizes(options, world.size)) {
      for (const Pattern pattern : options.patterns) {
        ++number;
        MPI_Comm members = MPI_COMM_NULL;
        MPI_Comm_split(world.comm, place < size ? 0 : MPI_UNDEFINED, place, &members);
        if (members != MPI_COMM_NULL) {
          Stage stage = open_stage(world, options, members, pattern,
                                   network.interfaces[static_cast<std::size_t>(world.rank)], network, port, number);
          if (number == 1) tell_buffer(emitter, stage);
          Session(stage, emitter).run(pattern == options.patterns.front());
          MPI_Comm_free(&members);
        }
        meet(world.comm);
      }
    }
  }
}

int run(int argc, char** argv, const Options& options) {
  const World world = join_world();
  together(world.comm, [&] { group_sizes(options, world.size); });
  const auto networks = choose_networks(world, options);
  // Below the range from which the kernel draws ports itself.
  const int port = options.port != 0 ? options.port : 20000 + static_cast<int>((world.run >> 32) % 10000);
  Emitter emitter(world.rank == 0 ? stdout : nullptr);
  emitter.start("multicast", argc, argv, facts_of(world, options, networks, port));
  tell_sizes(emitter, options, networks);
  {
    const PhaseMark mark(emitter, "measure");
    measure(emitter, world, options, networks, static_cast<std::uint16_t>(port));
  }
  emitter.end();
  // Of rank 0 alone: a launcher may end all others as soon as one of them failed, and it must be the last to go.
  meet(world.comm);
  return emitter.ok() ? kOk : kCheckFailed;
}

}  // namespace
}  // namespace shakedown::multicast

int main(int argc, char** argv) {
  using namespace shakedown;
  return mpi_main("multicast", argc, argv, multicast::read_options, multicast::run, MPI_THREAD_FUNNELED);
}
