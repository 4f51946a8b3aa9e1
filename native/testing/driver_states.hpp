// What the native tests of programs on GPUs share: how they end on a driver in each of its states.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/error.hpp"
#include "testing/check.hpp"
#include "testing/run_program.hpp"

namespace shakedown::gpu {

/// What the driver answers (words of fake_cuda.cpp), what the program says and what it advises.
struct Refusal {
  std::string fake, words, next;
};

/// A program that could not measure, and says and advises what it should. `how`: for whoever reads a failure.
inline void refused(Checks& checks, const Ran& ran, const Refusal& refusal, const std::string& how) {
  const std::string seen = refusal.fake + how + ": " + ran.text;
  checks.equal(ran.code, kCouldNotMeasure, seen);
  checks.that(ran.says(refusal.words), "says '" + refusal.words + "': " + seen);
  checks.that(ran.says(refusal.next), "advises '" + refusal.next + "': " + seen);
}

/// Each refusal ends with "could not measure", in these words. `run`: the program, on the driver that answers so.
inline void refused_alike(Checks& checks, const std::vector<Refusal>& refusals, const std::string& how,
                          const std::function<Ran(const std::string& fake)>& run) {
  for (const Refusal& refusal : refusals) refused(checks, run(refusal.fake), refusal, how);
}

/// The states that every program meets; a device that is lost, after so many launches.
inline std::vector<Refusal> driver_states(int launches) {
  const std::string lost = "lost_after " + std::to_string(launches);
  return {
      {"init 100", "shows no device", "--gres=gpu:1"},
      {"devices 0", "shows no device", "--gres=gpu:1"},
      {"init 999", "does not start", "dmesg"},
      {"init 802", "not ready", "nvidia-fabricmanager"},
      {"init 803", "kernel module do not fit", "reboot"},
      {"retain 46 mode 3", "exclusive mode and another process holds it", "nvidia-smi -c 0"},
      {"retain 46 mode 2", "compute mode prohibited", "-c 0"},
      {"retain 46", "busy or unavailable", "MIG"},
      {"retain 2", "no memory left even to start", "nvidia-smi"},
      {"load 222 driver 11000", "driver speaks CUDA 11.0", "update the driver"},
      {"load 209", "no code for GPU 0 (NVIDIA Fake", "SHAKEDOWN_CUDA_ARCHITECTURES"},
      {lost, "it was there and is gone", "fallen off the bus"},
      {lost + " code 214", "ECC_UNCORRECTABLE", "drain the node"},
      {lost + " code 719", "(719)", "Xid"},
  };
}

/// A machine without a driver. `program`: the command up to its arguments.
inline void without_driver(Checks& checks, const std::string& program) {
  const Ran none = run_command(program + "--driver /nowhere/libcuda.so.1");
  checks.equal(none.code, kCouldNotMeasure, "no driver");
  checks.that(none.says("no CUDA driver at the path of --driver, /nowhere/libcuda.so.1"), none.text);
  checks.that(none.says("leave --driver out"), none.text);
}

}  // namespace shakedown::gpu
