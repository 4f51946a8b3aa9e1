// Rounds of groups: every group of a round measures at the same time, each by itself; rank 0 prints what all found.
#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

#include "collectives.hpp"
#include "common/job.hpp"
#include "common/rounds.hpp"
#include "common/silence.hpp"

namespace shakedown::collectives {
namespace {

/// What stands before the seconds of a group, as it goes to rank 0.
enum Head : std::size_t { kGroup, kWrong, kLate, kOnlyLate, kClockError, kSlack, kHeadSize };

/// The text of the file, which rank 0 alone need see.
std::string shared_text(const World& world, const std::string& path) {
  std::string text;
  together(world.control, [&] {
    if (world.rank != 0) return;
    std::ifstream file(path);
    std::ostringstream read;
    read << file.rdbuf();
    if (!file) throw usage("--rounds: " + path + " cannot be read", "a file with a round a line: n1,n2,n3 n4,n5,n6");
    text = read.str();
  });
  auto length = static_cast<std::uint64_t>(text.size());
  MPI_Bcast(&length, 1, MPI_UINT64_T, 0, world.control);
  text.resize(length);
  MPI_Bcast(text.data(), static_cast<int>(length), MPI_CHAR, 0, world.control);
  return text;
}

/// Which group of the round a rank is in; -1: none.
int group_of_rank(const Round& round, int rank) {
  for (std::size_t i = 0; i < round.size(); ++i) {
    if (std::find(round[i].begin(), round[i].end(), rank) != round[i].end()) return static_cast<int>(i);
  }
  return -1;
}

/// Every rank's numbers on rank 0, one after another; none elsewhere.
std::vector<double> gather_numbers(const World& world, const std::vector<double>& mine) {
  const int length = static_cast<int>(mine.size());
  std::vector<int> counts(static_cast<std::size_t>(world.size));
  std::vector<int> begins(counts.size());
  MPI_Gather(&length, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, world.control);
  for (std::size_t i = 1; i < counts.size(); ++i) begins[i] = begins[i - 1] + counts[i - 1];
  std::vector<double> all(world.rank == 0 ? static_cast<std::size_t>(begins.back() + counts.back()) : 0);
  MPI_Gatherv(mine.data(), length, MPI_DOUBLE, all.data(), counts.data(), begins.data(), MPI_DOUBLE, 0, world.control);
  return all;
}

class RoundRun {
 public:
  RoundRun(Emitter& emitter, const World& world, const Options& options)
      : emitter_(emitter), world_(world), options_(options), places_(place_names(world.hosts)) {
    options_.mockups = options_.nonblocking = false;
    const std::string text = shared_text(world, options.rounds);
    together(world.control, [&] { rounds_ = parse_rounds(text, places_); });
  }

  void run() {
    for (const auto& name : rounds_.absent) {
      emitter_.notice("place-left-out", name + " is not in this job: the groups that name it are smaller",
                      "start the job on all hosts that the rounds name");
    }
    for (std::size_t i = 0; i < rounds_.rounds.size(); ++i) {
      one_round(i);
      emitter_.progress(static_cast<double>(i + 1) / static_cast<double>(rounds_.rounds.size()),
                        "round " + std::to_string(i + 1));
    }
    if (only_late_ == 0) return;
    emitter_.notice(
        "late-kept",
        std::to_string(only_late_) + " groups have late repetitions alone, which include the waiting at their start",
        "other programs hold the ranks up: measure on quiet nodes");
  }

 private:
  void one_round(std::size_t number) {
    const Round& round = rounds_.rounds[number];
    const int mine = group_of_rank(round, world_.rank);
    Group group = group_among(world_, mine < 0 ? std::vector<int>() : round[static_cast<std::size_t>(mine)], mine);
    std::optional<SharedClock> clock;
    for (const Operation operation : options_.operations) {
      for (const std::size_t bytes : options_.sizes) {
        if (operation == Operation::barrier && bytes != options_.sizes.front()) continue;
        const Shape shape{operation, operation == Operation::barrier ? 0 : bytes, 0, false};
        require_room(shape, group);
        await_round(number, shape);
        rest(world_);
        if (group.control != MPI_COMM_NULL && !clock) {
          clock.emplace(group.control, options_.inject == Inject::clock);
        }
        print(number, shape, gather_numbers(world_, measured(group, clock, mine, shape)));
        rest(world_);
        unwatch();
      }
    }
    clock.reset();
    leave(group);
  }

