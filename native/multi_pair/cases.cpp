#include "cases.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace shakedown::multi_pair {
namespace {

/// Messages and bytes of a sample: of one pair, or of one rank of a ring.
struct Work {
  std::int64_t messages = 0;
  std::int64_t bytes = 0;
};

Work work_of(const Shape& shape, const Options& options, std::int64_t iterations) {
  const std::int64_t each = shape.kernel == Kernel::bandwidth       ? options.window
                            : shape.kernel == Kernel::bidirectional ? 2 * std::int64_t{options.window}
                                                                    : 2;
  return {iterations * each, iterations * each * static_cast<std::int64_t>(shape.bytes)};
}

constexpr double kMostStrayed = 0.1;              // other programs use networks, too
constexpr std::int64_t kLeastJudged = 1'000'000;  // bytes: below, they may be most of it

std::string percent(double share) { return std::to_string(std::lround(100 * share)) + " %"; }

}  // namespace

std::string words_of(const Planned& planned) {
  const Shape& shape = planned.shape;
  const std::string of = std::string(name_of(shape.kernel)) + " of " + std::to_string(shape.bytes) + " bytes by ";
  if (is_ring(shape.kernel)) return of + std::to_string(planned.members.size()) + " ranks, " + name_of(shape.method);
  return of + std::to_string(shape.pairs.size()) + (shape.pairs.size() == 1 ? " pair, " : " pairs, ") +
         name_of(planned.placement);
}

Object params_of(const Ranks& ranks, const Options& options, const Planned& planned, const std::string& method) {
  std::vector<std::string> hosts;
  for (const int rank : planned.members) hosts.push_back(ranks.host_of(rank));
  std::sort(hosts.begin(), hosts.end());
  const auto nodes = std::unique(hosts.begin(), hosts.end()) - hosts.begin();
  const Shape& shape = planned.shape;
  Object params;
  params.add("bytes", shape.bytes).add("ranks", planned.members.size()).add("nodes", static_cast<std::int64_t>(nodes));
  params.add("mpi", mpi_name()).add("link", nodes > 1 ? "network" : "shared memory");
  if (is_ring(shape.kernel)) {
    params.add("method", method.empty() ? name_of(shape.method) : method);
    if (shape.kernel == Kernel::random_ring) params.add("orders", options.orders);
  } else {
    params.add("pairs", shape.pairs.size()).add("placement", name_of(planned.placement));
    if (shape.kernel != Kernel::latency) params.add("window", options.window);
  }
  if (ranks.oversubscribed) params.add("oversubscribed", true);
  return params;
}

void Telling::tell(const Planned& planned, const Series& series) {
  tell_together(planned, series);
  tell_wrong(planned, series.wrong);
  if (series.stamps.samples == 0) {
    emitter_.notice("late-left-out", words_of(planned) + ": no sample that all ranks began in time",
                    "other programs hold the ranks up: measure on a quiet machine");
    return;
  }
  if (is_ring(planned.shape.kernel)) {
    tell_hpcc(planned, series);
  } else if (planned.shape.pairs.size() > 1) {
    tell_pairs(planned, series);
  }
}

void Telling::tell_together(const Planned& planned, const Series& series) {
  const Shape& shape = planned.shape;
  const Work each = work_of(shape, options_, series.iterations);
  const auto count = static_cast<std::int64_t>(is_ring(shape.kernel) ? planned.members.size() : shape.pairs.size());
  Case one;
  one.kernel = name_of(shape.kernel);
  one.params = params_of(ranks_, options_, planned);
  one.seconds = together_s(series.stamps);
  one.begin_ns = series.begin_ns;
  one.end_ns = series.end_ns;
  one.work.add("messages", count * each.messages).add("bytes", count * each.bytes);
  one.work.add("messages_of_each", each.messages).add("bytes_of_each", each.bytes);
  one.work.add("late", series.late).add("clock_error_s", series.clock_error_s);
  if (series.clock_true_error_s >= 0) one.work.add("clock_true_error_s", series.clock_true_error_s);
  if (series.osu_s > 0 && shape.kernel == Kernel::latency) one.work.add("osu_s", series.osu_s);
  if (series.osu_s > 0 && shape.kernel == Kernel::bandwidth) {
    const double rate = static_cast<double>(count * options_.window) / series.osu_s;
    one.work.add("osu_messages_per_s", rate).add("osu_bytes_per_s", rate * static_cast<double>(shape.bytes));
  }
  const Residual residual{static_cast<double>(series.wrong.count), 0, "wrong bytes or messages"};
  emitter_.series(one, options_.verify ? &residual : nullptr);
}

std::string Telling::rank_of(const Planned& planned, int member) const {
  const int rank = planned.members[static_cast<std::size_t>(member)];
  return "rank " + std::to_string(rank) + " on " + ranks_.host_of(rank);
}

void Telling::tell_wrong(const Planned& planned, const Wrong& wrong) {
  if (wrong.count == 0) return;
  const std::string what = wrong.byte < 0 ? "a message of a wrong length, or one that nobody sent,"
                                          : "a wrong byte " + std::to_string(wrong.byte) + " of a message";
  emitter_.notice("wrong-byte",
                  words_of(planned) + ": " + rank_of(planned, wrong.rank) + " has " + what + " from " +
                      rank_of(planned, wrong.sender) + ", the first of " + std::to_string(wrong.count),
                  "look at the memory and the network of both; run it again with another MPI");
}

