// What load is asked for, as data: a list of levels and how long each holds. Pure; the edges follow from it alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace shakedown::load {

/// A share of full load, held for a while. Lengths are whole nanoseconds, so that sums of them do not drift.
struct Segment {
  std::int64_t length_ns = 0;
  double level = 0;
};
using Schedule = std::vector<Segment>;

inline constexpr std::int64_t kShortest_ns =
    1'000'000;  // of a segment: below it the wake-up of a thread is what is seen
inline constexpr std::size_t kMostSegments = 1'000'000;
inline constexpr int kMarkers = 13;

/// Low, high, low: `hold_s` seconds each.
Schedule step(double low, double high, double hold_s);

/// Periods of high, then low, half a period each, between two stretches of low of `lead_s` (left out where that is 0).
Schedule square(double low, double high, double period_s, std::int64_t cycles, double lead_s);

/// The levels in the order given, then back down to the first: each but the last given one comes twice, so that a drift
/// is told from a curve.
Schedule staircase(const std::vector<double>& levels, double hold_s);

/// kMarkers pulses of irregular lengths, with low before, between and after: the i-th segment of 2 kMarkers + 1 lasts
/// scale x (12 + 25 frac(i g)) seconds with g = (sqrt 5 - 1) / 2, i from 1. No shift of it but zero looks like it, and
/// its edges fall into all parts of a meter's refresh period.
Schedule markers(double low, double high, double scale);

Schedule constant(double level, double seconds);

/// One segment a line: seconds, blanks, level from 0 to 1; # begins a comment. Throws a usage error with the line.
Schedule parse(const std::string& text, const std::string& where);

/// The share of its time that each of `threads` threads works at a level: as many as fit work all of it, one works the
/// rest, the others none. With `evenly` every one works that share.
std::vector<double> duties(double level, int threads, bool evenly);

/// Nanoseconds of all segments.
std::int64_t length_ns(const Schedule& schedule);

}  // namespace shakedown::load
