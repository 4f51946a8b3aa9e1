// One device's cases: place the radios, find all losses, move some where that is asked, sample, check, emit.
#include <optional>

#include "gpu_path_loss.hpp"

namespace shakedown::gpu_path_loss {
namespace {

/// Radios that move before each call: the places of a few calls are drawn beforehand, then they come again.
class Movement {
 public:
  Movement(const radio::Course& course, const radio::Ask& ask, radio::Radios& radios) : radios_(radios) {
    for (std::size_t i = 0; i < kRounds; ++i) {
      who_.push_back(radio::movers(ask, static_cast<std::int64_t>(i)));
      where_.push_back(radio::random_radios(course.seed + 1 + i, who_.back().size(), course.side));
    }
  }
  void next(Losses& losses) {
    const std::vector<std::uint32_t>& who = who_[round_ % kRounds];
    const radio::Radios& where = where_[(round_ / kRounds + round_) % kRounds];
    ++round_;
    for (std::size_t i = 0; i < who.size(); ++i) {
      radios_.x[who[i]] = where.x[i];
      radios_.y[who[i]] = where.y[i];
    }
    losses.move(radios_, who);
  }

 private:
  static constexpr std::size_t kRounds = 16;
  radio::Radios& radios_;
  std::vector<std::vector<std::uint32_t>> who_;
  std::vector<radio::Radios> where_;
  std::size_t round_ = 0;
};

Case measure_case(Emitter& emitter, gpu::Device& device, const Options& options, const radio::Ground& ground,
                  const radio::Ask& ask, const std::string& label, std::optional<Residual>& residual) {
  const radio::Course& course = options.course;
  const auto count = static_cast<std::size_t>(ask.radios);
  std::unique_ptr<Losses> losses;
  radio::Radios radios = radio::random_radios(course.seed, count, course.side);
  {
    const PhaseMark phase(emitter, "init", label);
    losses = make_losses(
        device, {ground, course.step_m, course.setting, course.antenna_m, static_cast<int>(ask.points), ask.precision},
        count);
    losses->place(radios);
    losses->find_all();
    losses->stream().wait();
  }
  emitter.facts(Object().add("launch of " + label, losses->facts()));
  gpu::Samples samples;
  {
    const PhaseMark phase(emitter, "measure", label);
    Movement movement(course, ask, radios);
    samples = gpu::sample(losses->stream(), options.timing, [&] {
      if (ask.moved > 0) movement.next(*losses);
      ask.moved > 0 ? losses->find_moved() : losses->find_all();
    });
  }
  Case result = gpu::case_of("itm", samples);
  radio::describe(result, course, ask);
  gpu::name_device(result.params, device.info());
  result.work.add("links", samples.calls * radio::links_of(ask));
  result.work.add("points", samples.calls * radio::links_of(ask) * ask.points).add("calls", samples.calls);
  if (course.verify) {
    const PhaseMark phase(emitter, "verify", label);
    std::vector<float> loss_db = losses->fetch_db();
    for (float& loss : loss_db) loss += static_cast<float>(course.break_loss_db);
    residual = radio::residual_of(course, ask, ground, radios, loss_db);
  }
  return result;
}

}  // namespace

void measure(Emitter& emitter, gpu::Device& device, const Options& options, const radio::Ground& ground) {
  std::vector<gpu::Failure> too_large;
  const std::vector<radio::Ask> cases = radio::cases_of(options.course);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::string label = radio::label_of(cases[i]) + ", device " + std::to_string(device.info().index);
    emitter.progress(static_cast<double>(i) / static_cast<double>(cases.size()), label);
    try {
      std::optional<Residual> residual;
      const Case result = measure_case(emitter, device, options, ground, cases[i], label, residual);
      emitter.series(result, residual ? &*residual : nullptr);
    } catch (const gpu::Failure& failure) {
      if (failure.state != gpu::State::out_of_memory) throw;
      too_large.push_back(failure);
    }
  }
  if (too_large.empty()) return;
  for (std::size_t i = 0; i + 1 < too_large.size(); ++i) gpu::tell(emitter, too_large[i]);
  throw gpu::Failure(too_large.back());
}

}  // namespace shakedown::gpu_path_loss
