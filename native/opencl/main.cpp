// OpenCL on every device, one after another and then all at the same time: two kernels, timed and verified. The kernels
// are in bench.cpp, their model and checks in README.md.
#include <algorithm>
#include <barrier>
#include <cmath>
#include <exception>
#include <set>
#include <thread>
#include <utility>

#include "common/args.hpp"
#include "common/emit.hpp"
#include "opencl.hpp"

namespace shakedown::opencl {
namespace {

struct Options {
  std::string library;
  std::vector<std::string> devices, precision;
  Sizes sizes;
  Effort effort;
  double together_s = 2;
};

Options parse(int argc, char** argv) {
  Args args(argc, argv, "opencl: a triad and an N-body kernel on every OpenCL device, verified");
  Options o;
  o.library = args.text("library", "libOpenCL.so.1", "the OpenCL loader");
  o.devices = args.words("devices", "all", "all, gpu, cpu, accelerator, or numbers between commas");
  o.precision = args.words("precision", "s,d", "s (single), d (double, where a device has it) or both");
  o.sizes.bodies = args.integer("bodies", 0, 0, "bodies of the N-body kernel; 0: 4096 on a CPU, else 65536", 1 << 24);
  o.sizes.elements =
      args.integer("elements", 0, 0, "elements of the triad's arrays; 0: 2^24 on a CPU, else 2^26, as they fit");
  o.effort.samples = args.integer("samples", 10, 1, "at least so many samples for each case");
  o.effort.seconds = args.real("seconds", 0, 0, "repeat each case for at least so many seconds");
  o.together_s = args.real("together", 2, 0, "seconds for which all devices work at the same time; 0: not at all");
  o.effort.verify = !args.flag("no-verify", "leave the checks out");
  args.finish();
  for (const auto& word : o.precision)
    if (word != "s" && word != "d") throw usage("--precision '" + word + "'", "s, d or s,d");
  if (o.precision.empty() || o.devices.empty()) throw usage("nothing to measure", "give --precision and --devices");
  return o;
}

/// A result as a case. One that ended in an error has no samples and a check that fails.
bool emit(Emitter& emitter, const Device& device, const Result& result, const std::string& pattern, bool verify) {
  Case series;
  series.kernel = result.kernel;
  series.params = device.params(result.precision, pattern);
  series.params.add("n", result.n);
  series.seconds = result.seconds;
  series.begin_ns = result.begin_ns;
  series.end_ns = result.end_ns;
  const bool triad = result.kernel == "triad";
  if (result.work > 0) series.work.add(triad ? "bytes" : "flop", result.work);
  Residual check{result.residual, triad ? kTriadLimit : kBodiesLimit, triad ? "wrong elements" : "error over rounding"};
  if (!result.error.empty()) {
    check.kind = "the device failed";
    emitter.notice("opencl-device",
                   device.name + " (" + std::to_string(device.index) + "), " + pattern + ": " + result.error,
                   "see dmesg (Xid on NVIDIA) and the vendor's tool for this device");
  }
  emitter.series(series, verify || !result.error.empty() ? &check : nullptr);
  return result.error.empty() && (!verify || check.passed());
}

/// Run one kernel; what the device refuses is a result with an error.
template <class Work>
Result guarded(const char* kernel, const std::string& precision, Work&& work) {
  try {
    return work();
  } catch (const std::exception& error) {
    Result failed;
    failed.kernel = kernel;
    failed.precision = precision;
    failed.error = error.what();
    failed.begin_ns = failed.end_ns = unix_ns();
    return failed;
  }
}

bool alone(Emitter& emitter, const Api& api, const Device& device, const Options& options) {
  bool right = true;
  for (const auto& precision : options.precision) {
    if (precision == "d" && !device.has_double) {
      emitter.notice("opencl-double", device.name + " has no double precision (cl_khr_fp64)");
      continue;
    }
    const PhaseMark mark(emitter, "measure", device.name + " " + precision);
    const auto triad = guarded("triad", precision, [&] {
      return Bench(api, device, precision)
          .triad(fitting_elements(device, options.sizes, precision == "d"), options.effort);
    });
    right = emit(emitter, device, triad, "alone", options.effort.verify) && right;
    const auto bodies = guarded("nbody", precision, [&] {
      return Bench(api, device, precision).bodies(fitting_bodies(device, options.sizes), options.effort);
    });
    right = emit(emitter, device, bodies, "alone", options.effort.verify) && right;
  }
  return right;
}

/// All devices at once, each for at least `together` seconds: what they share (power, a switch, a driver) shows here.
std::set<int> together(Emitter& emitter, const Api& api, const std::vector<Device>& devices, const Options& options) {
  const PhaseMark mark(emitter, "measure", "all devices at once");
  std::vector<Result> results(devices.size());
  std::barrier ready(static_cast<std::ptrdiff_t>(devices.size()));
  Effort effort = options.effort;
  effort.seconds = options.together_s;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    threads.emplace_back([&, i] {
      bool waited = false;
      results[i] = guarded("nbody", "s", [&] {
        Bench bench(api, devices[i], "s");
        ready.arrive_and_wait();
        waited = true;
        return bench.bodies(fitting_bodies(devices[i], options.sizes), effort);
      });
      if (!waited) ready.arrive_and_drop();  // the others must not wait for one that is not there
    });
  }
  for (auto& thread : threads) thread.join();
  std::set<int> right;
  for (std::size_t i = 0; i < devices.size(); ++i)
    if (emit(emitter, devices[i], results[i], "together", options.effort.verify)) right.insert(devices[i].index);
  return right;
}

int run(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const Api api = Api::load(options.library);
  const auto all = list_devices(api);
  const auto chosen = choose(all, options.devices);
  std::vector<Object> described;
  described.reserve(all.size());
  for (const auto& one : all) described.push_back(one.facts());
  Emitter emitter;
  Object facts;
  facts.add("library", options.library).add("devices", described);
  emitter.start("opencl", argc, argv, facts);
  std::set<int> right;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    emitter.progress(static_cast<double>(i) / static_cast<double>(chosen.size() + 1), chosen[i].name);
    if (!chosen[i].available) {
      emitter.notice("opencl-device", chosen[i].name + " says that it is not available", "see the driver's messages");
      continue;
    }
    if (alone(emitter, api, chosen[i], options)) right.insert(chosen[i].index);
  }
  std::vector<Device> working;
  for (const auto& one : chosen)
    if (right.contains(one.index)) working.push_back(one);
  if (options.together_s > 0 && working.size() > 1) right = together(emitter, api, working, options);
  Case count;
  count.kernel = "devices";
  count.params.add("asked", chosen.size());
  count.work.add("devices", right.size());
  emitter.series(count, nullptr);
  emitter.end();
  return emitter.ok() ? kOk : kCheckFailed;
}

}  // namespace
}  // namespace shakedown::opencl

int main(int argc, char** argv) { return shakedown::run_main("opencl", argc, argv, shakedown::opencl::run); }
