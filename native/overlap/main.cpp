// Overlap of communication with computation: parse -> join -> for every operation and size: measure, verify, emit.
#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "common/rest.hpp"
#include "common/silence.hpp"
#include "overlap.hpp"

namespace shakedown::overlap {
namespace {

std::string words_of(const Shape& shape, std::size_t ranks) {
  const std::string size = shape.operation == Operation{} ? "" : " of " + std::to_string(shape.bytes) + " bytes";
  return name_of(shape.operation) + size + " by " + std::to_string(ranks) + " ranks";
}

class Program {
 public:
  Program(Emitter& emitter, const Ranks& ranks, const Options& options)
      : emitter_(emitter), ranks_(ranks), options_(options), group_(emitter, ranks, options.inject == Inject::clock) {}

  void run() {
    const auto shapes = plan();
    std::size_t made = 0;
    for (const Shape& shape : shapes) {
      if (const auto why = too_large(shape); !why.empty()) {
        emitter_.notice("sizes-left-out", words_of(shape, members_of(shape).size()) + ": " + why,
                        "name smaller sizes or fewer ranks");
        continue;
      }
      one_case(shape);
      emitter_.progress(static_cast<double>(++made) / static_cast<double>(shapes.size()),
                        words_of(shape, group_->members.size()));
    }
    group_.leave();
    if (made == 0) throw cannot("no size fits into the memory of these hosts", "name smaller --sizes");
  }

 private:
  std::vector<Shape> plan() {
    std::vector<Shape> shapes;
    for (const auto& operation : options_.operations) {
      if (operation == Operation{}) {
        shapes.push_back({operation, 0});
        continue;
      }
      for (const std::size_t bytes : options_.sizes) shapes.push_back({operation, bytes});
    }
    return shapes;
  }

  [[nodiscard]] std::vector<int> members_of(const Shape& shape) const {
    if (is_of_two(shape.operation)) return {0, ranks_.size - 1};
    std::vector<int> all(static_cast<std::size_t>(ranks_.size));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }

  /// Why a case cannot be here; empty where it can. Agreed on by all ranks.
  [[nodiscard]] std::string too_large(const Shape& shape) const {
    const auto members = members_of(shape);
    const int ranks = static_cast<int>(members.size());
    if (buffer_words(shape.operation, shape.bytes, ranks) > std::numeric_limits<int>::max()) {
      return "its blocks are more words together than an MPI call counts (2^31 - 1)";
    }
    const auto beside = static_cast<std::uint64_t>(std::count_if(
        members.begin(), members.end(), [&](int rank) { return ranks_.host_of(rank) == ranks_.host_of(ranks_.rank); }));
    const auto found =
        caught([&] { require_memory(beside * buffer_bytes(shape, ranks), "the buffers of this host's ranks"); });
    for (const auto& one : gather_words(ranks_.control, found.text.substr(0, found.text.find('\n')))) {
      if (!one.empty()) return one;
    }
    return "";
  }

  [[nodiscard]] Object params_of(const Shape& shape) const {
    const auto members = members_of(shape);
    std::vector<std::string> hosts;
    hosts.reserve(members.size());
    for (const int rank : members) hosts.push_back(ranks_.host_of(rank));
    std::sort(hosts.begin(), hosts.end());
    const auto nodes = std::unique(hosts.begin(), hosts.end()) - hosts.begin();
    Object params;
    params.add("operation", name_of(shape.operation));
    if (!(shape.operation == Operation{})) params.add("bytes", shape.bytes);
    params.add("ranks", members.size()).add("nodes", static_cast<std::int64_t>(nodes));
    params.add("mpi", mpi_name()).add("link", nodes > 1 ? "network" : "shared memory");
    params.add("computation", options_.computation);
    if (options_.inject >= Inject::asynchronous) params.add("simulated", true);
    if (ranks_.oversubscribed) params.add("oversubscribed", true);
    return params;
  }

  void one_case(const Shape& shape) {
    const auto members = members_of(shape);
    const std::string shown = words_of(shape, members.size());
    watch_case(ranks_, options_.silent_s > 0 ? options_.silent_s + options_.budget_s : 0,
               {"overlap", "pure", params_of(shape), shown, kLookAtRanks,
                "did not begin " + shown + ": the others wait for it"});
    group_.join(members);
    CaseResult result;
    if (group_->rank >= 0) result = measure(ranks_, *group_, group_.clock(), options_, shape);
    MPI_Request all_here = MPI_REQUEST_NULL;
    MPI_Ibarrier(ranks_.control, &all_here);
    rest(all_here);
    unwatch();
    if (ranks_.rank == 0) tell(shape, result);
  }

  void tell(const Shape& shape, const CaseResult& result) {
    Case one;
    one.kernel = "pure";
    one.params = params_of(shape);
    one.seconds = result.pure.seconds;
    one.begin_ns = result.begin_ns;
    one.end_ns = result.end_ns;
    one.work.add("late", result.late).add("clock_error_s", result.clock_error_s);
    if (result.clock_true_error_s >= 0) one.work.add("clock_true_error_s", result.clock_true_error_s);
    const Residual residual{
        static_cast<double>(result.wrong), 0,
        shape.operation == Operation{} ? "samples that a rank left before all had entered" : "wrong words"};
    emitter_.series(one, options_.verify ? &residual : nullptr);
    if (result.wrong_rank >= 0) {
      const int rank = group_->members[static_cast<std::size_t>(result.wrong_rank)];
      emitter_.notice("wrong-word",
                      words_of(shape, group_->members.size()) + ": rank " + std::to_string(rank) + " on " +
                          ranks_.host_of(rank) + " has a wrong word " + std::to_string(result.wrong_word) +
                          " of its result, the first of " + std::to_string(result.wrong),
                      "look at that rank's memory and network; run it again with another MPI");
    }
    if (result.pure.seconds.empty()) {
      emitter_.notice("late-left-out",
                      words_of(shape, group_->members.size()) + ": no sample that all ranks began in time",
                      "other programs hold the ranks up: measure on a quiet machine");
      return;
    }
    Case computing;
    computing.kernel = "computing";
    computing.params = params_of(shape);
    computing.seconds = result.computing.seconds;
    computing.work.add("iterations", result.iterations);
    emitter_.series(computing, nullptr);
    for (std::size_t i = 0; i < result.both.size(); ++i) {
      Case both;
      both.kernel = "both";
      both.params = params_of(shape).add("tests", options_.tests[i]);
      both.seconds = result.both[i].seconds;
      both.work.add("iterations", result.iterations);
      emitter_.series(both, nullptr);
      Case in_mpi;
      in_mpi.kernel = "in_mpi";
      in_mpi.params = both.params;
      in_mpi.seconds = result.both[i].mpi_seconds;
      in_mpi.work.add("post_s", result.both[i].post_s).add("test_s", result.both[i].test_s);
      in_mpi.work.add("wait_s", result.both[i].wait_s);
      emitter_.series(in_mpi, nullptr);
    }
  }

  Emitter& emitter_;
  const Ranks& ranks_;
  const Options& options_;
  CurrentGroup group_;
};

int run(int argc, char** argv, const Options& options) {
  const Ranks ranks = join_ranks(options.ranks);
  Emitter emitter(ranks.rank == 0 ? stdout : nullptr);
  emitter.start("overlap", argc, argv, ranks.facts());
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

}  // namespace
}  // namespace shakedown::overlap

int main(int argc, char** argv) {
  using namespace shakedown;
  return mpi_main("overlap", argc, argv, overlap::read_options, overlap::run);
}
