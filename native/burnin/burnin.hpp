// What is burnt in, on one screen: a device does products and memory patterns in small pieces and tells what was wrong.
// A backend is one file: cpu.cpp (one core), gpu.cpp (one GPU through native/gpu). The loop that drives it along the
// schedule is worker.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/json.hpp"
#include "schedule.hpp"

namespace shakedown::burnin {

/// One thing that was wrong: where, what must be there, what was there. Numbers of bits, of at most 64.
struct Fault {
  std::string where;  // result (C), left (A), right (B), sums, memory
  Object place;       // row, column, tile; or offset_bytes, physical, pattern
  std::uint64_t expected = 0, found = 0;
  bool located = true;  // expected and found are known
  bool hard = false;    // wrong again when it was done once more
  std::string again;    // what was done once more, and what came of it
};

/// What a device has done since its start.
struct Tally {
  std::int64_t products = 0, passes = 0, faults = 0;
  double flop = 0, product_s = 0;         // of products, checks included
  double memory_bytes = 0, memory_s = 0;  // read and written by patterns
};

class Device {
 public:
  Device() = default;
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  [[nodiscard]] virtual Object facts() const = 0;
  /// New operands for the products of a stage, from a seed; false where `stop` said so meanwhile.
  virtual bool renew(std::uint64_t seed, bool (*stop)()) = 0;
  /// One product and its check, or one piece of a memory pass: some milliseconds at most. Adds to the tally; faults
  /// that were located go to `faults`.
  virtual void product(Tally& tally, std::vector<Fault>& faults) = 0;
  virtual void memory(Tally& tally, std::vector<Fault>& faults) = 0;
  /// From now on be wrong on purpose: "result", "result-always", "operand", "memory", "memory-always". False: unknown.
  virtual bool drill(const std::string& kind) = 0;
};

struct CpuOptions {
  int cpu = 0;
  std::string isa = "auto";
  std::uint64_t memory_bytes = 0;
};
/// One core, from a thread that is pinned to it.
std::unique_ptr<Device> open_cpu(const CpuOptions& options);

struct WorkerOptions {
  std::vector<Stage> stages;
  std::vector<double> periods_s;
  std::int64_t start_unix_ns = 0;  // of the schedule, in common
  std::int64_t length_ns = 0;      // from the start on
  double beat_s = 1;
  std::uint64_t seed = 0;
  std::string drill;   // kind
  double drill_s = 0;  // seconds after the start
};

/// Drive a device along the schedule until its end or until `stop`; prints beats and faults. Returns what was done.
Tally drive(Device& device, const WorkerOptions& options, bool (*stop)());

}  // namespace shakedown::burnin
