// Messages of many ranks at once: parse -> join -> for every placement, number of pairs, kernel and size, then for the
// rings: measure, verify, emit.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <optional>

#include "cases.hpp"
#include "common/gathered_places.hpp"
#include "common/rest.hpp"
#include "common/silence.hpp"
#include "rails.hpp"

namespace shakedown::multi_pair {
namespace {

/// Pairs of ranks of the job as places among the members, which are in ascending order.
std::vector<Pair> placed_among(const std::vector<int>& members, std::vector<Pair> pairs) {
  const auto place = [&](int rank) {
    return static_cast<int>(std::lower_bound(members.begin(), members.end(), rank) - members.begin());
  };
  for (auto& [a, b] : pairs) {
    a = place(a);
    b = place(b);
  }
  return pairs;
}

/// What the group's rank 0 has of a case, on rank 0 of the job, which may not be in the group. Both call it, nobody
/// else.
Series at_root(const Ranks& ranks, int from, Series series) {
  constexpr int kSeriesTag = 11;
  if (from == 0) return series;
  std::array<std::int64_t, 9> head = {series.iterations,
                                      static_cast<std::int64_t>(series.stamps.samples),
                                      static_cast<std::int64_t>(series.stamps.ranks()),
                                      series.late,
                                      series.wrong.count,
                                      series.wrong.byte,
                                      (std::int64_t{series.wrong.sender} << 32) + series.wrong.rank,
                                      series.begin_ns,
                                      series.end_ns};
  std::array<double, 3> times = {series.clock_error_s, series.clock_true_error_s, series.osu_s};
  const auto move = [&](void* data, std::size_t count, MPI_Datatype type) {
    if (ranks.rank == 0) {
      MPI_Recv(data, static_cast<int>(count), type, from, kSeriesTag, ranks.control, MPI_STATUS_IGNORE);
    } else {
      MPI_Send(data, static_cast<int>(count), type, 0, kSeriesTag, ranks.control);
    }
  };
  move(head.data(), head.size(), MPI_INT64_T);
  move(times.data(), times.size(), MPI_DOUBLE);
  series.iterations = head[0];
  series.stamps.samples = static_cast<std::size_t>(head[1]);
  const auto count = static_cast<std::size_t>(head[1] * head[2]);
  for (auto* stamps : {&series.stamps.begins, &series.stamps.ends}) {
    stamps->resize(count);
    move(stamps->data(), count, MPI_INT64_T);
  }
  series.late = head[3];
  series.begin_ns = head[7];
  series.end_ns = head[8];
  series.wrong = {head[4], head[5], static_cast<int>(head[6] >> 32), static_cast<int>(head[6] & 0x7fffffff)};
  series.clock_error_s = times[0];
  series.clock_true_error_s = times[1];
  series.osu_s = times[2];
  return series;
}

class Program {
 public:
  Program(Emitter& emitter, const Ranks& ranks, const Options& options)
      : emitter_(emitter),
        telling_(emitter, ranks, options),
        ranks_(ranks),
        options_(options),
        places_(gather_places(ranks)),
        group_(emitter, ranks, options.inject == Inject::clock) {}

  void run() {
    const auto cases = plan();
    if (cases.empty()) {
      throw cannot("no two of these ranks are placed as asked", "name other --placements, or fewer --pairs");
    }
    std::size_t made = 0;
    for (const Planned& planned : cases) {
      if (const auto why = too_large(planned); !why.empty()) {
        emitter_.notice("sizes-left-out", words_of(planned) + ": " + why, "name smaller sizes or fewer ranks");
        continue;
      }
      one_case(planned);
      emitter_.progress(static_cast<double>(++made) / static_cast<double>(cases.size()), words_of(planned));
    }
    group_.leave();
    if (made == 0) throw cannot("no size fits into the memory of these hosts", "name smaller --sizes");
  }

 private:
  std::vector<Planned> plan() {
    std::vector<Planned> cases;
    for (const Placement placement : options_.placements) plan_pairs(placement, cases);
    std::vector<int> all(static_cast<std::size_t>(ranks_.size));
    std::iota(all.begin(), all.end(), 0);
    for (const Kernel kernel : options_.kernels) {
      if (!is_ring(kernel)) continue;
      for (const std::size_t bytes : options_.sizes) {
        for (const RingMethod method : {RingMethod::sendrecv, RingMethod::nonblocking}) {
          Planned& added = cases.emplace_back();
          added.shape.kernel = kernel;
          added.shape.bytes = bytes;
          added.shape.method = method;
          added.members = all;
        }
      }
    }
    return cases;
  }

  void plan_pairs(Placement placement, std::vector<Planned>& cases) {
    std::vector<std::size_t> seen;
    for (const int wanted : options_.pairs) {
      const auto pairs = pair_up(places_, placement, wanted);
      if (pairs.empty() || std::ssize(pairs) < wanted) {
        const std::string found = pairs.empty() ? "no pair" : "only " + std::to_string(pairs.size()) + " pairs";
        emitter_.notice("pairs-left-out",
                        found + " of the placement " + name_of(placement) + " among " + std::to_string(ranks_.size) +
                            " ranks" + (wanted > 1 ? ", not " + std::to_string(wanted) : ""),
                        "start ranks where it has some, or name other --placements and --pairs");
        continue;
      }
      if (std::find(seen.begin(), seen.end(), pairs.size()) != seen.end()) continue;
      seen.push_back(pairs.size());
      std::vector<int> members;
      for (const auto& [a, b] : pairs) members.insert(members.end(), {a, b});
      std::sort(members.begin(), members.end());
      const auto placed = placed_among(members, pairs);
      for (const Kernel kernel : options_.kernels) {
        if (is_ring(kernel)) continue;
        for (const std::size_t bytes : options_.sizes) {
          Planned& added = cases.emplace_back();
          added.shape.kernel = kernel;
          added.shape.bytes = bytes;
          added.shape.pairs = placed;
          added.placement = placement;
          added.members = members;
        }
      }
    }
  }

