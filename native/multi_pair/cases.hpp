// What is measured after what, and how it is told.
#pragma once

#include <string>
#include <vector>

#include "multi_pair.hpp"
#include "rails.hpp"

namespace shakedown::multi_pair {

/// A case with what tells it from others. Its members are ranks of the job, its pairs places among them.
struct Planned {
  Shape shape;
  Placement placement = Placement::halves;
  std::vector<int> members;
};

/// "bandwidth of 8 bytes by 2 pairs, halves".
std::string words_of(const Planned& planned);
/// `method` is said of a ring; empty: the case's own.
Object params_of(const Ranks& ranks, const Options& options, const Planned& planned, const std::string& method = "");

/// Print what a case gave: all together, each pair, the slowest, and of rings hpcc's figure. Rank 0 of the job calls
/// it.
class Telling {
 public:
  Telling(Emitter& emitter, const Ranks& ranks, const Options& options)
      : emitter_(emitter), ranks_(ranks), options_(options) {}
  void tell(const Planned& planned, const Series& series);
  /// What each network carried meanwhile, and whether it is the one that was chosen.
  void tell_rails(const Planned& planned, const Series& series, const std::vector<std::int64_t>& bytes);

 private:
  void tell_stray(const Planned& planned, const Carried& carried, double share);
  void tell_together(const Planned& planned, const Series& series);
  void tell_pairs(const Planned& planned, const Series& series);
  void tell_hpcc(const Planned& planned, const Series& series);
  void tell_wrong(const Planned& planned, const Wrong& wrong);
  [[nodiscard]] std::string rank_of(const Planned& planned, int member) const;
  Emitter& emitter_;
  const Ranks& ranks_;
  const Options& options_;
  std::vector<double> by_turns_s_;  // a ring by its first method: hpcc takes the faster of both
};

}  // namespace shakedown::multi_pair
