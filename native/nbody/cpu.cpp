#include "cpu.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "common/clock.hpp"
#include "common/memory.hpp"

namespace shakedown::nbody {
namespace {

// A tile of sources (16 or 32 KiB) stays in the level-1 cache while the targets of a group pass over it; a group is
// what a thread takes at a time, small enough that the last ones to be taken keep nobody waiting.
constexpr std::size_t kTile = 1024, kGroup = 512;
constexpr std::size_t kPad = 64;

constexpr std::size_t padded(std::size_t n) { return (n + kGroup - 1) / kGroup * kGroup + kPad; }

template <class T>
class Cpu final : public Backend {
 public:
  Cpu(Team& team, const Isa& isa, const Physics& physics, std::size_t n)
      : team_(team), loops_(loops_of<T>(isa)), physics_(physics), n_(n), padded_(padded(n)) {
    buffer_ = Buffer(cpu_bytes(n, sizeof(T) == 4 ? Precision::single : Precision::both_double), Pages::huge);
    char* at = static_cast<char*>(buffer_.data());
    for (T** column : {&x_, &y_, &z_, &vx_, &vy_, &vz_, &m_}) *column = take<T>(at);
    for (double** column : {&ax_, &ay_, &az_, &phi_}) *column = take<double>(at);
  }

  void load(const Bodies& bodies) override {
    const std::vector<double>* from[] = {&bodies.x, &bodies.y, &bodies.z, &bodies.vx, &bodies.vy, &bodies.vz};
    T* to[] = {x_, y_, z_, vx_, vy_, vz_};
    team_.run([&](int thread) {
      const auto [begin, end] = part(thread);
      for (int c = 0; c < 6; ++c) {
        for (std::size_t i = begin; i < end; ++i) to[c][i] = i < n_ ? static_cast<T>((*from[c])[i]) : T{0};
      }
      for (std::size_t i = begin; i < end; ++i) {
        m_[i] = i < n_ ? static_cast<T>(static_cast<double>(static_cast<T>(bodies.m[i])) * loops_.mass_scale) : T{0};
      }
    });
  }

  Field evaluate() override {
    next_group_.store(0, std::memory_order_relaxed);
    team_.run([&](int) { field(loops_.potentials, [](std::size_t, std::size_t) {}); });
    Field found;
    found.ax.assign(ax_, ax_ + n_);
    found.ay.assign(ay_, ay_ + n_);
    found.az.assign(az_, az_ + n_);
    found.phi.resize(n_);
    for (std::size_t i = 0; i < n_; ++i) {
      const double self = static_cast<double>(m_[i]) / std::sqrt(static_cast<double>(eps2()));
      found.phi[i] = -(phi_[i] - self) / loops_.mass_scale;
    }
    return found;
  }

  double advance(std::int64_t steps) override {
    std::int64_t begin_ns = 0;
    const T half = static_cast<T>(physics_.dt / 2);
    team_.run([&](int thread) {
      const auto [first, last] = part(thread);
      team_.barrier();
      if (thread == 0) begin_ns = monotonic_ns();
      for (std::int64_t step = 0; step < steps; ++step) {
        kick(first, last, half);
        drift(first, last);
        if (thread == 0) next_group_.store(0, std::memory_order_relaxed);
        team_.barrier();
        field(loops_.forces, [&](std::size_t begin, std::size_t end) { kick(begin, end, half); });
        team_.barrier();
      }
    });
    return static_cast<double>(monotonic_ns() - begin_ns) * 1e-9;
  }

  void store(Bodies& bodies) override {
    const T* from[] = {x_, y_, z_, vx_, vy_, vz_};
    std::vector<double>* to[] = {&bodies.x, &bodies.y, &bodies.z, &bodies.vx, &bodies.vy, &bodies.vz};
    for (int c = 0; c < 6; ++c) to[c]->assign(from[c], from[c] + n_);
  }

 private:
  template <class U>
  U* take(char*& at) {
    U* const column = reinterpret_cast<U*>(at);
    at += padded_ * sizeof(U);
    return column;
  }
  [[nodiscard]] T eps2() const { return static_cast<T>(physics_.softening * physics_.softening); }

