// path_loss: the radio path loss of all pairs of radios over terrain. The story: parse -> make the terrain -> for each
// number of radios and of points: place the radios, find all losses (warm-up), measure samples of all pairs, check some
// against the plain form, emit.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

#include "common/args.hpp"
#include "common/emit.hpp"
#include "common/isa.hpp"
#include "common/memory.hpp"
#include "common/team.hpp"
#include "loops.hpp"

namespace shakedown::radio {
namespace {

struct Options {
  std::vector<std::int64_t> radios, points, threads;
  Setting setting;
  double antenna_m = 0, step_m = 0, relief_m = 0, seconds = 0, break_loss_db = 0;
  int side = 0;
  std::uint64_t seed = 0;
  std::int64_t samples = 0;
  std::string isa, cpus;
  bool verify = true;
};

constexpr std::size_t kChecked = 200;  // links of a case

Options parse_options(int argc, char** argv) {
  Args args(
      argc, argv,
      "path_loss: the loss of all pairs of radios by the Irregular Terrain Model, over terrain made from a seed.");
  Options o;
  o.radios = args.integers("radios", "1000", 2, "numbers of radios, in turn");
  o.points = args.integers("points", "500", 2, "points of each profile, in turn");
  o.threads = args.integers("threads", std::to_string(allowed_cpus().size()), 1, "numbers of threads, in turn");
  o.setting.frequency_mhz = args.real("frequency-mhz", o.setting.frequency_mhz, 20, "of the radios, to 20000");
  const std::string polarization = args.text("polarization", "vertical", "vertical or horizontal");
  o.setting.climate = static_cast<int>(args.integer("climate", o.setting.climate, 1, "1 equatorial to 7 over sea", 7));
  o.antenna_m = args.real("antenna-m", 2, 0.5, "height of every antenna above ground, to 3000");
  o.side = static_cast<int>(args.integer("side", 2049, 3, "points of the terrain's grid along a side", 30001));
  o.step_m = args.real("step-m", 30, 0.1, "between the points of the grid");
  o.relief_m = args.real("relief-m", 600, 0, "from the lowest to the highest point of the terrain, to 9000");
  o.seed = static_cast<std::uint64_t>(args.integer("seed", 1, 0, "of the terrain and of the places"));
  o.samples = args.integer("samples", 5, 1, "at least so many samples of each case, each of all pairs");
  o.seconds = args.real("seconds", 0, 0, "repeat each case for at least so many seconds");
  o.isa = args.text("isa", "auto", "avx512, avx2, neon or plain; auto: the widest that runs here");
  o.cpus = args.text("cpus", "", "pin thread i to the i-th CPU of this list (0-3,8); default: cores first");
  o.verify = !args.flag("no-verify", "leave the check out");
  o.break_loss_db = args.real("break-loss-db", 0, 0, "added to a loss, to see the check fail");
  args.finish();
  if (polarization != "vertical" && polarization != "horizontal") {
    throw usage("--polarization '" + polarization + "' is not known", "vertical or horizontal");
  }
  o.setting.polarization = polarization == "vertical" ? Polarization::vertical : Polarization::horizontal;
  if (o.radios.empty() || o.points.empty() || o.threads.empty()) {
    throw usage("nothing to measure: --radios, --points and --threads each need a value", "see --help");
  }
  std::uint32_t warnings = 0;
  ItmError error = check_heights(o.antenna_m, o.antenna_m, warnings);
  if (error == ItmError::none) error = check(o.setting, warnings);
  if (error != ItmError::none) throw usage(words_of(error), "see --help");
  if (o.relief_m > 9000) throw usage("--relief-m is above 9000", "the Earth has no more");
  for (const auto n : o.radios) {
    if (n > 100'000) throw usage("--radios " + std::to_string(n) + " is above 100000", "ask for fewer");
  }
  for (const auto n : o.points) {
    if (n > 100'000) throw usage("--points " + std::to_string(n) + " is above 100000", "ask for fewer");
  }
  return o;
}

/// Where the losses of a radio to those behind it begin, in rows one behind the other.
std::size_t row_begin(std::size_t from, std::size_t count) { return from * (2 * count - from - 1) / 2; }

/// What one thread needs: profiles, and the links of a radio in the order in which they are found.
struct Scratch {
  Aligned profiles;
  std::vector<std::pair<float, std::uint32_t>> by_direction;
  std::vector<std::uint32_t> to;
  std::vector<float> loss_db;

  Scratch(std::size_t numbers, std::size_t radios) : profiles(numbers), to(radios), loss_db(radios) {
    by_direction.reserve(radios);
  }
};

/// Grows with the direction of (x, y), from 0 to 4 around the circle.
float direction(double x, double y) {
  const double sum = std::fabs(x) + std::fabs(y), part = sum > 0 ? y / sum : 0;
  return static_cast<float>(x < 0 ? 2 - part : y < 0 ? 4 + part : part);
}

/// All pairs of radios, their losses, and the threads that find them.
class AllPairs {
 public:
  AllPairs(Team& team, const Isa& isa, const Links& links)
      : team_(team), isa_(isa), links_(links), loss_db_(row_begin(links.radios.count(), links.radios.count())) {
    const std::size_t numbers = static_cast<std::size_t>(links.points) * static_cast<std::size_t>(isa.lanes);
    for (int thread = 0; thread < team.size(); ++thread) scratch_.emplace_back(numbers, links.radios.count());
  }

  /// Seconds for all losses once.
  double find() {
    next_.store(0, std::memory_order_relaxed);
    const double begin = now_s();
    team_.run([&](int thread) {  // the longest rows come first
      for (;;) {
        const std::size_t from = next_.fetch_add(1, std::memory_order_relaxed);
        if (from + 1 >= links_.radios.count()) return;
        find_row(from, scratch_[static_cast<std::size_t>(thread)]);
      }
    });
    return now_s() - begin;
  }

  [[nodiscard]] std::vector<float>& loss_db() { return loss_db_; }

 private:
  /// The losses of a radio to those behind it, by direction: neighbouring paths read the same lines of the terrain.
  void find_row(std::size_t from, Scratch& scratch) {
    const Radios& radios = links_.radios;
    scratch.by_direction.clear();
    for (std::size_t to = from + 1; to < radios.count(); ++to) {
      scratch.by_direction.emplace_back(direction(radios.x[to] - radios.x[from], radios.y[to] - radios.y[from]),
                                        static_cast<std::uint32_t>(to));
    }
    std::sort(scratch.by_direction.begin(), scratch.by_direction.end());
    const std::size_t count = scratch.by_direction.size();
    for (std::size_t i = 0; i < count; ++i) scratch.to[i] = scratch.by_direction[i].second;
    isa_.losses(links_, from, scratch.to.data(), count, scratch.profiles.data(), scratch.loss_db.data());
    float* const row = &loss_db_[row_begin(from, radios.count())];
    for (std::size_t i = 0; i < count; ++i) row[scratch.to[i] - from - 1] = scratch.loss_db[i];
  }

  Team& team_;
  const Isa& isa_;
  const Links& links_;
  std::vector<float> loss_db_;
  std::vector<Scratch> scratch_;
  std::atomic<std::size_t> next_{0};
};

/// The largest difference of losses spread over all pairs from those of point_to_point, one by one; NaN where a loss
/// is no number.
double largest_difference_db(const Options& options, const Links& links, const std::vector<float>& loss_db) {
  const std::size_t count = links.radios.count();
  for (const float loss : loss_db) {
    if (!std::isfinite(loss)) return std::nan("");
  }
  double worst = 0;
  std::vector<double> profile(static_cast<std::size_t>(links.points));
  const std::size_t stride = std::max<std::size_t>(1, loss_db.size() / kChecked);
  std::size_t from = 0;
  for (std::size_t link = 0; link < loss_db.size(); link += stride) {
    while (row_begin(from + 1, count) <= link) ++from;
    const std::size_t to = link - row_begin(from, count) + from + 1;
    using One = Lanes<double, 1>;
    const One step =
        sample_profiles<One>(links.terrain, links.radios.x[from], links.radios.y[from], One(links.radios.x[to]),
                             One(links.radios.y[to]), links.points, profile.data());
    const ItmResult result = point_to_point(options.setting, options.antenna_m, options.antenna_m, profile, step[0]);
    worst = std::fmax(worst, std::fabs(result.loss_db - static_cast<double>(loss_db[link])));
  }
  return worst;
}

void measure_case(const Options& options, Emitter& emitter, Team& team, const Isa& isa, const Terrain& terrain,
                  std::int64_t radios, std::int64_t points) {
  const std::string label = std::to_string(radios) + " radios, " + std::to_string(points) + " points, " +
                            std::to_string(team.size()) + " threads";
  const Radios places = random_radios(options.seed, static_cast<std::size_t>(radios), terrain);
  const Links links{terrain, places, prepare(options.setting), options.antenna_m, static_cast<int>(points)};
  require_memory(static_cast<std::uint64_t>(radios) * static_cast<std::uint64_t>(radios - 1) / 2 * sizeof(float),
                 label);
  AllPairs pairs(team, isa, links);
  Case result;
  {
    const PhaseMark phase(emitter, "warmup", label);
    pairs.find();
  }
  {
    const PhaseMark phase(emitter, "measure", label);
    result.begin_ns = unix_ns();
    const double begin = now_s();
    for (std::int64_t done = 0; done < options.samples || now_s() - begin < options.seconds; ++done) {
      result.seconds.push_back(pairs.find());
      const double by_count = static_cast<double>(done + 1) / static_cast<double>(options.samples);
      const double by_time = options.seconds > 0 ? (now_s() - begin) / options.seconds : 1;
      emitter.progress(std::min({by_count, by_time, 1.0}), label);
    }
    result.end_ns = unix_ns();
  }
  if (options.break_loss_db > 0) pairs.loss_db().front() += static_cast<float>(options.break_loss_db);
  const std::int64_t all = radios * (radios - 1) / 2;
  result.kernel = "itm";
  result.params.add("n", radios).add("points", points).add("threads", team.size());
  result.params.add("precision", "fp64").add("isa", isa.name);
  result.work.add("links", all).add("points", all * points);
  if (!options.verify) {
    emitter.series(result, nullptr);
    return;
  }
  const PhaseMark phase(emitter, "verify", label);
  // Losses are kept in single precision: up to 512 dB they are rounded by less than 2^-15 dB.
  const Residual residual{largest_difference_db(options, links, pairs.loss_db()), 0x1p-15,
                          "largest difference from the plain form of " + std::to_string(kChecked) + " links, dB"};
  emitter.series(result, &residual);
}

int run(int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  const Isa& isa = isa_of(choose_isa(options.isa, isas_built()));
  if (bad_ground(prepare(options.setting))) throw usage(words_of(ItmError::ground_impedance), "see --help");
  for (const auto threads : options.threads) choose_cpus(static_cast<int>(threads), options.cpus);
  require_memory(static_cast<std::uint64_t>(options.side) * static_cast<std::uint64_t>(options.side) * 12,
                 "the terrain");
  Emitter emitter;
  std::vector<std::string> names;
  for (const Isa* const one : isas_here()) names.emplace_back(one->name);
  Object facts;
  facts.add("isa", isa.name).add("isas_here", names).add("threads", options.threads).add("model", "ITM 1.4");
  facts.add("frequency_mhz", options.setting.frequency_mhz).add("antenna_m", options.antenna_m);
  facts.add("terrain_m", (options.side - 1) * options.step_m).add("grid_m", options.step_m);
  facts.add("relief_m", options.relief_m).add("seed", static_cast<std::int64_t>(options.seed));
  emitter.start("path_loss", argc, argv, facts);
  Terrain terrain;
  {
    const PhaseMark phase(emitter, "init", "terrain");
    terrain = synthetic_terrain(options.seed, options.side, options.step_m, options.relief_m);
  }
  for (const auto threads : options.threads) {
    Team team(choose_cpus(static_cast<int>(threads), options.cpus));
    emitter.facts(Object().add("cpus of " + std::to_string(threads) + " threads", team.binding_words()));
    for (const auto radios : options.radios) {
      for (const auto points : options.points) measure_case(options, emitter, team, isa, terrain, radios, points);
    }
  }
  emitter.end();
  return emitter.ok() ? kOk : kCheckFailed;
}

}  // namespace
}  // namespace shakedown::radio

int main(int argc, char** argv) { return shakedown::run_main("path_loss", argc, argv, shakedown::radio::run); }
