// The rates of small files, step by step: each of them long enough to be timed.
#include <cmath>

#include "common/clock.hpp"
#include "repeats.hpp"
#include "small_files.hpp"
#include "storage.hpp"

namespace shakedown::storage {
namespace {

constexpr double kShort_s = 1;      // a step timed for less is shown, and nothing is ranked by it
constexpr double kTimed_s = 0.005;  // a first cycle that took less says nothing
constexpr double kRemembered = 2;   // times the first cycle's rate

/// Whether a step leaves the files there, so that it can be repeated over them.
bool in_place(Step step) { return step == Step::stat || step == Step::read || step == Step::rename; }

double per_second(const Repeated& found) {
  return static_cast<double>(found.cycles * found.samples.size()) / found.spent_s;
}

/// Whether looking again was so much faster than the first time that it tells of this host's memory.
bool remembered(Step step, const Repeated& found) {
  return in_place(step) && step != Step::rename && found.cycles > 1 && found.first_s >= kTimed_s &&
         per_second(found) > kRemembered / found.first_s;
}

void tell_remembered(Emitter& emitter, const Case& made, const Repeated& found, double files) {
  emitter.notice("storage-remembered",
                 made.kernel + ": the first look at all files went at " +
                     std::to_string(std::llround(files / found.first_s)) + " a second, those after it at " +
                     std::to_string(std::llround(files * per_second(found))) + ": from this host's memory",
                 "more files (--files), so that the first look alone takes a second");
}

Case case_of(Step step, const Repeated& found, const Options& options, const SmallFiles& files, Files share) {
  Case made;
  made.kernel = step == Step::read ? "read-small" : name_of(step);  // `read` is that of bandwidth
  for (const Sample& one : found.samples) {
    made.seconds.push_back(one.seconds);
    made.spans.push_back(one.span);
  }
  const auto items = static_cast<std::uint64_t>(options.files);
  made.params.add("threads", files.threads()).add("ranks", files.ranks()).add("files", options.files);
  made.params.add("whose", files.on_others(step) ? "another's" : "own");
  if (share == Files::shared) made.params.add("folder", name_of(share));
  if (options.small_bytes > 0) made.params.add("bytes", options.small_bytes);
  if (!options.more_directories.empty()) made.params.add("directories", options.more_directories.size() + 1);
  // As the adapters of other programs say it (workloads/common/page_cache.py).
  if (found.spent_s < kShort_s) {
    made.params.add("doubt", "shorter than 1 s");
  } else if (remembered(step, found)) {
    made.params.add("doubt", "page cache");
  }
  made.work.add("op", files.writers() * items * found.cycles).add("cycles", found.cycles);
  made.work.add("first_op", files.writers() * items).add("first_s", found.first_s);
  return made;
}

void measure_in(Emitter& emitter, Peers& peers, const Options& options, const Folders& folders, int threads,
                Files share) {
  const auto items = static_cast<std::uint64_t>(options.files);
  SmallFiles files(peers, folders, share, threads, items, static_cast<std::size_t>(options.small_bytes));
  files.make_folders();
  std::vector<std::int64_t> failed(options.steps.size());
  Steps steps;
  for (const Step step : options.steps)
    steps.pair.push_back(in_place(step) ? kInPlace : step == Step::create || step == Step::unlink ? 1 : 2);
  steps.run = [&](std::size_t at, std::uint64_t cycles) {
    peers.meet();
    const std::int64_t begin_ns = unix_ns();
    const double seconds = files.run(options.steps[at], items, cycles).seconds;
    const Sample sample{seconds, {begin_ns, unix_ns()}};
    failed[at] += files.failed();
    return sample;
  };
  const double begin_s = now_s();
  steps.elapsed_s = [&] { return peers.most(now_s() - begin_s); };
  const auto found = repeat({options.samples, options.seconds}, steps);
  for (std::size_t at = 0; at < options.steps.size() && peers.first(); ++at) {
    const Residual residual{static_cast<double>(failed[at]), 0, "calls that failed"};
    const Case made = case_of(options.steps[at], found[at], options, files, share);
    emitter.series(made, &residual);
    if (remembered(options.steps[at], found[at]))
      tell_remembered(emitter, made, found[at], static_cast<double>(files.writers() * items));
  }
  files.remove_folders();
}

}  // namespace

void measure_metadata(Emitter& emitter, Peers& peers, const Options& options, const Folders& folders, int threads) {
  for (const Files share : options.folders) measure_in(emitter, peers, options, folders, threads, share);
}

}  // namespace shakedown::storage
