#include "schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>

#include "common/error.hpp"

namespace shakedown::load {
namespace {

constexpr double kLongest_s = 30.0 * 24 * 3600;

/// A segment that can be driven. Throws a usage error for one that cannot.
Segment segment(double seconds, double level, const std::string& where) {
  if (!(level >= 0 && level <= 1)) {
    throw usage(where + ": level " + std::to_string(level) + " is not a share of full load",
                "give a number from 0 to 1");
  }
  if (!(seconds * 1e9 >= static_cast<double>(kShortest_ns) && seconds <= kLongest_s)) {
    throw usage(where + ": " + std::to_string(seconds) + " s is not a valid length of a segment",
                "give from 0.001 s to 30 days");
  }
  return {std::llround(seconds * 1e9), level};
}

}  // namespace

Schedule step(double low, double high, double hold_s) {
  return {segment(hold_s, low, "--hold"), segment(hold_s, high, "--hold"), segment(hold_s, low, "--hold")};
}

Schedule square(double low, double high, double period_s, std::int64_t cycles, double lead_s) {
  if (cycles < 1 || static_cast<std::size_t>(cycles) > kMostSegments / 2) {
    throw usage("--cycles " + std::to_string(cycles) + " cannot be driven", "give from 1 to 500000");
  }
  Schedule schedule;
  const auto period_ns = std::llround(period_s * 1e9);
  Segment on = segment(period_s / 2, high, "--period");
  Segment off = segment(period_s / 2, low, "--period");
  on.length_ns = period_ns / 2;
  off.length_ns = period_ns - on.length_ns;
  if (lead_s > 0) schedule.push_back(segment(lead_s, low, "--lead"));
  for (std::int64_t i = 0; i < cycles; ++i) {
    schedule.push_back(on);
    schedule.push_back(off);
  }
  if (lead_s > 0) schedule.push_back(segment(lead_s, low, "--lead"));
  return schedule;
}

Schedule staircase(const std::vector<double>& levels, double hold_s) {
  if (levels.size() < 2) throw usage("--levels needs at least two", "such as 0,0.25,0.5,0.75,1");
  Schedule schedule;
  for (const double level : levels) schedule.push_back(segment(hold_s, level, "--levels"));
  for (auto i = levels.size() - 1; i > 0; --i) schedule.push_back(segment(hold_s, levels[i - 1], "--levels"));
  return schedule;
}

Schedule markers(double low, double high, double scale) {
  const double golden = (std::sqrt(5.0) - 1) / 2;
  Schedule schedule;
  for (int i = 1; i <= 2 * kMarkers + 1; ++i) {
    const double part = i * golden - std::floor(i * golden);
    schedule.push_back(segment(scale * (12 + 25 * part), i % 2 == 0 ? high : low, "--scale"));
  }
  return schedule;
}

Schedule constant(double level, double seconds) { return {segment(seconds, level, "--seconds")}; }

Schedule parse(const std::string& text, const std::string& where) {
  Schedule schedule;
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    line.resize(std::min(line.find('#'), line.size()));
    std::istringstream words(line);
    words.imbue(std::locale::classic());
    std::string blank;
    if (!(std::istringstream(line) >> blank)) continue;
    double seconds = 0;
    double level = 0;
    std::string more;
    std::string place = where;
    place.append(", line ").append(std::to_string(number));
    if (!(words >> seconds >> level) || (words >> more)) {
      throw usage(place.append(": '").append(line).append("' is not a valid segment"),
                  "write seconds and level, such as: 0.5 1");
    }
    schedule.push_back(segment(seconds, level, place));
    if (schedule.size() > kMostSegments) throw usage(where + " has more than 1000000 segments", "part it");
  }
  if (schedule.empty()) throw usage(where + " has no segment", "write seconds and level on each line, such as: 0.5 1");
  return schedule;
}

std::vector<double> duties(double level, int threads, bool evenly) {
  std::vector<double> share(static_cast<std::size_t>(threads), level);
  if (evenly) return share;
  for (int i = 0; i < threads; ++i) share[static_cast<std::size_t>(i)] = std::clamp(level * threads - i, 0.0, 1.0);
  return share;
}

std::int64_t length_ns(const Schedule& schedule) {
  return std::accumulate(schedule.begin(), schedule.end(), std::int64_t{0},
                         [](std::int64_t sum, const Segment& one) { return sum + one.length_ns; });
}

}  // namespace shakedown::load
