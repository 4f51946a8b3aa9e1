// Drives power on command, and tells when each edge of it really was: see README.md.
#include <charconv>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>

#include "common/affinity.hpp"
#include "common/args.hpp"
#include "common/emit.hpp"
#include "common/isa.hpp"
#include "drive.hpp"

namespace shakedown::load {
namespace {

struct Request {
  Schedule schedule;
  std::string pattern;
  Options options;
  std::string isa;
  bool verify = true;
};

std::string text_of(const std::string& path) {
  if (path == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  std::ifstream file(path);
  if (!file) throw usage("the schedule " + path + " cannot be read", "give a file, or - for standard input");
  return {std::istreambuf_iterator<char>(file), {}};
}

double number(const std::string& word) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size()) throw usage("--levels: '" + word + "' is not a number");
  return value;
}

Schedule pattern_of(Args& args, const std::string& name) {
  const double seconds = args.real("seconds", 10, 0, "constant, square: how long in all");
  const double low = args.real("low", 0, 0, "share of full load in the low parts");
  const double high = args.real("high", 1, 0, "share of full load in the high parts, and of constant");
  const double hold = args.real("hold", 10, 0, "step, staircase: seconds on each level");
  const double period = args.real("period", 1, 0, "square: seconds of a high and a low part together");
  const auto cycles = args.integer("cycles", 0, 0, "square: how many periods (0: as many as fit into --seconds)");
  const double lead = args.real("lead", 0, 0, "square: seconds of low before and after");
  const double scale = args.real("scale", 1, 0, "markers: times this; at 1 the parts last 12 to 37 s, 11 min in all");
  std::vector<double> levels;
  for (const auto& word : args.words("levels", "0,0.25,0.5,0.75,1", "staircase: levels, taken up and down again")) {
    levels.push_back(number(word));
  }
  if (name == "constant") return constant(high, seconds);
  if (name == "step") return step(low, high, hold);
  if (name == "staircase") return staircase(levels, hold);
  if (name == "markers") return markers(low, high, scale);
  if (name == "square") {
    const auto fitting = period > 0 ? std::llround(std::min(seconds / period, 1e6)) : 0;
    return square(low, high, period, cycles > 0 ? cycles : std::max<std::int64_t>(1, fitting), lead);
  }
  throw usage("unknown pattern '" + name + "'", "known: constant, step, square, staircase, markers");
}

Request parse(int argc, char** argv) {
  Args args(argc, argv, "load: drives power on command, with edges on an absolute clock, and reports when they were");
  Request asked;
  asked.pattern = args.text("pattern", "constant", "constant, step, square, staircase or markers");
  const auto file = args.text("schedule", "", "instead of a pattern: a file of lines 'seconds level'; - reads them");
  const auto threads = static_cast<int>(
      args.integer("threads", usable_cores(), 1, "threads at full load (default: one for each core)", 1 << 20));
  const auto cpus = args.text("cpus", "", "CPUs to pin to, in order (default: cores first, spread)");
  const auto spread = args.text("spread", "threads",
                                "a part of the load is some threads at work (threads), or all of "
                                "them a part of the time (time)");
  asked.options.slot_ns =
      std::llround(1e9 * args.real("slot", 0.001, 0.0001, "seconds within which a thread works its share"));
  asked.options.start_unix_ns = args.integer("start", 0, 0, "Unix time in ns of the first edge (0: at once)");
  asked.isa = args.text("isa", "auto", "instruction set of the multiply-adds, such as avx2; auto: the widest");
  asked.verify = !args.flag("no-verify", "leave the check out");
  const Schedule made = pattern_of(args, asked.pattern);
  args.finish();
  if (spread != "threads" && spread != "time") throw usage("--spread '" + spread + "' is neither threads nor time");
  asked.options.evenly = spread == "time";
  if (!file.empty()) asked.pattern = "schedule";
  asked.schedule = file.empty() ? made : load::parse(text_of(file), file == "-" ? "standard input" : file);
  asked.options.cpus = choose_cpus(threads, cpus);
  if (asked.options.start_unix_ns != 0 && asked.options.start_unix_ns < unix_ns()) {
    throw usage("--start is in the past", "give a later time, or leave it out");
  }
  asked.isa = choose_isa(asked.isa, probe::kernel_names());
  return asked;
}

/// A phase event with a time that was taken when it happened, not when it is told.
void tell(const char* edge, std::int64_t unix_ns, double level) {
  Object event;
  event.add("event", "phase").add("name", "load").add("edge", edge).add("unix_ns", unix_ns);
  event.add("label", to_json(level));
  const std::string line = to_json(event) + '\n';
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

void cases(Emitter& emitter, const Request& asked, const Driven& driven) {
  const Residual residual{driven.defect, 0, "difference from the exact result"};
  const auto described = [&](const char* kernel) {
    Case one;
    one.kernel = kernel;
    one.params.add("pattern", asked.pattern).add("threads", static_cast<int>(asked.options.cpus.size()));
    one.params.add("isa", asked.isa);
    one.begin_ns = driven.begin_ns;
    one.end_ns = driven.end_ns;
    return one;
  };
  Case edges = described("load_edges");
  for (const auto& edge : driven.edges) edges.seconds.push_back(edge.late_s);
  emitter.series(edges, nullptr);
  if (driven.worked_s <= 0) return;
  Case work = described("load_work");
  work.work.add("flop", driven.flop).add("busy_s", driven.worked_s).add("asked_s", driven.asked_s);
  work.seconds = {static_cast<double>(driven.end_ns - driven.begin_ns) * 1e-9};
  emitter.series(work, asked.verify ? &residual : nullptr);
}

void notices(Emitter& emitter, const Driven& driven) {
  char text[160];
  if (driven.on_cpu_s < 0.95 * driven.worked_s) {
    std::snprintf(text, sizeof text,
                  "the threads had their CPUs for %.0f %% of the time: the power was below what was "
                  "requested",
                  100 * driven.on_cpu_s / driven.worked_s);
    emitter.notice("cpu-taken", text, "run it with nothing else on these CPUs");
  }
  if (driven.asked_s > 0.1 && std::fabs(driven.worked_s / driven.asked_s - 1) > 0.05) {
    std::snprintf(text, sizeof text, "the threads worked %.1f %% of the time that was requested",
                  100 * driven.worked_s / driven.asked_s);
    emitter.notice("level", text, "take longer segments (--period, --hold), or a longer --slot");
  }
}

int run(int argc, char** argv) {
  const Request asked = parse(argc, argv);
  Emitter emitter;
  Object facts;
  facts.add("threads", static_cast<int>(asked.options.cpus.size())).add("cpus", asked.options.cpus);
  facts.add("isa", asked.isa).add("segments", static_cast<std::int64_t>(asked.schedule.size()));
  facts.add("planned_s", static_cast<double>(length_ns(asked.schedule)) * 1e-9);
  facts.add("spread", asked.options.evenly ? "time" : "threads");
  emitter.start("load", argc, argv, facts);
  const auto watch = [&](std::size_t edge, std::int64_t at_ns) {
    if (edge > 0) tell("end", at_ns, asked.schedule[edge - 1].level);
    if (edge < asked.schedule.size()) tell("begin", at_ns, asked.schedule[edge].level);
  };
  const Driven driven = drive(asked.schedule, probe::kernel(asked.isa), asked.options, watch);
  cases(emitter, asked, driven);
  notices(emitter, driven);
  emitter.end();
  return emitter.ok() ? kOk : kCheckFailed;
}

}  // namespace
}  // namespace shakedown::load

int main(int argc, char** argv) { return shakedown::run_main("load", argc, argv, shakedown::load::run); }