void Telling::tell_pairs(const Planned& planned, const Series& series) {
  const Work each = work_of(planned.shape, options_, series.iterations);
  std::vector<std::vector<double>> seconds;
  for (const Pair& pair : planned.shape.pairs) {
    const auto rank = [&](int member) { return planned.members[static_cast<std::size_t>(member)]; };
    Case one;
    one.kernel = "pair";
    one.params = params_of(ranks_, options_, planned).add("operation", name_of(planned.shape.kernel));
    one.params.add("rank_a", rank(pair.first)).add("rank_b", rank(pair.second));
    one.params.add("host_a", ranks_.host_of(rank(pair.first))).add("host_b", ranks_.host_of(rank(pair.second)));
    one.work.add("messages", each.messages).add("bytes", each.bytes);
    one.seconds = pair_s(series.stamps, pair);
    emitter_.series(one, nullptr);
    seconds.push_back(one.seconds);
  }
  const Slowest found = slowest(seconds);
  if (!found.is_slow || ranks_.oversubscribed) return;
  const Pair& pair = planned.shape.pairs[found.pair];
  emitter_.notice("slow-pair",
                  words_of(planned) + ": " + rank_of(planned, pair.first) + " and " + rank_of(planned, pair.second) +
                      " take " + percent(found.median_s / found.middle_s) + " of the time of the median pair",
                  "measure that pair alone (--pairs 1, or pingpong): alone as fast as others it shares a port or a "
                  "cache, else look at its cores and its link");
}

void Telling::tell_rails(const Planned& planned, const Series& series, const std::vector<std::int64_t>& bytes) {
  if (bytes.empty()) return;
  const Shape& shape = planned.shape;
  const auto across = std::count_if(shape.pairs.begin(), shape.pairs.end(), [&](const Pair& pair) {
    const auto host = [&](int member) { return ranks_.host_of(planned.members[static_cast<std::size_t>(member)]); };
    return host(pair.first) != host(pair.second);
  });
  const Carried carried{bytes, 2 * static_cast<std::int64_t>(series.stamps.samples) * across *
                                   work_of(shape, options_, series.iterations).bytes};
  std::vector<bool> chosen;
  for (const auto& name : options_.rails) {
    chosen.push_back(options_.rail.empty() ||
                     std::find(options_.rail.begin(), options_.rail.end(), name) != options_.rail.end());
  }
  const double share = strayed(carried, chosen);
  const Residual residual{share, kMostStrayed, "of the bytes by another network than was chosen"};
  const std::int64_t all = std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
  const bool judged = std::max(carried.payload, all) >= kLeastJudged;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    Case one;
    one.kernel = "rail";
    one.params = params_of(ranks_, options_, planned).add("operation", name_of(shape.kernel));
    one.params.add("network", options_.rails[i]);
    one.seconds = together_s(series.stamps);
    one.work.add("carried_bytes", bytes[i])
        .add("share", all == 0 ? 0 : static_cast<double>(bytes[i]) / static_cast<double>(all));
    emitter_.series(one, judged && i == 0 ? &residual : nullptr);
  }
  if (judged && !residual.passed()) tell_stray(planned, carried, share);
  if (const int found = idle(carried, chosen); judged && found >= 0) {
    emitter_.notice("network-idle",
                    words_of(planned) + ": network " + options_.rails[static_cast<std::size_t>(found)] +
                        " carried less than a tenth of an equal part",
                    "the MPI does not use several networks for such messages, or that one is slow: measure it alone");
  }
}

void Telling::tell_stray(const Planned& planned, const Carried& carried, double share) {
  std::string by;
  for (std::size_t i = 0; i < carried.bytes.size(); ++i) {
    by += (i > 0 ? ", " : "") + options_.rails[i] + " carried " + std::to_string(carried.bytes[i]) + " bytes";
  }
  const std::string what = std::isnan(share) ? "the messages took a way that is not among the networks that are watched"
                                             : percent(share) + " of the bytes went by another network than was chosen";
  emitter_.notice("network-not-used", words_of(planned) + ": " + what + " (" + by + ")",
                  "this MPI uses another network than its variables say: choose it by its own means");
}

/// hpcc takes for each order the faster way and the least loop, and over the orders the geometric mean.
void Telling::tell_hpcc(const Planned& planned, const Series& series) {
  const Work each = work_of(planned.shape, options_, series.iterations);
  auto message_s = longest_s(series.stamps);
  for (double& one : message_s) one /= static_cast<double>(each.messages);
  if (planned.shape.method == RingMethod::sendrecv) {
    by_turns_s_ = std::move(message_s);
    return;
  }
  const std::size_t count = std::min(by_turns_s_.size(), message_s.size());
  for (std::size_t i = 0; i < count; ++i) message_s[i] = std::min(message_s[i], by_turns_s_[i]);
  by_turns_s_.clear();
  const bool shuffled = planned.shape.kernel == Kernel::random_ring;
  const double found_s = hpcc_s(message_s, shuffled ? static_cast<std::size_t>(options_.orders) : 1);
  Case one;
  one.kernel = std::string(name_of(planned.shape.kernel)) + "_hpcc";
  one.params = params_of(ranks_, options_, planned, "faster of both");
  one.work.add("hpcc_s", found_s);
  if (planned.shape.bytes > 0) one.work.add("hpcc_bytes_per_s", static_cast<double>(planned.shape.bytes) / found_s);
  one.seconds = message_s;
  emitter_.series(one, nullptr);
}

}  // namespace shakedown::multi_pair