  /// The bodies that a thread touches first, kicks and drifts: whole groups.
  [[nodiscard]] std::pair<std::size_t, std::size_t> part(int thread) const {
    const std::size_t groups = padded_ / kGroup, threads = static_cast<std::size_t>(team_.size());
    const auto edge = [&](std::size_t t) { return t == threads ? padded_ : groups * t / threads * kGroup; };
    const auto t = static_cast<std::size_t>(thread);
    return {edge(t), edge(t + 1)};
  }

  /// Accelerations of all bodies, group by group, each by whichever thread is free; then `after` for the group.
  template <class After>
  void field(void (*loop)(const Tile<T>&), After&& after) {
    const std::size_t groups = (n_ + kGroup - 1) / kGroup;
    const double factor = physics_.force_factor / 1;
    for (;;) {
      const std::size_t begin = next_group_.fetch_add(1, std::memory_order_relaxed) * kGroup;
      if (begin >= groups * kGroup) return;
      const std::size_t left = (n_ - begin + loops_.block - 1) / loops_.block * loops_.block;
      const std::size_t count = std::min(kGroup, left);
      for (double* column : {ax_, ay_, az_, phi_}) std::fill(column + begin, column + begin + count, 0.0);
      Tile<T> tile{x_ + begin, y_ + begin, z_ + begin, count,       x_,          y_,          z_,
                   m_,         0,          eps2(),     ax_ + begin, ay_ + begin, az_ + begin, phi_ + begin};
      for (std::size_t j = 0; j < n_; j += kTile) {
        tile.sx = x_ + j, tile.sy = y_ + j, tile.sz = z_ + j, tile.sm = m_ + j;
        tile.sources = std::min(kTile, n_ - j);
        loop(tile);
      }
      if (factor != 1) {
        for (double* column : {ax_, ay_, az_}) {
          for (std::size_t i = begin; i < begin + count; ++i) column[i] *= factor;
        }
      }
      after(begin, std::min(begin + count, n_));
    }
  }

  void kick(std::size_t begin, std::size_t end, T dt) {
    for (std::size_t i = begin; i < end; ++i) {
      vx_[i] += static_cast<T>(ax_[i]) * dt;
      vy_[i] += static_cast<T>(ay_[i]) * dt;
      vz_[i] += static_cast<T>(az_[i]) * dt;
    }
  }
  void drift(std::size_t begin, std::size_t end) {
    const T dt = static_cast<T>(physics_.dt);
    for (std::size_t i = begin; i < end; ++i) {
      x_[i] += vx_[i] * dt;
      y_[i] += vy_[i] * dt;
      z_[i] += vz_[i] * dt;
    }
  }

  Team& team_;
  const Loops<T>& loops_;
  Physics physics_;
  std::size_t n_, padded_;
  Buffer buffer_;
  T *x_ = nullptr, *y_ = nullptr, *z_ = nullptr, *vx_ = nullptr, *vy_ = nullptr, *vz_ = nullptr, *m_ = nullptr;
  double *ax_ = nullptr, *ay_ = nullptr, *az_ = nullptr, *phi_ = nullptr;
  std::atomic<std::size_t> next_group_{0};
};

}  // namespace

std::uint64_t cpu_bytes(std::size_t bodies, Precision precision) {
  return padded(bodies) * (7 * (precision == Precision::single ? sizeof(float) : sizeof(double)) + 4 * sizeof(double));
}

std::unique_ptr<Backend> make_cpu(Team& team, const Isa& isa, Precision precision, const Physics& physics,
                                  std::size_t bodies) {
  // With what the host holds beside them: the bodies in double, and two fields.
  require_memory(cpu_bytes(bodies, precision) + bodies * 15 * sizeof(double), std::to_string(bodies) + " bodies");
  if (precision == Precision::single) return std::make_unique<Cpu<float>>(team, isa, physics, bodies);
  return std::make_unique<Cpu<double>>(team, isa, physics, bodies);
}

}  // namespace shakedown::nbody
