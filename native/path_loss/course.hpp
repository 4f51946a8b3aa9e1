// What the programs of path loss have in common: which radios stand on which terrain, which of them move, and the check
// of the losses that were found.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/args.hpp"
#include "common/emit.hpp"
#include "radio/itm_setting.hpp"
#include "radio/loops.hpp"
#include "radio/terrain.hpp"

namespace shakedown::radio {

struct Course {
  std::vector<std::int64_t> radios, points, moved;
  std::vector<Precision> precisions;
  HeightKind heights = HeightKind::int16;
  Setting setting;
  double antenna_m = 0, step_m = 0, relief_m = 0, break_loss_db = 0;
  int side = 0;
  std::uint64_t seed = 0;
  bool verify = true;
};

/// One case of a course.
struct Ask {
  std::int64_t radios, points, moved;
  Precision precision;
};

/// `radios`, `precision`: what is taken where nothing is said.
Course read_course(Args& args, const std::string& radios, const std::string& precision);
/// After Args::finish. Throws a usage error for what cannot be.
void require_course(const Course& course);
std::vector<Ask> cases_of(const Course& course);

const char* word(Precision precision);
/// "1000 radios, 500 points, 20 moved, fp32"
std::string label_of(const Ask& ask);
std::uint64_t all_links(std::uint64_t radios);
/// How many links one sample finds: all, or those of the radios that moved.
std::int64_t links_of(const Ask& ask);
/// A case but for its samples: what tells it from others, and the work of one sample.
void describe(Case& result, const Course& course, const Ask& ask);
/// For the start event.
void add_facts(Object& facts, const Course& course);

/// Throws where the memory is too short.
Ground ground_of(const Course& course);

/// Which radios move before a sample: spread over all, others each time.
std::vector<std::uint32_t> movers(const Ask& ask, std::int64_t sample);

/// Of 200 losses spread over all pairs against those of point_to_point, over profiles in double.
Residual residual_of(const Course& course, const Ask& ask, const Ground& ground, const Radios& radios,
                     const std::vector<float>& loss_db);

/// Where the losses of a radio to those behind it begin, in rows one behind the other.
constexpr std::uint64_t row_begin(std::uint64_t from, std::uint64_t count) { return from * (2 * count - from - 1) / 2; }

}  // namespace shakedown::radio
