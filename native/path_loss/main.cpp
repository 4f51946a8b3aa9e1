// path_loss: the radio path loss of all pairs of radios over terrain. The story: parse -> make the terrain -> for each
// number of radios and of points: place the radios, find all losses (warm-up), measure samples of all pairs, check some
// against the plain form, emit.
#include <algorithm>

#include "all_pairs.hpp"
#include "common/isa.hpp"
#include "common/memory.hpp"
#include "course.hpp"

namespace shakedown::radio {
namespace {

struct Options {
  Course course;
  std::vector<std::int64_t> threads;
  double seconds = 0;
  std::int64_t samples = 0;
  std::string isa, cpus;
};

Options parse_options(int argc, char** argv) {
  Args args(
      argc, argv,
      "path_loss: the loss of all pairs of radios by the Irregular Terrain Model, over terrain made from a seed.");
  Options o;
  o.course = read_course(args, "1000", "fp64");
  o.threads = args.integers("threads", std::to_string(allowed_cpus().size()), 1, "numbers of threads, in turn");
  o.samples = args.integer("samples", 5, 1, "at least so many samples of each case, each of all pairs");
  o.seconds = args.real("seconds", 0, 0, "repeat each case for at least so many seconds");
  o.isa = args.text("isa", "auto", "avx512, avx2, neon or plain; auto: the widest that runs here");
  o.cpus = args.text("cpus", "", "pin thread i to the i-th CPU of this list (0-3,8); default: cores first");
  args.finish();
  require_course(o.course);
  if (o.threads.empty()) throw usage("nothing to measure: --threads needs a value", "see --help");
  return o;
}

/// Seconds for one more sample.
double sample_s(const Course& course, const Ask& ask, AllPairs& pairs, std::int64_t done) {
  if (ask.moved == 0) return pairs.find();
  const std::uint64_t seed = course.seed + 1 + static_cast<std::uint64_t>(done);
  return pairs.move(movers(ask, done), random_radios(seed, static_cast<std::size_t>(ask.moved), course.side));
}

void measure_case(const Options& options, Emitter& emitter, Team& team, const Isa& isa, const Ground& ground,
                  const Ask& ask) {
  const Course& course = options.course;
  const std::string label = label_of(ask) + ", " + std::to_string(team.size()) + " threads";
  require_memory(all_links(static_cast<std::uint64_t>(ask.radios)) * sizeof(float), label);
  const Field field{course.side, course.step_m, course.antenna_m};
  const Links links{ground, prepare(course.setting), static_cast<int>(ask.points)};
  AllPairs pairs(team, isa, ask.precision, links, field,
                 random_radios(course.seed, static_cast<std::size_t>(ask.radios), course.side));
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
      result.seconds.push_back(sample_s(course, ask, pairs, done));
      const double by_count = static_cast<double>(done + 1) / static_cast<double>(options.samples);
      const double by_time = options.seconds > 0 ? (now_s() - begin) / options.seconds : 1;
      emitter.progress(std::min({by_count, by_time, 1.0}), label);
    }
    result.end_ns = unix_ns();
  }
  describe(result, course, ask);
  result.params.add("threads", team.size()).add("isa", isa.name);
  result.work.add("links", links_of(ask)).add("points", links_of(ask) * ask.points);
  if (!course.verify) {
    emitter.series(result, nullptr);
    return;
  }
  const PhaseMark phase(emitter, "verify", label);
  for (float& loss : pairs.loss_db()) loss += static_cast<float>(course.break_loss_db);
  const Residual residual = residual_of(course, ask, ground, pairs.radios(), pairs.loss_db());
  emitter.series(result, &residual);
}

int run(int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  const Isa& isa = isa_of(choose_isa(options.isa, isas_built()));
  for (const auto threads : options.threads) choose_cpus(static_cast<int>(threads), options.cpus);
  Emitter emitter;
  std::vector<std::string> names;
  for (const Isa* const one : isas_here()) names.emplace_back(one->name);
  Object facts;
  facts.add("isa", isa.name).add("isas_here", names).add("threads", options.threads);
  add_facts(facts, options.course);
  emitter.start("path_loss", argc, argv, facts);
  const Ground ground = [&] {
    const PhaseMark phase(emitter, "init", "terrain");
    return ground_of(options.course);
  }();
  for (const auto threads : options.threads) {
    Team team(choose_cpus(static_cast<int>(threads), options.cpus));
    emitter.facts(Object().add("cpus of " + std::to_string(threads) + " threads", team.binding_words()));
    for (const Ask& ask : cases_of(options.course)) measure_case(options, emitter, team, isa, ground, ask);
  }
  emitter.end();
  return emitter.ok() ? kOk : kCheckFailed;
}

}  // namespace
}  // namespace shakedown::radio

int main(int argc, char** argv) { return shakedown::run_main("path_loss", argc, argv, shakedown::radio::run); }
