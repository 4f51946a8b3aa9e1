// Drives one device along the schedule and tells what it does: a beat every second, a fault when there is one.
#include <time.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "burnin.hpp"
#include "common/clock.hpp"
#include "fft/random.hpp"

namespace shakedown::burnin {
namespace {

/// Faults are told one by one up to this number, then only counted: a device that is always wrong must not fill a disk.
constexpr std::int64_t kMostTold = 200;

void print(const Object& event) {
  const std::string line = to_json(event) + '\n';
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

std::string hexadecimal(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%016llx", static_cast<unsigned long long>(value));
  return text;
}

void tell(const Fault& fault, const Moment& moment, bool drill) {
  Object event;
  event.add("event", "fault").add("unix_ns", unix_ns()).add("stage", word(moment.work)).add("cycle", moment.cycle);
  event.add("where", fault.where).add("place", fault.place).add("hard", fault.hard).add("again", fault.again);
  if (fault.located) {
    std::vector<int> bits;
    for (int bit = 0; bit < 64; ++bit) {
      if ((((fault.expected ^ fault.found) >> bit) & 1U) != 0) bits.push_back(bit);
    }
    event.add("expected", hexadecimal(fault.expected)).add("found", hexadecimal(fault.found)).add("bits", bits);
  }
  print(event.add("drill", drill));
}

void beat(const Moment& moment, const Tally& tally) {
  Object event;
  event.add("event", "beat").add("unix_ns", unix_ns()).add("stage", word(moment.work)).add("cycle", moment.cycle);
  event.add("period_s", moment.period_s).add("products", tally.products).add("flop", tally.flop);
  event.add("product_s", tally.product_s).add("memory_bytes", tally.memory_bytes).add("memory_s", tally.memory_s);
  print(event.add("passes", tally.passes).add("faults", tally.faults));
}

/// Sleep until a time of the monotonic clock, or until a signal.
void sleep_until(std::int64_t monotonic) {
  const timespec at{monotonic / 1'000'000'000, static_cast<long>(monotonic % 1'000'000'000)};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr);
}

/// The part of a drill that is not the device's: a worker that dies or that stops.
bool drill(Device& device, const std::string& kind) {
  if (kind == "die") std::abort();
  if (kind == "stop") {
    std::raise(SIGSTOP);
    return true;
  }
  return device.drill(kind);
}

}  // namespace

Tally drive(Device& device, const WorkerOptions& options, bool (*stop)()) {
  const Schedule schedule(options.stages, options.periods_s);
  const auto beat_ns = static_cast<std::int64_t>(options.beat_s * 1e9);
  const std::int64_t zero = monotonic_ns() - (unix_ns() - options.start_unix_ns);  // the start on the monotonic clock
  std::int64_t next_beat = 0, told = 0, fresh_stage = -1;
  bool drilled = options.drill.empty();
  Tally tally;
  Moment moment;
  std::vector<Fault> faults;
  while (!stop()) {
    const std::int64_t since = monotonic_ns() - zero;
    if (since < 0) {
      sleep_until(std::min(zero, monotonic_ns() + 100'000'000));
      continue;
    }
    if (since >= options.length_ns) break;
    moment = schedule.at(since);
    if (since >= next_beat) {
      beat(moment, tally);
      next_beat = since + beat_ns;
    }
    if (!drilled && static_cast<double>(since) * 1e-9 >= options.drill_s) {
      drilled = true;
      if (!drill(device, options.drill)) throw usage("--drill: unknown kind '" + options.drill + "'", "see --help");
    }
    const auto stage =
        moment.cycle * static_cast<std::int64_t>(options.stages.size()) + static_cast<std::int64_t>(moment.stage);
    if (stage != fresh_stage) {
      fresh_stage = stage;
      if (!device.renew(mixed(options.seed + static_cast<std::uint64_t>(stage)), stop)) break;
      continue;  // that took its time: look at the clock again
    }
    if (!moment.busy) {
      sleep_until(zero + std::min(moment.until_ns, next_beat));
      continue;
    }
    faults.clear();
    moment.work == Work::memory ? device.memory(tally, faults) : device.product(tally, faults);
    for (const auto& fault : faults) {
      if (told++ < kMostTold) tell(fault, moment, !options.drill.empty());
    }
  }
  beat(moment, tally);
  return tally;
}

}  // namespace shakedown::burnin
