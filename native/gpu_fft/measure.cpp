// One device: for each case plan, arrays, samples, check.
#include <algorithm>
#include <memory>
#include <tuple>

#include "check.hpp"
#include "common/memory.hpp"

namespace shakedown::gpu_fft {
namespace {

class Bench {
 public:
  Bench(Emitter& emitter, gpu::Device& device, const Options& options)
      : emitter_(emitter), device_(device), options_(options), left_out_(emitter, device, "gpu-size-left-out") {
    // What a library does once is not the time of the first plan.
    const PhaseMark mark(emitter, "init", "library");
    library_ = device.transforms().title();
    device.transforms().plan({{16}, 1, true});
  }

  /// Plan, measure and check one case, where it fits.
  void run(const Setting& setting) {
    const gpu::TransformShape shape = setting.of();
    if (!fits(setting, 2 * shape.bytes())) return;
    const auto plan = planned(setting);
    if (!fits(setting, 2 * shape.bytes() + plan->work_bytes())) return;
    const gpu::Array<std::byte> work(device_, plan->work_bytes());
    plan->lend(work.data());
    setting.in_double ? run_as<double>(setting, *plan) : run_as<float>(setting, *plan);
    left_out_.measured();
  }
  /// Throws gpu::Failure where no case had room.
  void require_any() const { left_out_.require_any(); }

 private:
  bool fits(const Setting& setting, std::size_t bytes) {
    const std::size_t free = device_.free_bytes();
    if (bytes <= gpu::usable(free)) return true;
    left_out_.add(setting.words() + ": " + show_bytes(bytes) + " of input, output and work area do not fit, " +
                      show_bytes(free) + " are free",
                  "name smaller --sizes, --batch or --bytes");
    return false;
  }

  std::unique_ptr<gpu::Transform> planned(const Setting& setting) {
    const PhaseMark mark(emitter_, "init", "plan " + setting.words());
    Case planning;
    planning.kernel = "fft_plan";
    name(setting, planning);
    planning.begin_ns = unix_ns();
    const double begin = now_s();
    auto plan = device_.transforms().plan(setting.of());
    planning.seconds.push_back(now_s() - begin);
    planning.end_ns = unix_ns();
    planning.work.add("plans", 1);
    emitter_.series(planning, nullptr);
    Object facts;
    facts.add("work area of " + setting.words() + ", device " + std::to_string(device_.info().index),
              plan->work_bytes());
    emitter_.facts(facts);
    return plan;
  }

  template <class T>
  void run_as(const Setting& setting, gpu::Transform& plan) {
    const auto count = static_cast<std::size_t>(setting.shape->points() * setting.batch);
    const gpu::Stream stream(device_);
    const gpu::Array<std::complex<T>> in(device_, count), out(device_, count);
    Checker<T> checker(stream, setting);
    checker.put_data(in.data());
    checker.spoil(out.data());
    stream.wait();
    Case series = timed(setting, stream, [&] { plan.run(in.data(), out.data(), gpu::Way::forward, stream); });
    if (!options_.verify) return emitter_.series(series, nullptr);
    const PhaseMark mark(emitter_, "verify", setting.words());
    if (options_.break_point >= 0) {
      const std::complex<T> value(-1, 1);
      const auto place = std::min(static_cast<std::size_t>(options_.break_point), count - 1);
      device_.copy(out.data() + place, &value, sizeof value, stream);
      stream.wait();
    }
    const auto seed = static_cast<std::uint64_t>(options_.seed);
    const Residual residual{checker.error_of(plan, *setting.shape, seed, in.data(), out.data()), fft::kLimit,
                            "eps sqrt(log2 N), relative"};
    emitter_.series(series, &residual);
  }

  Case timed(const Setting& setting, const gpu::Stream& stream, const std::function<void()>& call) {
    const PhaseMark mark(emitter_, "measure", setting.words());
    const gpu::Samples samples = gpu::sample(stream, options_.timing, call);
    Case series = gpu::case_of(setting.mod2f() ? "mod2f" : "fft", samples);
    name(setting, series);
    const auto calls = static_cast<double>(samples.calls);
    const double transforms = calls * static_cast<double>(setting.batch);
    series.work.add("flop", setting.shape->flop() * transforms)
        .add("bytes", 2 * static_cast<double>(setting.of().bytes()) * calls)
        .add("transforms", transforms)
        .add("calls", samples.calls);
    return series;
  }

  /// What the results call a case.
  void name(const Setting& setting, Case& series) const {
    gpu::name_device(series.params, device_.info());
    series.params.add("n", setting.shape->points()).add("shape", setting.shape->text()).add("batch", setting.batch);
    series.params.add("precision", setting.precision()).add("library", library_);
    if (const auto level = gpu::level_of(2 * setting.of().bytes(), device_.info().l2_bytes); !level.empty())
      series.params.add("level", level);
  }

  Emitter& emitter_;
  gpu::Device& device_;
  const Options& options_;
  gpu::LeftOut left_out_;
  std::string library_;
};

}  // namespace

std::vector<Setting> settings(const Options& options) {
  std::vector<Setting> all;
  for (const bool in_double : {true, false}) {
    if (!(in_double ? options.in_double : options.in_single)) continue;
    for (const auto& shape : options.shapes) {
      std::vector<std::int64_t> taken;
      for (const auto asked : options.batches) {
        const std::int64_t filling = options.bytes / (shape.points() * (in_double ? 16 : 8));
        const std::int64_t batch = asked > 0 ? asked : std::max<std::int64_t>(1, filling);
        if (std::find(taken.begin(), taken.end(), batch) != taken.end()) continue;
        taken.push_back(batch);
        all.push_back({&shape, batch, in_double});
      }
    }
  }
  return all;
}

bool measure(Emitter& emitter, gpu::Device& device, const Options& options) {
  Bench bench(emitter, device, options);
  const auto cases = settings(options);
  bool whole = true;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    try {
      bench.run(cases[i]);
    } catch (const gpu::Failure& failure) {  // of this case: the next may do
      if (failure.state == gpu::State::lost || failure.state == gpu::State::corrupted) throw;
      gpu::tell(emitter, failure);
      whole = false;
    }
    emitter.progress(static_cast<double>(i + 1) / static_cast<double>(cases.size()), cases[i].words());
  }
  if (whole) bench.require_any();  // else a failure was told already
  return whole;
}

}  // namespace shakedown::gpu_fft
