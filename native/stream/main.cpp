// stream: memory and cache bandwidth by McCalpin's kernels, every element verified. The story: parse -> for each number
// of threads and each size: allocate and touch -> for each kernel: choose the loop, warm up, measure, verify, emit.

#include "common/emit.hpp"
#include "common/isa.hpp"
#include "common/level.hpp"
#include "layout.hpp"
#include "options.hpp"

namespace shakedown::stream {
namespace {

const IsaLoops& loops_of(const std::string& asked) {
  std::vector<std::string> names;
  const auto built = isas_built();
  for (std::size_t i = 0; i < built.count; ++i) names.emplace_back(built.first[i]->name);
  const auto chosen = choose_isa(asked, names);
  return *built.first[static_cast<std::size_t>(std::find(names.begin(), names.end(), chosen) - names.begin())];
}

LoopList list_of(const IsaLoops& loops, Kernel kernel, bool nt) {
  return (nt ? loops.non_temporal : loops.cached)[static_cast<int>(kernel)];
}

const LoopChoice* find_shape(const LoopList& list, const std::string& shape) {
  std::string known;
  for (std::size_t i = 0; i < list.count; ++i) {
    if (shape == list.first[i].shape) return &list.first[i];
    known += (i == 0 ? "" : ", ") + std::string(list.first[i].shape);
  }
  throw usage("this kernel has no loop '" + shape + "'", "known: auto, " + known);
}

/// How many bytes one pass over the arrays reaches.
std::uint64_t touched_bytes(Kernel kernel, std::uint64_t array_bytes) {
  const auto& facts = facts_of(kernel);
  return array_bytes * static_cast<std::uint64_t>((facts.out >= 0) + (facts.x >= 0) + (facts.y >= 0));
}

/// What is fixed while the arrays of one team stand.
struct Stage {
  const Options& options;
  const IsaLoops& loops;
  Emitter& emitter;
  Team& team;
  Arrays& arrays;
  CacheRoom room;
};

/// The pages that the arrays really got, in a word.
std::string pages_got(const Arrays& arrays) {
  std::string first = page_report(arrays.buffer(0).data()).word();
  for (int array = 1; array < 3; ++array) {
    if (page_report(arrays.buffer(array).data()).word() != first) return "mixed";
  }
  return first;
}

void note_pages(Emitter& emitter, const std::string& asked, const std::string& got) {
  if (got == asked || got == "unknown") return;
  emitter.notice("stream.pages", "requested " + asked + " pages and got " + got,
                 "see /sys/kernel/mm/transparent_hugepage/enabled: madvise or always gives huge pages");
}

/// STREAM's rule: each array at least four times the last-level caches in use.
void note_size(Emitter& emitter, std::uint64_t array_bytes, std::uint64_t touched, const CacheRoom& room) {
  const std::uint64_t last = *std::max_element(room.begin(), room.end());
  if (level_of(touched, room) != "memory" || array_bytes >= 4 * last) return;
  emitter.notice("stream.size",
                 "arrays of " + show_bytes(array_bytes) + " are less than four times the last-level caches of " +
                     show_bytes(last) + ", which STREAM asks for",
                 "use larger arrays; where a virtual machine shows the caches of its whole host, give --cache-bytes");
}

std::vector<bool> variants(const Stage& stage, Kernel kernel, std::uint64_t touched) {
  const bool has_nt = list_of(stage.loops, kernel, true).count > 0;
  const auto& word = stage.options.variant;
  if (facts_of(kernel).out < 0) return {false};  // no stores
  if (word == "auto") return {has_nt && exceeds_caches(touched, stage.room)};
  if (word != "cached" && !has_nt) {
    throw cannot(std::string("no non-temporal stores in the code for ") + stage.loops.name, "use --variant cached");
  }
  if (word == "both") return {false, true};
  return {word == "nt"};
}

Residual residual_of(const Stage& stage, Runner& runner, Kernel kernel) {
  if (stage.options.break_element) {
    const auto at = static_cast<std::size_t>(*stage.options.break_element) % stage.arrays.elements();
    stage.arrays.at(std::max(facts_of(kernel).out, 0))[at] += 1e-9;
  }
  const double error = worse(stage.arrays.check(stage.team, kernel), runner.sum_error());
  return {error, kLimit, "largest relative error of any element"};
}

/// What one series is of.
struct Subject {
  Kernel kernel;
  bool nt;
  std::string label;  // for a person
  std::string pages;  // that the arrays lie in
};

Case case_of(const Stage& stage, const Subject& subject, Samples&& samples) {
  const auto& facts = facts_of(subject.kernel);
  const std::uint64_t array_bytes = stage.arrays.elements() * sizeof(double);
  const std::uint64_t touched = touched_bytes(subject.kernel, array_bytes);
  const auto elements = static_cast<std::int64_t>(stage.arrays.elements()) * samples.passes;
  const bool fetches = facts.out >= 0 && !subject.nt && exceeds_caches(touched, stage.room);
  const auto level = level_of(touched, stage.room);
  Case result;
  result.kernel = facts.name;
  result.params.add("variant", subject.nt ? "nt" : "cached")
      .add("threads", stage.team.size())
      .add("bytes", array_bytes);
  // Stores past the caches leave the level that the arrays would lie in: such a time is that of no one level.
  if (!level.empty() && (!subject.nt || level == "memory")) result.params.add("level", level);
  result.params.add("isa", stage.loops.name).add("pages", subject.pages).add("placement", stage.options.placement);
  result.work.add("bytes", elements * facts.counted_bytes);
  result.work.add("bytes_moved", elements * (facts.counted_bytes + (fetches ? 8 : 0)));
  result.seconds = std::move(samples.seconds);
  return result;
}

/// One series: choose the loop, warm up, measure, verify, emit. `done` and `share`: its part of the program, for
/// progress.
void measure(const Stage& stage, Runner& runner, const Subject& subject, double done, double share) {
  const LoopList list = list_of(stage.loops, subject.kernel, subject.nt);
  const LoopChoice* loop = nullptr;
  std::int64_t passes = 0;
  {
    const PhaseMark phase(stage.emitter, "warmup", subject.label);
    const auto& asked = stage.options.loop;
    loop = asked == "auto" ? fastest_loop(runner, stage.arrays, subject.kernel, list) : find_shape(list, asked);
    passes = passes_per_sample(runner, subject.kernel, loop->loop);
    stage.arrays.poison(stage.team, subject.kernel);
    runner.clear_errors();
  }
  stage.emitter.facts(Object().add("loop of " + subject.label, loop->shape));
  Samples samples;
  const std::int64_t begin_ns = unix_ns();
  {
    const PhaseMark phase(stage.emitter, "measure", subject.label);
    samples = take_samples(runner, subject.kernel, loop->loop, passes, stage.options.budget,
                           [&](double part) { stage.emitter.progress(done + share * part, subject.label); });
  }
  const std::int64_t end_ns = unix_ns();
  std::optional<Residual> residual;
  if (stage.options.verify) {
    const PhaseMark phase(stage.emitter, "verify", subject.label);
    residual = residual_of(stage, runner, subject.kernel);
  }
  Case result = case_of(stage, subject, std::move(samples));
  result.begin_ns = begin_ns;
  result.end_ns = end_ns;
  stage.emitter.series(result, residual ? &*residual : nullptr);
  stage.arrays.restore(stage.team, subject.kernel);
}

/// All kernels on arrays of one size with one team. `done` and `share`: this part of the whole program, for progress.
void measure_size(const Options& options, const IsaLoops& loops, Emitter& emitter, Team& team, const Layout& layout,
                  std::int64_t bytes, double done, double share) {
  const std::size_t elements = (static_cast<std::size_t>(bytes) + 63) / 64 * 8;
  std::optional<Arrays> arrays;
  std::optional<Runner> runner;
  std::string pages;
  {
    const PhaseMark phase(emitter, "init",
                          std::to_string(team.size()) + " threads, " + show_bytes(elements * 8) + " each");
    arrays.emplace(elements, team.size(), ArrayOptions{parse_pages(options.pages), layout.memory});
    arrays->fill(team);
    runner.emplace(team, *arrays);
    pages = pages_got(*arrays);
  }
  note_pages(emitter, options.pages, pages);
  const auto room = options.caches.empty() ? cache_room(layout.cpus) : cache_room(options.caches, team.size());
  note_size(emitter, elements * 8, touched_bytes(options.kernels.front(), elements * 8), room);
  const Stage stage{options, loops, emitter, team, *arrays, room};
  for (const Kernel kernel : options.kernels) {
    const auto kinds = variants(stage, kernel, touched_bytes(kernel, elements * 8));
    const double part = share / static_cast<double>(options.kernels.size() * kinds.size());
    for (const bool nt : kinds) {
      const std::string label = std::string(facts_of(kernel).name) + " " + (nt ? "nt" : "cached") + ", " +
                                std::to_string(team.size()) + " threads, " + show_bytes(elements * 8) + " each";
      measure(stage, *runner, {kernel, nt, label, pages}, done, part);
      done += part;
    }
  }
}

Object facts_of_run(const Options& options, const IsaLoops& loops) {
  const auto most = static_cast<int>(*std::max_element(options.threads.begin(), options.threads.end()));
  const Layout layout = resolve_layout(options.placement, most, options.cpus);
  const auto room = options.caches.empty() ? cache_room(layout.cpus) : cache_room(options.caches, most);
  const Team team(layout.cpus);
  Object facts;
  facts.add("isa", loops.name).add("isa_machine", machine_isas());
  facts.add("threads", options.threads).add("cpus", team.binding_words()).add("placement", options.placement);
  if (layout.memory.kind != Placement::Kind::local) facts.add("memory_nodes", layout.memory.nodes);
  facts.add("pages", options.pages);
  facts.add("transparent_hugepage", read_line("/sys/kernel/mm/transparent_hugepage/enabled"));
  facts.add("cache_bytes_of_team", std::vector<std::uint64_t>(room.begin(), room.end()));
  facts.add("cache_source", options.caches.empty() ? "/sys/devices/system/cpu" : "--cache-bytes");
  facts.add("scalar", kScalar).add("memory_room_bytes", memory_room().bytes).add("memory_room_by", memory_room().what);
  return facts;
}

int run(int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  const IsaLoops& loops = loops_of(options.isa);
  const auto largest = static_cast<std::uint64_t>(*std::max_element(options.sizes.begin(), options.sizes.end()));
  require_arrays(largest, parse_pages(options.pages));  // before the first hour, not after it
  Emitter emitter;
  emitter.start("stream", argc, argv, facts_of_run(options, loops));
  const double share = 1.0 / static_cast<double>(options.threads.size() * options.sizes.size());
  double done = 0;
  for (const auto threads : options.threads) {
    const Layout layout = resolve_layout(options.placement, static_cast<int>(threads), options.cpus);
    Team team(layout.cpus);
    for (const auto bytes : options.sizes) {
      measure_size(options, loops, emitter, team, layout, bytes, done, share);
      done += share;
    }
  }
  emitter.end();
  return emitter.ok() ? kOk : kCheckFailed;
}

}  // namespace
}  // namespace shakedown::stream

int main(int argc, char** argv) { return shakedown::run_main("stream", argc, argv, shakedown::stream::run); }