  /// Throws, on all ranks alike, where the buffers of a host's ranks do not fit, or a call cannot count its words.
  void require_room(const Shape& shape, const Group& group) const {
    together(world_.control, [&] {
      if (group.size == 0) return;
      const auto& here = world_.hosts[static_cast<std::size_t>(world_.rank)];
      const auto beside = static_cast<std::uint64_t>(std::count(world_.hosts.begin(), world_.hosts.end(), here));
      const auto words = static_cast<std::uint64_t>(group.size) * (shape.bytes / sizeof(Word));
      if (is_of_blocks(shape.operation) && words > std::numeric_limits<int>::max()) {
        throw usage("--sizes: " + std::to_string(shape.bytes) + " bytes for each of " + std::to_string(group.size) +
                        " ranks are more words than an MPI call counts (2^31 - 1)",
                    "name smaller sizes");
      }
      require_memory(beside * buffer_bytes(shape, group.size), "the buffers of this host's ranks");
    });
  }

  /// Of the lowest member the group's result; of all others nothing.
  std::vector<double> measured(const Group& group, std::optional<SharedClock>& clock, int mine, const Shape& shape) {
    if (group.control == MPI_COMM_NULL) return {};
    const auto result = measure(world_, group, *clock, options_, shape);
    if (group.rank != 0) return {};
    const auto& series = result.series.front();
    std::vector<double> numbers(kHeadSize);
    numbers[kGroup] = mine;
    numbers[kWrong] = static_cast<double>(series.wrong);
    numbers[kLate] = static_cast<double>(series.late_seconds.size());
    numbers[kClockError] = result.clock_error_s;
    numbers[kSlack] = result.slack_s;
    // Where members never begin in time, late repetitions still show who is slow, with more scatter.
    const auto& seconds = series.seconds.empty() ? series.late_seconds : series.seconds;
    numbers[kOnlyLate] = series.seconds.empty() ? 1 : 0;
    numbers.push_back(static_cast<double>(seconds.size()));
    numbers.insert(numbers.end(), seconds.begin(), seconds.end());
    return numbers;
  }

  void print(std::size_t number, const Shape& shape, const std::vector<double>& numbers) {
    for (std::size_t at = 0; at < numbers.size();) {
      const auto* head = &numbers[at];
      const auto begin = numbers.begin() + static_cast<std::ptrdiff_t>(at + kHeadSize + 1);
      const auto count = static_cast<std::ptrdiff_t>(head[kHeadSize]);
      const auto& members = rounds_.rounds[number][static_cast<std::size_t>(head[kGroup])];
      Case one;
      one.kernel = "group";
      one.params = params_of(number, shape).add("ranks", members.size()).add("members", names_of(members));
      one.seconds = {begin, begin + count};
      if (shape.operation != Operation::barrier) one.work.add("bytes", sent_bytes(shape, members.size()));
      one.work.add("late", head[kLate]).add("clock_error_s", head[kClockError]).add("slack_s", head[kSlack]);
      const Residual residual{head[kWrong], 0, "wrong words, or members that left a barrier early"};
      emitter_.series(one, options_.verify ? &residual : nullptr);
      only_late_ += head[kOnlyLate] > 0 ? 1 : 0;
      at += kHeadSize + 1 + static_cast<std::size_t>(count);
    }
  }

  [[nodiscard]] std::string names_of(const std::vector<int>& members) const {
    std::string names;
    for (const int rank : members) names += (names.empty() ? "" : ",") + places_[static_cast<std::size_t>(rank)];
    return names;
  }

  [[nodiscard]] Object params_of(std::size_t number, const Shape& shape) const {
    Object params;
    params.add("operation", name_of(shape.operation)).add("method", "library").add("round", number);
    if (shape.operation != Operation::barrier) params.add("bytes", shape.bytes);
    if (world_.oversubscribed) params.add("oversubscribed", true);
    return params;
  }

  static std::uint64_t sent_bytes(const Shape& shape, std::size_t ranks) {
    return is_of_blocks(shape.operation) ? (ranks - 1) * shape.bytes : shape.bytes;
  }

  void await_round(std::size_t number, const Shape& shape) {
    const std::string words = "round " + std::to_string(number + 1) + ", " + name_of(shape.operation);
    watch_case(world_, options_.silent_s > 0 ? options_.silent_s + options_.budget_s : 0,
               {"collectives", "group", params_of(number, shape), words, kLookAtRanks,
                "did not begin " + words + ": the others wait for it"});
  }

  Emitter& emitter_;
  const World& world_;
  Options options_;
  std::vector<std::string> places_;
  Rounds rounds_;
  int only_late_ = 0;  // groups without a repetition that all members began in time
};

}  // namespace

void measure_rounds(Emitter& emitter, const World& world, const Options& options) {
  RoundRun(emitter, world, options).run();
}

}  // namespace shakedown::collectives
