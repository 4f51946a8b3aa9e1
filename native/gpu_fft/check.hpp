// The data of a case, put onto a device, and both checks of native/fft/verify.hpp over every transform of a batch. The
// host makes and compares all of it: nothing on the device is trusted.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <vector>

#include "common/team.hpp"
#include "fft/verify.hpp"
#include "gpu_fft.hpp"

namespace shakedown::gpu_fft {

/// The transforms of a batch are told apart by so many sets of modes in turn (a prime: no power of two apart are
/// alike).
inline constexpr std::int64_t kSets = 61;
inline constexpr std::size_t kStaged = std::size_t{64} << 20;  // bytes that are moved at a time

/// The larger; NaN stays.
inline double worse(double a, double b) { return std::isnan(a) || std::isnan(b) ? std::nan("") : std::max(a, b); }

template <class T>
class Checker {
 public:
  using Complex = std::complex<T>;
  Checker(const gpu::Stream& stream, const Setting& setting)
      : stream_(stream),
        points_(setting.shape->points()),
        batch_(setting.batch),
        at_a_time_(std::clamp<std::int64_t>(
            static_cast<std::int64_t>(kStaged / sizeof(Complex)) / setting.shape->points(), 1, setting.batch)),
        staged_(stream.device(), static_cast<std::size_t>(at_a_time_ * setting.shape->points()), gpu::Memory::pinned),
        cpus_(choose_cpus(usable_cores(), "")) {}

  /// Write value(transform, point) to the device.
  template <class Value>
  void put(Complex* to, Value&& value) {
    Team team(cpus_);
    each_part([&](std::int64_t first, std::int64_t count) {
      team.run([&](int thread) {
        const auto [begin, end] = fft::part(count * points_, thread, team.size());
        for (auto i = begin; i < end; ++i)
          staged_.data()[i] = value(first + i / points_, i % points_);  // NOLINT: both below what is staged
      });
      stream_.device().copy(to + first * points_, staged_.data(), bytes_of(count), stream_);
      stream_.wait();
    });
  }
  void put_data(Complex* to) {
    put(to, [this](std::int64_t one, std::int64_t i) { return fft::entry<T>(one * points_ + i); });
  }

  /// The largest relative error of any transform: factor x what lies there against value(transform, point).
  template <class Value>
  double error(const Complex* at, double factor, Value&& value) {
    Team team(cpus_);
    double worst = 0;
    each_part([&](std::int64_t first, std::int64_t count) {
      stream_.device().copy(staged_.data(), at + first * points_, bytes_of(count), stream_);
      stream_.wait();
      const auto one_error = [&](std::int64_t one, int threads, Team* all) {
        const Complex* const got = staged_.data() + one * points_;
        return fft::distance<T>(
            threads, points_, all, [&](std::int64_t i) { return std::complex<double>(got[i]) * factor; },
            [&](std::int64_t i) { return value(first + one, i); });
      };
      if (count < team.size()) {  // all threads on one after the other, else each its own
        for (std::int64_t one = 0; one < count; ++one) worst = worse(worst, one_error(one, team.size(), &team));
        return;
      }
      std::vector<double> found(static_cast<std::size_t>(team.size()));
      team.run([&](int thread) {
        double mine = 0;
        const auto [begin, end] = fft::part(count, thread, team.size());
        for (auto one = begin; one < end; ++one) mine = worse(mine, one_error(one, 1, nullptr));
        found[static_cast<std::size_t>(thread)] = mine;
      });
      for (const double mine : found) worst = worse(worst, mine);
    });
    return worst;
  }

  /// Both checks: of the timed result in `out` there and back again, and of known modes through the timed plan. `in`
  /// and `out` are used up.
  double error_of(gpu::Transform& transform, const fft::Shape& shape, std::uint64_t seed, Complex* in, Complex* out) {
    spoil(in);
    transform.run(out, in, gpu::Way::backward, stream_);
    const double there_and_back = error(in, 1 / static_cast<double>(points_), [this](std::int64_t one, std::int64_t i) {
      return fft::entry<T>(one * points_ + i);
    });
    std::vector<fft::Modes> modes;
    for (std::int64_t set = 0; set < std::min(batch_, kSets); ++set)
      modes.emplace_back(shape, seed + static_cast<std::uint64_t>(set));
    const auto set_of = [&](std::int64_t one) -> const fft::Modes& {
      return modes[static_cast<std::size_t>(one % kSets)];
    };
    put(in, [&](std::int64_t one, std::int64_t i) { return set_of(one).template input<T>(i); });
    spoil(out);
    transform.run(in, out, gpu::Way::forward, stream_);
    const double known = error(out, 1, [&](std::int64_t one, std::int64_t i) { return set_of(one).output(i); });
    return worse(there_and_back, known);
  }

  /// NaN everywhere: every point must be written.
  void spoil(Complex* at) {
    stream_.device().fill(at, 0xff, static_cast<std::size_t>(batch_ * points_) * sizeof(Complex), stream_);
  }

 private:
  template <class Work>
  void each_part(Work&& work) {
    for (std::int64_t first = 0; first < batch_; first += at_a_time_) work(first, std::min(at_a_time_, batch_ - first));
  }
  [[nodiscard]] std::size_t bytes_of(std::int64_t count) const {
    return static_cast<std::size_t>(count * points_) * sizeof(Complex);
  }

  const gpu::Stream& stream_;
  std::int64_t points_, batch_, at_a_time_;
  gpu::Array<Complex> staged_;
  std::vector<int> cpus_;  // a team is made for each use: while samples are taken nothing is bound to a CPU
};

}  // namespace shakedown::gpu_fft
