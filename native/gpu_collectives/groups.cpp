// Rounds of groups: every group of a round measures at the same time, each a case with its members.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "job.hpp"

namespace shakedown::gpu_collectives {
namespace {

/// Of each GPU its number, by which the file names it.
std::vector<std::string> numbers_of(const Job& job) {
  std::vector<std::string> numbers;
  numbers.reserve(static_cast<std::size_t>(job.ranks.seats()));
  for (int seat = 0; seat < job.ranks.seats(); ++seat)
    numbers.push_back(std::to_string(job.ranks.rank(seat).device.info().index));
  return numbers;
}

bool holds(const std::vector<int>& some, int one) { return std::find(some.begin(), some.end(), one) != some.end(); }

class RoundRun {
 public:
  explicit RoundRun(Job& job) : job_(job), numbers_(numbers_of(job)) {
    std::ifstream file(job.options.rounds);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (!file) {
      throw usage("--rounds: " + job.options.rounds + " cannot be read",
                  "a file with a round a line, a group a word: 0,1 2,3");
    }
    rounds_ = parse_rounds(text, numbers_, Numbers::are_absent);
  }

  void run() {
    for (const auto& name : rounds_.absent)
      notice(job_.emitter, "place-left-out", "GPU " + name + " is not in use: the groups that name it are smaller",
             "start it with all GPUs that the rounds name (--devices)");
    const std::size_t count = rounds_.rounds.size();
    for (std::size_t i = 0; i < count; ++i) {
      if (job_.left.size() >= 2) one_round(i);
      job_.emitter.progress(static_cast<double>(i + 1) / static_cast<double>(count), "round " + std::to_string(i + 1));
    }
  }

 private:
  void one_round(std::size_t number) {
    Round groups = rounds_.rounds[number];
    for (const auto& group : groups) tell_unanswered(number, group);
    std::erase_if(groups, [&](const std::vector<int>& group) { return !all_left(group); });
    if (groups.empty()) return;
    job_.seats.clear();
    for (const auto& group : groups) job_.seats.insert(job_.seats.end(), group.begin(), group.end());
    job_.at = "round " + std::to_string(number + 1) + ", making communicators";
    auto trouble = job_.ranks.connect(groups);
    if (!trouble) trouble = cases(number, groups);
    if (!trouble) return;
    go_on(job_, *trouble);
    for (const auto& group : groups) tell_unanswered(number, group);
  }

  std::optional<Trouble> cases(std::size_t number, const Round& groups) {
    std::size_t largest = 0;
    for (const auto& group : groups) largest = std::max(largest, group.size());
    std::set<std::string> done;  // sizes that are rounded to the same are one case
    for (const Shape& shape : shapes_of(job_, static_cast<int>(largest))) {
      if (!fits(job_, shape) || !done.insert(words_of(shape) + std::to_string(whole_bytes(shape))).second) continue;
      job_.at = "round " + std::to_string(number + 1) + ", " + words_of(shape);
      std::vector<Measured> measured;
      const PhaseMark mark(job_.emitter, "measure", job_.at);
      if (auto trouble = job_.bench.measure(shape, groups, measured)) return trouble;
      for (std::size_t i = 0; i < groups.size(); ++i) {
        Shape mine = shape;
        mine.ranks = static_cast<int>(groups[i].size());
        emit(job_, case_of(number, groups[i], mine), mine, measured[i]);
      }
    }
    read_log(job_);
    return std::nullopt;
  }

  [[nodiscard]] bool all_left(const std::vector<int>& group) const {
    return std::all_of(group.begin(), group.end(), [&](int seat) { return holds(job_.left, seat); });
  }

  /// A group with a GPU that failed or did not answer has no time, and counts against its members.
  void tell_unanswered(std::size_t number, const std::vector<int>& group) {
    if (all_left(group)) return;
    for (const Shape& shape : shapes_of(job_, static_cast<int>(group.size()))) {
      Case series = case_of(number, group, shape);
      series.work.add("unanswered", 1);
      job_.emitter.series(series, nullptr);
    }
  }

  [[nodiscard]] Case case_of(std::size_t number, const std::vector<int>& group, const Shape& shape) const {
    std::string members;
    for (const int seat : group)
      members.append(members.empty() ? "" : ",").append(host_ + ':' + numbers_[static_cast<std::size_t>(seat)]);
    Case series{.kernel = "group", .params = params_of(job_, shape, shape.bytes), .work = {}};
    series.params.add("round", number).add("members", members);
    return series;
  }

  Job& job_;
  std::vector<std::string> numbers_;
  std::string host_ = host_name();
  Rounds rounds_;
};

}  // namespace

void measure_rounds(Job& job) { RoundRun(job).run(); }

}  // namespace shakedown::gpu_collectives