  /// Why a case cannot be here; empty where it can. Agreed on by all ranks.
  [[nodiscard]] std::string too_large(const Planned& planned) const {
    const auto beside =
        static_cast<std::uint64_t>(std::count_if(planned.members.begin(), planned.members.end(), [&](int rank) {
          return ranks_.host_of(rank) == ranks_.host_of(ranks_.rank);
        }));
    const auto found = caught([&] {
      require_memory(beside * buffer_bytes(planned.shape, options_.window), "the buffers of this host's ranks");
    });
    for (const auto& one : gather_words(ranks_.control, found.text.substr(0, found.text.find('\n')))) {
      if (!one.empty()) return one;
    }
    return "";
  }

  /// What each of the watched networks carried so far, on all hosts together. Every rank calls it.
  [[nodiscard]] std::vector<std::int64_t> rail_bytes() const {
    std::vector<std::int64_t> bytes(options_.rails.size());
    const auto first = std::find(ranks_.hosts.begin(), ranks_.hosts.end(), ranks_.host_of(ranks_.rank));
    if (first - ranks_.hosts.begin() == ranks_.rank) {
      std::transform(options_.rails.begin(), options_.rails.end(), bytes.begin(),
                     [](const std::string& name) { return read_rail(name).bytes; });
    }
    if (bytes.empty()) return bytes;
    const InMpi mark;
    MPI_Allreduce(MPI_IN_PLACE, bytes.data(), static_cast<int>(bytes.size()), MPI_INT64_T, MPI_SUM, ranks_.control);
    return bytes;
  }

  void one_case(const Planned& planned) {
    watch_case(ranks_, options_.silent_s > 0 ? options_.silent_s + options_.budget_s : 0,
               {"multi_pair", name_of(planned.shape.kernel), params_of(ranks_, options_, planned), words_of(planned),
                kLookAtRanks, "did not begin " + words_of(planned) + ": the others wait for it"});
    group_.join(planned.members);
    const auto before = rail_bytes();
    Series series;
    if (group_->rank >= 0) series = measure(ranks_, *group_, group_.clock(), options_, planned.shape);
    MPI_Request all_here = MPI_REQUEST_NULL;
    MPI_Ibarrier(ranks_.control, &all_here);
    rest(all_here);
    if (ranks_.rank == 0 || group_->rank == 0) series = at_root(ranks_, planned.members.front(), std::move(series));
    auto carried = rail_bytes();
    unwatch();
    if (ranks_.rank != 0) return;
    telling_.tell(planned, series);
    std::transform(carried.begin(), carried.end(), before.begin(), carried.begin(), std::minus<>());
    telling_.tell_rails(planned, series, carried);
  }

  Emitter& emitter_;
  Telling telling_;
  const Ranks& ranks_;
  const Options& options_;
  std::vector<RankPlace> places_;
  CurrentGroup group_;
};

int run(int argc, char** argv, const Options& options) {
  const Ranks ranks = join_ranks(options.ranks);
  Emitter emitter(ranks.rank == 0 ? stdout : nullptr);
  emitter.start("multi_pair", argc, argv, ranks.facts());
  if (ranks.oversubscribed) {
    emitter.notice("oversubscribed", "ranks share CPUs: the times are those of the scheduler and mean nothing",
                   "start at most one rank for each CPU");
  }
  emitter.phase("measure", "begin");
  Program(emitter, ranks, options).run();
  emitter.phase("measure", "end");
  emitter.end();
  int code = emitter.ok() ? kOk : kCheckFailed;
  MPI_Bcast(&code, 1, MPI_INT, 0, ranks.control);
  return code;
}

/// The options; and before MPI is there, which may wait for ever, whether the networks are: one line of each host where
/// they are not.
Options read_checked(int argc, char** argv) {
  Options options = read_options(argc, argv);
  const auto why = not_usable(options.rail, host_name());
  if (why.empty()) return options;
  const auto is_first = [](const char* variable) {
    const char* value = std::getenv(variable);
    return value == nullptr || std::string(value) == "0";
  };
  if (is_first("OMPI_COMM_WORLD_LOCAL_RANK") && is_first("MPI_LOCALRANKID") && is_first("SLURM_LOCALID")) {
    const Error refused = cannot(why, "bring it up, or name networks that all hosts have: ip -brief link, ibstat");
    std::fprintf(stderr, "multi_pair: %s\n", refused.what());
  }
  std::exit(kCouldNotMeasure);
}

}  // namespace
}  // namespace shakedown::multi_pair

int main(int argc, char** argv) {
  using namespace shakedown;
  return mpi_main("multi_pair", argc, argv, multi_pair::read_checked, multi_pair::run);
}
