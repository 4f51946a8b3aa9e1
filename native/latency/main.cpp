// Latency of memory and caches: loads of which each needs the one before. The story: parse -> pin -> for each size:
// build the chain, warm up, measure, verify, emit.
#include <unistd.h>

#include <algorithm>

#include "common/args.hpp"
#include "common/emit.hpp"
#include "common/level.hpp"
#include "latency.hpp"

namespace shakedown::latency {
namespace {

struct Options {
  std::vector<std::int64_t> sizes;
  int cpu = 0;
  int node = -1;
  Pages pages = Pages::huge;
  std::string pages_word;
  std::uint64_t loads = 0;
  std::int64_t samples = 0;
  double seconds = 0;
  bool verify = true;
  bool break_chain = false;
};

Options parse(int argc, char** argv) {
  Args args(argc, argv, "latency: the time of a load from memory and caches, by chains of dependent loads");
  Options o;
  const auto cpus = default_cpu_order();
  o.sizes = args.integers("sizes", "16384,268435456", 256, "bytes that a chain covers, separated by commas");
  o.cpu = static_cast<int>(args.integer("cpu", cpus.front(), 0, "CPU that loads", 1 << 20));
  o.node = static_cast<int>(args.integer("node", -1, -1, "NUMA node of the memory; -1: that of the CPU", 1 << 20));
  o.pages_word = args.text("pages", "huge", "huge, base or hugetlb");
  o.loads =
      static_cast<std::uint64_t>(args.integer("loads", 1 << 20, 1, "loads in a sample, rounded up to 64", 1L << 40));
  o.samples = args.integer("samples", 9, 1, "at least so many samples for each size");
  o.seconds = args.real("seconds", 0, 0, "repeat each size for at least so many seconds");
  o.verify = !args.flag("no-verify", "leave the check out");
  o.break_chain = args.flag("break-chain", "end one place too far before the check, to see it fail");
  args.finish();
  if (o.sizes.empty()) throw usage("--sizes names none", "such as 16384,268435456");
  o.pages = parse_pages(o.pages_word);
  o.loads = (o.loads + kUnrolled - 1) / kUnrolled * kUnrolled;
  const auto nodes = memory_nodes();
  if (o.node >= 0 && std::find(nodes.begin(), nodes.end(), o.node) == nodes.end()) {
    throw cannot("NUMA node " + std::to_string(o.node) + " has no memory here",
                 "see /sys/devices/system/node/has_memory");
  }
  return o;
}

std::size_t line_bytes() {
  const long told = sysconf(_SC_LEVEL1_DCACHE_LINESIZE);
  return told >= static_cast<long>(sizeof(Link)) ? static_cast<std::size_t>(told) : 64;
}

void measure(const Options& options, std::int64_t size, const CacheRoom& room, Emitter& emitter) {
  const auto bytes = static_cast<std::uint64_t>(size);
  const std::string label = show_bytes(bytes);
  emitter.phase("init", "begin", label);
  const Placement placement = options.node < 0 ? Placement{} : Placement{Placement::Kind::bind, {options.node}};
  const Chain chain(bytes, line_bytes(), options.pages, placement);
  emitter.phase("init", "end", label);
  const Link* link = chain.first();
  std::uint64_t loads = 0;
  const auto sample = [&] {
    const double begin = now_s();
    link = follow(link, options.loads);
    const double end = now_s();
    loads += options.loads;
    return end - begin;
  };
  {
    const PhaseMark phase(emitter, "warmup", label);
    sample();
  }
  Case result;
  result.kernel = "load";
  result.params.add("bytes", bytes).add("cpu", options.cpu).add("cpu_node", cpu_places({options.cpu}).front().node);
  result.params.add("pages", page_report(chain.buffer().data()).word());
  result.params.add("placement", options.node < 0 ? "local" : "node:" + std::to_string(options.node));
  if (const auto level = level_of(bytes, room); !level.empty()) result.params.add("level", level);
  result.work.add("loads", options.loads);
  {
    const PhaseMark phase(emitter, "measure", label);
    result.begin_ns = unix_ns();
    const double until = now_s() + options.seconds;
    while (std::ssize(result.seconds) < options.samples || now_s() < until) result.seconds.push_back(sample());
    result.end_ns = unix_ns();
  }
  if (options.break_chain) link = link->next;
  const Residual residual{defect(link, loads, chain.links()), 0, "places between the chain's end and where it must be"};
  emitter.series(result, options.verify ? &residual : nullptr);
}

int run(int argc, char** argv) {
  const Options options = parse(argc, argv);
  pin_thread(options.cpu);
  Emitter emitter;
  emitter.start("latency", argc, argv,
                Object().add("cpu", options.cpu).add("line_bytes", static_cast<std::uint64_t>(line_bytes())));
  const auto room = cache_room({options.cpu});
  for (const auto size : options.sizes) measure(options, size, room, emitter);
  emitter.end();
  return emitter.ok() ? kOk : kCheckFailed;
}

}  // namespace
}  // namespace shakedown::latency

int main(int argc, char** argv) { return shakedown::run_main("latency", argc, argv, shakedown::latency::run); }
