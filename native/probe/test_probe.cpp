// The loops leave exactly what they must, in every instruction set that this machine runs, and the check sees what is
// not.
#include <cmath>
#include <limits>
#include <memory>
#include <string>

#include "common/isa.hpp"
#include "measure.hpp"
#include "probe.hpp"
#include "testing/check.hpp"

namespace {

using namespace shakedown;
using namespace shakedown::probe;

void loops_are_exact(Checks& checks, const Kernel& kernel) {
  const std::string isa = kernel.isa;
  for (const std::int64_t blocks : {0, 1, 3}) {
    State<double> wide;
    wide.reset();
    kernel.fma64(blocks, wide.data());
    checks.equal(wide.defect(kFactors64, kernel.chains, kernel.lanes64), 0.0, isa + " in double precision");
    State<float> narrow;
    narrow.reset();
    kernel.fma32(blocks, narrow.data());
    checks.equal(narrow.defect(kFactors32, kernel.chains, kernel.lanes32), 0.0, isa + " in single precision");
    for (int density = 0; density < kDensities; ++density) {
      wide.reset();
      const auto sum = kernel.mixed(blocks, density, wide.data());
      checks.equal(sum, static_cast<std::uint64_t>(steps_of(blocks) * kernel.adds[density]), isa + ": the chain's sum");
      checks.equal(wide.defect(kFactors64, kernel.chains, kernel.lanes64), 0.0, isa + " beside the chain");
    }
  }
  checks.that(kernel.adds[0] > kernel.adds[1] && kernel.adds[1] > kernel.adds[2], "each density is denser");
  checks.that(kernel.chains <= kMostChains && kernel.lanes64 * 8 <= kMostBytes, "the state has room");
  checks.equal(kernel.lanes32, 2 * kernel.lanes64, "single precision has twice the lanes");
}

/// One operation too many, a spoilt lane and a NaN are seen.
void defects_are_seen(Checks& checks, const Kernel& kernel) {
  State<double> state;
  state.reset();
  checks.that(state.defect(kFactors64, kernel.chains, kernel.lanes64) > 0, "nothing done is not right");
  for (const int lane : {0, kernel.lanes64, kernel.chains * kernel.lanes64 - 1}) {
    for (const double wrong : {1.0, -1.0, 1e12, std::numeric_limits<double>::quiet_NaN()}) {
      state.reset();
      kernel.fma64(1, state.data());
      state.data()[lane] += wrong;
      const double found = state.defect(kFactors64, kernel.chains, kernel.lanes64);
      checks.that(!(found <= 0), "lane " + std::to_string(lane) + " off by " + std::to_string(wrong));
    }
  }
  state.reset();
  kernel.fma64(1, state.data());
  state.data()[1] += 0.5 * kFactors64.p[0] * kFactors64.q[0];
  checks.that(state.defect(kFactors64, kernel.chains, kernel.lanes64) > 0, "half an operation");
}

/// The factors must be exact at the largest sum, or the closed form would be none.
void factors_are_exact(Checks& checks) {
  const double most64 = kMostChains * kMostBytes / 8.0;
  const double most32 = kMostChains * kMostBytes / 4.0;
  for (int i = 0; i < 2; ++i) {
    checks.that(kSteps * kFactors64.p[i] * kFactors64.q[i] + most64 <= 0x1p53, "double's whole numbers end at 2^53");
    checks.that(kSteps * double{kFactors32.p[i]} * kFactors32.q[i] + most32 <= 0x1p24, "single's at 2^24");
    checks.equal(std::floor(kFactors64.p[i]), kFactors64.p[i], "a whole number");
  }
}

struct Count final : Work {
  void prepare() override { ++prepared; }
  void run() override { ++ran; }
  [[nodiscard]] double defect() const override { return wrong_at == ran ? bad : 0; }
  int prepared = 0, ran = 0, wrong_at = -1;
  double bad = 0;
};

void series_are_whole(Checks& checks) {
  Team team({allowed_cpus().front(), allowed_cpus().back()});
  std::vector<std::unique_ptr<Count>> works;
  works.push_back(std::make_unique<Count>());
  works.push_back(std::make_unique<Count>());
  works[1]->wrong_at = 3;
  works[1]->bad = 7;
  const Series both = measure(team, works, 5, 0);
  checks.equal(works[0]->ran, 6, "the samples and one before");
  checks.equal(works[0]->prepared, 6, "each of them prepared");
  checks.equal(std::ssize(both.whole), 5, "five samples");
  checks.equal(std::ssize(both.cpu_seconds.at(1)), 5, "of each thread");
  checks.equal(both.defect, 7.0, "a defect of any thread in any sample stays");
  for (const double whole : both.whole) checks.that(whole >= 0, "no sample has negative time");
  works.pop_back();
  works[0]->wrong_at = 8;
  works[0]->bad = std::numeric_limits<double>::quiet_NaN();
  const Series alone = measure(team, works, 5, 0);
  checks.equal(std::ssize(alone.cpu_seconds), 1, "one thread alone");
  checks.that(std::isnan(alone.defect), "NaN is never lost");
}

}  // namespace

int main() {
  Checks checks;
  factors_are_exact(checks);
  series_are_whole(checks);
  checks.equal(add_chain(640), std::uint64_t{640}, "the scalar chain");
  checks.equal(add_chain(1), std::uint64_t{64}, "is a whole number of rounds");
  int run = 0;
  for (const auto& isa : kernel_names()) {
    const auto usable = machine_isas();
    if (std::find(usable.begin(), usable.end(), isa) == usable.end()) continue;
    ++run;
    loops_are_exact(checks, kernel(isa));
    defects_are_seen(checks, kernel(isa));
  }
  checks.that(run > 0 || kernel_names().empty(), "some kernel was tested");
  checks.throws<Error>([] { kernel("mmx"); }, "an instruction set that was not built in");
  return checks.end();
}
