// Our copy beside the C library's memcpy: the same arrays, the same pinned team, in turn. For
// scripts/bench/peers/stream.py; not installed. Prints one JSON object: seconds of each pass of each, and the bytes in
// STREAM's counting.
#include <cstdio>
#include <cstring>

#include "common/args.hpp"
#include "common/isa.hpp"
#include "common/json.hpp"
#include "measure.hpp"

namespace shakedown::stream {
namespace {

double library_copy(double* out, const double* x, const double*, double, std::size_t n) {
  std::memcpy(out, x, n * sizeof(double));
  return 0;
}

const LoopList& widest_copy() {
  const auto runs = machine_isas();
  const auto built = isas_built();
  for (std::size_t i = 0; i < built.count; ++i) {
    const auto& isa = *built.first[i];
    if (std::find(runs.begin(), runs.end(), isa.name) == runs.end()) continue;
    return isa.non_temporal[0].count > 0 ? isa.non_temporal[0] : isa.cached[0];
  }
  throw cannot("no loop runs here");
}

int run(int argc, char** argv) {
  Args args(argc, argv, "stream_peers: copy beside memcpy");
  const auto threads =
      static_cast<int>(args.integer("threads", static_cast<std::int64_t>(allowed_cpus().size()), 1, "threads"));
  const auto bytes = args.integer("bytes", std::int64_t{1} << 30, 64, "bytes of each array");
  const auto rounds = args.integer("rounds", 15, 1, "rounds of one pass of each");
  const auto pages = parse_pages(args.text("pages", "huge", "huge or base"));
  args.finish();
  Team team(choose_cpus(threads, ""));
  Arrays arrays(static_cast<std::size_t>(bytes) / 64 * 8, threads, {pages, {}});
  arrays.fill(team);
  Runner runner(team, arrays);
  const auto* const ours = fastest_loop(runner, arrays, Kernel::copy, widest_copy());
  std::vector<double> copy, library;
  for (std::int64_t round = 0; round < rounds; ++round) {
    copy.push_back(runner.pass(Kernel::copy, ours->loop, 1));
    library.push_back(runner.pass(Kernel::copy, library_copy, 1));
  }
  arrays.poison(team, Kernel::copy);
  runner.pass(Kernel::copy, ours->loop, 1);
  Object report;
  report.add("bytes", static_cast<std::int64_t>(arrays.elements()) * 16).add("loop", ours->shape);
  report.add("copy_seconds", copy).add("memcpy_seconds", library).add("error", arrays.check(team, Kernel::copy));
  std::printf("%s\n", to_json(report).c_str());
  return arrays.check(team, Kernel::copy) <= kLimit ? kOk : kCheckFailed;
}

}  // namespace
}  // namespace shakedown::stream

int main(int argc, char** argv) { return shakedown::run_main("stream_peers", argc, argv, shakedown::stream::run); }
