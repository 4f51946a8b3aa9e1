// Cases on a group of devices that work at the same time: each stage on a thread of its own for each device, and all of
// them through it before the next begins.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "common/memory.hpp"
#include "gpu/watch.hpp"
#include "gpu_nbody.hpp"

namespace shakedown::gpu_nbody {
namespace {

/// One device in one case.
struct Seat {
  gpu::Device* device;
  std::unique_ptr<GpuBackend> backend;
  std::unique_ptr<nbody::Session> session;
  std::atomic<double> share{0};  // of its samples, while it measures
  gpu::Conditions seen;
  std::optional<gpu::Failure> failure;
  std::exception_ptr error;  // anything else, for the thread that emits
  [[nodiscard]] bool sound() const { return !failure && error == nullptr; }
};
using Seats = std::vector<std::unique_ptr<Seat>>;

struct Subject {
  std::size_t bodies = 0;
  Precision precision = Precision::single;
  bool together = false;
  std::string label;  // for a person
};

/// Run `stage` for all that are sound, each on its thread; `meanwhile` is called now and then on this one.
void together(const Seats& seats, const std::function<void(Seat&)>& stage, const std::function<void()>& meanwhile) {
  std::mutex mutex;
  std::condition_variable ended;
  std::size_t running = 0;
  std::vector<std::thread> threads;
  for (const auto& seat : seats) {
    if (!seat->sound()) continue;
    {
      const std::lock_guard lock(mutex);
      ++running;
    }
    threads.emplace_back([&, one = seat.get()] {
      try {
        stage(*one);
      } catch (const gpu::Failure& failure) {
        one->failure = failure;
      } catch (...) {
        one->error = std::current_exception();
      }
      const std::lock_guard lock(mutex);
      --running;
      ended.notify_all();
    });
  }
  {
    std::unique_lock lock(mutex);
    while (!ended.wait_for(lock, std::chrono::milliseconds(200), [&] { return running == 0; })) {
      lock.unlock();
      meanwhile();
      lock.lock();
    }
  }
  for (auto& thread : threads) thread.join();
  for (const auto& seat : seats) {
    if (seat->error != nullptr) std::rethrow_exception(seat->error);
  }
}

/// Every device goes on until all have their samples, so that each one's were taken while the others worked.
void take_samples(const Seats& seats, const Options& options, const std::function<void(double)>& progress) {
  std::atomic<std::size_t> lacking{0};
  for (const auto& seat : seats) {
    lacking += seat->sound() ? 1 : 0;
    seat->share.store(seat->sound() ? 0 : 1, std::memory_order_relaxed);
  }
  const auto stage = [&](Seat& seat) {
    bool counted = false;
    const auto no_longer_lacking = [&] {
      if (!counted) lacking.fetch_sub(1, std::memory_order_acq_rel);
      counted = true;
    };
    try {
      gpu::Watch watch(seat.device->info(), options.nvml);
      seat.session->measure([&](double share) {
        seat.share.store(share, std::memory_order_relaxed);
        if (share >= 1) no_longer_lacking();
        return lacking.load(std::memory_order_acquire) > 0;
      });
      seat.seen = watch.finish();
    } catch (...) {
      seat.share.store(1, std::memory_order_relaxed);
      no_longer_lacking();
      throw;
    }
  };
  together(seats, stage, [&] {
    double least = 1;
    for (const auto& seat : seats) least = std::min(least, seat->share.load(std::memory_order_relaxed));
    progress(least);
  });
}

/// How many worked at once is no parameter: a node with a GPU less is held against the others.
void add_subject(Object& params, const Seat& seat, const Subject& subject) {
  gpu::name_device(params, seat.device->info());
  params.add("n", subject.bodies).add("precision", nbody::word(subject.precision));
  params.add("mode", subject.together ? "together" : "alone");
}

std::string device_word(const gpu::Info& info) {
  return "GPU " + std::to_string(info.index) + " (" + info.name + (info.pci.empty() ? "" : ", " + info.pci) + ")";
}

/// What held the clock down and should not have, of NVML's bits (nvmlClocksEventReasons); empty: nothing. A power limit
/// that is reached (SwPowerCap) is how these loops go on many devices, and no fault.
std::string held_down_by(std::uint64_t reasons) {
  constexpr struct {
    std::uint64_t bit;
    const char* word;
  } kFaults[] = {{0x80, "power brake: the supply, or a sensor of it, requested less"},
                 {0x40, "heat, by the hardware"},
                 {0x20, "heat, by the driver"},
                 {0x08, "hardware slowdown"}};
  std::string found;
  for (const auto& fault : kFaults) {
    // The hardware's own two set the general bit beside them.
    if ((reasons & fault.bit) == 0 || (fault.bit == 0x08 && (reasons & 0xc0) != 0)) continue;
    found.append(found.empty() ? "" : "; ").append(fault.word);
  }
  return found;
}

/// Clock and power as a case of its own: what explains a device that lags.
void emit_conditions(Emitter& emitter, const Seat& seat, const Subject& subject) {
  if (seat.seen.readings == 0) return;
  const Case measured = seat.session->result();
  Case series;
  series.kernel = "conditions";
  add_subject(series.params, seat, subject);
  series.work.add("hertz", seat.seen.clock_hz).add("watts", seat.seen.power_w).add("celsius", seat.seen.temperature_c);
  series.work.add("readings", seat.seen.readings).add("reasons", seat.seen.reasons);
  series.begin_ns = measured.begin_ns;
  series.end_ns = measured.end_ns;
  emitter.series(series, nullptr);
  if (const std::string why = held_down_by(seat.seen.reasons); !why.empty()) {
    emitter.notice("gpu-held-down",
                   device_word(seat.device->info()) + ": its clock was held down during " + subject.label + ": " + why,
                   "see nvidia-smi -q -d PERFORMANCE; look at supply, cables, fans and inlet of this node");
  }
}

void emit_case(Emitter& emitter, const Seat& seat, const Subject& subject, std::size_t at_once) {
  emitter.facts(Object().add("loop of " + subject.label + ", device " + std::to_string(seat.device->info().index),
                             seat.backend->shape()));
  Case result = seat.session->result();
  add_subject(result.params, seat, subject);
  result.work.add("at_once", at_once);
  const auto& residual = seat.session->residual();
  emitter.series(result, residual ? &*residual : nullptr);
  emit_conditions(emitter, seat, subject);
}

using LeftOuts = std::map<gpu::Device*, gpu::LeftOut>;

/// Those with room for the bodies; the others are told.
Seats seated(const std::vector<gpu::Device*>& devices, const Subject& subject, LeftOuts& left_outs) {
  Seats seats;
  for (auto* const device : devices) {
    auto seat = std::make_unique<Seat>();
    seat->device = device;
    try {
      const std::uint64_t need = device_bytes(subject.bodies, subject.precision), room = device->free_bytes();
      if (need > gpu::usable(room)) {
        left_outs.at(device).add(
            subject.label + " need " + show_bytes(need) + ", which do not fit: " + show_bytes(room) + " are free",
            "name smaller --bodies");
        continue;
      }
    } catch (const gpu::Failure& failure) {
      seat->failure = failure;
    }
    seats.push_back(std::move(seat));
  }
  return seats;
}

struct Progress {
  double done = 0, share = 1;  // of all cases: before this one; of this one
};

void measure_case(Emitter& emitter, const Seats& seats, const Options& options, const Subject& subject,
                  const Progress& progress) {
  const nbody::Course& course = options.course;
  const auto quiet = [] {};
  {
    const PhaseMark phase(emitter, "init", subject.label);
    const nbody::Bodies bodies = nbody::plummer(subject.bodies, static_cast<std::uint64_t>(course.seed));
    const auto load = [&](Seat& seat) {
      seat.backend = make_gpu(*seat.device, subject.precision, course.physics, subject.bodies, options.shape);
      seat.session = std::make_unique<nbody::Session>(*seat.backend, course, subject.precision);
      seat.session->load(bodies);
    };
    together(seats, load, quiet);
  }
  {
    const PhaseMark phase(emitter, "warmup", subject.label);
    together(
        seats, [](Seat& seat) { seat.session->warm(); }, quiet);
  }
  {
    const PhaseMark phase(emitter, "measure", subject.label);
    take_samples(seats, options,
                 [&](double part) { emitter.progress(progress.done + progress.share * part, subject.label); });
  }
  if (course.verify) {
    const PhaseMark phase(emitter, "verify", subject.label);
    together(
        seats, [](Seat& seat) { seat.session->check(); }, quiet);
  }
  for (const auto& seat : seats) {
    if (seat->sound()) emit_case(emitter, *seat, subject, seats.size());
  }
}

}  // namespace

bool measure_group(Emitter& emitter, std::vector<gpu::Device*> devices, const Options& options) {
  const nbody::Course& course = options.course;
  bool whole = true;
  auto without = devices;  // that have no case yet
  LeftOuts left_outs;
  for (auto* const device : devices) left_outs.try_emplace(device, emitter, *device, "gpu-size-left-out");
  Progress progress{0, 1 / static_cast<double>(course.bodies.size() * course.precisions.size())};
  for (const auto n : course.bodies) {
    for (const Precision precision : course.precisions) {
      const auto bodies = static_cast<std::size_t>(n);
      Subject subject{bodies, precision, options.together, std::to_string(n) + " bodies, " + nbody::word(precision)};
      require_memory(bodies * (7 + devices.size() * 15) * sizeof(double), subject.label);
      const Seats seats = seated(devices, subject, left_outs);
      if (seats.size() > 1) subject.label += ", " + std::to_string(seats.size()) + " devices at once";
      if (!seats.empty()) measure_case(emitter, seats, options, subject, progress);
      progress.done += progress.share;
      for (const auto& seat : seats) {
        if (seat->sound()) {
          std::erase(without, seat->device);
          left_outs.at(seat->device).measured();
        }
        if (!seat->failure) continue;
        gpu::tell(emitter, *seat->failure);
        whole = false;
        if (seat->failure->state != gpu::State::out_of_memory) std::erase(devices, seat->device);
      }
      if (devices.empty()) return false;
    }
  }
  for (auto* const device : devices) {
    try {
      left_outs.at(device).require_any();
    } catch (const gpu::Failure& failure) {
      gpu::tell(emitter, failure);
    }
  }
  return whole && without.empty();
}

}  // namespace shakedown::gpu_nbody
