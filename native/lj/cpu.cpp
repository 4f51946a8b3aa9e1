#include "cpu.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <utility>

#include "common/clock.hpp"
#include "common/memory.hpp"
#include "lists.hpp"

namespace shakedown::lj {
namespace {

/// Particle by particle; a particle's place lies elsewhere, in `slot`.
struct Columns {
  std::int64_t *x, *y, *z;
  double *vx, *vy, *vz;
  std::uint32_t *id, *slot;
};

struct alignas(128) Counter {
  std::atomic<std::uint32_t> next{0};
};

/// What one thread needs for itself.
template <class T>
struct alignas(128) Own {
  alignas(128) T fx[kChunk], fy[kChunk], fz[kChunk];
  Lister<T> lister;
  Thermo sums;
  double fastest2[2] = {};  // of the last two steps
  Buffer local;             // the places that its chunk needs
  std::vector<std::uint32_t> histogram;
};

template <class T>
class Cpu final : public Backend {
 public:
  Cpu(Team& team, const Isa& isa, const Physics& physics, std::size_t n)
      : team_(team), loops_(loops_of<T>(isa)), physics_(physics), n_(n), chunks_((n + kChunk - 1) / kChunk) {
    const std::size_t room = n + kChunk;
    const std::size_t columns = room * 2 * (6 * sizeof(double) + 2 * sizeof(std::uint32_t)),
                      places = 2 * room * sizeof(Place<T>);
    require_memory(columns + places + n * 300, std::to_string(n) + " particles");
    memory_ = Buffer(columns + places + 4096, Pages::huge);
    char* at = static_cast<char*>(memory_.data());
    const auto take = [&](auto*& column, std::size_t count) {
      column = reinterpret_cast<std::remove_reference_t<decltype(column)>>(at);
      at += (count * sizeof *column + 63) / 64 * 64;
    };
    for (auto& one : columns_) {
      for (auto** column : {&one.x, &one.y, &one.z}) take(*column, room);
      for (auto** column : {&one.vx, &one.vy, &one.vz}) take(*column, room);
      for (auto** column : {&one.id, &one.slot}) take(*column, room);
    }
    for (auto*& one : places_) take(one, room);
    lists_.resize(chunks_);
    own_ = std::vector<Own<T>>(static_cast<std::size_t>(team.size()));
    for (auto* counters : {&counters_[0], &counters_[1], &list_counters_}) {
      *counters = std::vector<Counter>(static_cast<std::size_t>(team.size()));
    }
  }

  void load(const State& state) override {
    length_ = state.length;
    set_skin(skin_);
    const double parts = 0x1p64 / length_;
    team_.run([&](int thread) {
      const auto [first, last] = part(thread);
      auto& to = columns_[now_];
      for (std::size_t i = first; i < last; ++i) {
        to.x[i] = fixed(state.x[i] * parts), to.y[i] = fixed(state.y[i] * parts), to.z[i] = fixed(state.z[i] * parts);
        to.vx[i] = state.vx[i], to.vy[i] = state.vy[i], to.vz[i] = state.vz[i];
        to.id[i] = static_cast<std::uint32_t>(i);
      }
    });
    rebuilds_ = 0;
    // From here on velocities are half a step behind the places: one kick a step then does for velocity Verlet's two.
    team_.run([&](int thread) {
      rebuild(thread, side_);
      each_own_chunk(thread, [&](std::size_t chunk) { kick_only(thread, chunk, -physics_.dt / 2); });
    });
    moved_ = 0;
  }

  void set_skin(double skin) override {
    skin_ = skin;
    moved_ = 1e300;  // the lists that are there are those of another skin
    if (length_ <= 0) return;
    cells_ = Cells(length_, physics_.cutoff + skin);
    for (auto& own : own_) own.histogram.assign(cells_.count(), 0);
    scales_ = {static_cast<T>(length_ * std::pow(2.0, -8.0 * sizeof(T))),
               static_cast<T>(std::pow(length_ * std::pow(2.0, -8.0 * sizeof(T)), 2)),
               static_cast<T>(physics_.cutoff * physics_.cutoff)};
  }

  double advance(std::int64_t steps) override {
    std::int64_t begin_ns = 0;
    const double begin_moved = moved_;
    const std::size_t begin_side = side_;
    for (auto& counters : counters_) reset(counters);
    team_.run([&](int thread) {
      double moved = begin_moved;
      std::size_t side = begin_side;
      team_.barrier();
      if (thread == 0) begin_ns = monotonic_ns();
      for (std::int64_t step = 0; step < steps; ++step, side = 1 - side) {
        if (2 * moved > skin_) {
          rebuild(thread, side);
          moved = 0;
        }
        // Two of everything that the others may still read while this thread is a step ahead of them.
        const std::size_t turn = static_cast<std::size_t>(step) % 2;
        double fastest2 = 0;
        each_chunk(thread, counters_[turn], [&](std::size_t chunk) {
          const double v2 = move(thread, chunk, side);
          fastest2 = v2 > fastest2 ? v2 : fastest2;
        });
        own_[static_cast<std::size_t>(thread)].fastest2[turn] = fastest2;
        if (thread == 0) reset(counters_[1 - turn]);
        team_.barrier();
        for (const auto& own : own_) fastest2 = std::max(fastest2, own.fastest2[turn]);
        moved += std::sqrt(fastest2) * physics_.dt;  // every thread adds up the same numbers
      }
      if (thread == 0) moved_ = moved, side_ = side;
    });
    return static_cast<double>(monotonic_ns() - begin_ns) * 1e-9;
  }

  void scale_velocities(double factor) override {
    team_.run([&](int thread) {
      const auto [first, last] = part(thread);
      auto& at = columns_[now_];
      for (std::size_t i = first; i < last; ++i) at.vx[i] *= factor, at.vy[i] *= factor, at.vz[i] *= factor;
    });
  }

  Thermo thermo() override { return observe(nullptr, nullptr); }

  void store(State& state, Forces& forces) override { observe(&state, &forces); }

  Object counters() override {
    std::uint64_t entries = 0, rows = 0;
    for (const auto& own : own_) entries += own.lister.entries(), rows += own.lister.rows();
    Object facts;
    facts.add("rebuilds", rebuilds_).add("skin", skin_).add("cells_along_an_edge", cells_.edge);
    facts.add("neighbours_each", static_cast<double>(entries) / static_cast<double>(n_));
    facts.add("entries_each_with_padding", static_cast<double>(rows * loops_.lanes) / static_cast<double>(n_));
    facts.add("list_bytes", rows * loops_.lanes * sizeof(Entry));
    return facts;
  }

 private:
  // ------------------------------------------------------------------------------------------------ whose work is what

  /// The particles that are a thread's own, by whole chunks.
  [[nodiscard]] std::pair<std::size_t, std::size_t> part(int thread) const {
    const auto [first, last] = own_chunks(thread);
    return {first * kChunk, std::min(last * kChunk, n_)};
  }
  [[nodiscard]] std::pair<std::size_t, std::size_t> own_chunks(int thread) const {
    const auto threads = static_cast<std::size_t>(team_.size()), t = static_cast<std::size_t>(thread);
    return {chunks_ * t / threads, chunks_ * (t + 1) / threads};
  }
  template <class Work>
  void each_own_chunk(int thread, Work&& work) {
    const auto [first, last] = own_chunks(thread);
    for (std::size_t chunk = first; chunk < last; ++chunk) work(chunk);
  }
  void reset(std::vector<Counter>& counters) {
    for (int t = 0; t < team_.size(); ++t) {
      counters[static_cast<std::size_t>(t)].next.store(static_cast<std::uint32_t>(own_chunks(t).first),
                                                       std::memory_order_relaxed);
    }
  }
  /// A thread's own chunks first, since their particles are in its caches; then what others have not begun.
  template <class Work>
  void each_chunk(int thread, std::vector<Counter>& counters, Work&& work) {
    for (int k = 0; k < team_.size(); ++k) {
      const int whose = (thread + k) % team_.size();
      const std::size_t last = own_chunks(whose).second;
      auto& next = counters[static_cast<std::size_t>(whose)].next;
      for (;;) {
        if (next.load(std::memory_order_relaxed) >= last) break;
        const std::size_t chunk = next.fetch_add(1, std::memory_order_relaxed);
        if (chunk >= last) break;
        work(chunk);
      }
    }
  }

  // ---------------------------------------------------------------------------------------------------------- the step

  [[nodiscard]] std::size_t size_of(std::size_t chunk) const { return std::min(kChunk, n_ - chunk * kChunk); }

  /// A chunk's lists, over a copy of the places that it needs.
  [[nodiscard]] Batch<T> batch(Own<T>& own, std::size_t chunk, const Place<T>* places) const {
    const auto& lists = lists_[chunk];
    auto* const local = static_cast<Place<T>*>(own.local.data());
    copy_places(lists, places, places + chunk * kChunk, size_of(chunk), local);
    return {local,   lists.list, lists.rows, (size_of(chunk) + loops_.lanes - 1) / loops_.lanes,
            scales_, own.fx,     own.fy,     own.fz};
  }
  [[nodiscard]] Motion motion(std::size_t chunk) const {
    const auto& at = columns_[now_];
    const std::size_t i = chunk * kChunk;
    return {at.x + i, at.y + i, at.z + i, at.vx + i, at.vy + i, at.vz + i, at.slot + i, size_of(chunk)};
  }
  /// Forces where the particles are, and one kick and drift; the new places go to the other array. The largest v^2.
  double move(int thread, std::size_t chunk, std::size_t side) {
    auto& own = own_[static_cast<std::size_t>(thread)];
    loops_.forces(batch(own, chunk, places_[side]));
    return loops_.move(motion(chunk), own.fx, own.fy, own.fz, physics_.dt * physics_.force_factor,
                       physics_.dt / length_ * 0x1p64, places_[1 - side]);
  }

  void kick_only(int thread, std::size_t chunk, double dt) {
    auto& own = own_[static_cast<std::size_t>(thread)];
    loops_.forces(batch(own, chunk, places_[side_]));
    const Motion at = motion(chunk);
    const double kick = dt * physics_.force_factor;
    for (std::size_t i = 0; i < at.count; ++i) {
      at.vx[i] += kick * static_cast<double>(own.fx[i]);
      at.vy[i] += kick * static_cast<double>(own.fy[i]);
      at.vz[i] += kick * static_cast<double>(own.fz[i]);
    }
  }

  /// The sums, and where asked for the particles, their velocities brought to the time of the places, and the forces.
  Thermo observe(State* state, Forces* forces) {
    if (state != nullptr) {
      state->resize(n_);
      state->length = length_;
      for (auto* column : {&forces->x, &forces->y, &forces->z}) column->resize(n_);
    }
    const bool stale = 2 * moved_ > skin_;
    team_.run([&](int thread) {
      if (stale) rebuild(thread, side_);
      auto& own = own_[static_cast<std::size_t>(thread)];
      own.sums = Thermo{};
      each_own_chunk(thread, [&](std::size_t chunk) { observe_chunk(own, chunk, state, forces); });
    });
    if (stale) moved_ = 0;
    Thermo total;
    for (const auto& own : own_) {
      total.potential += own.sums.potential / 2, total.virial += own.sums.virial / 2, total.pairs += own.sums.pairs / 2;
      total.kinetic += own.sums.kinetic;
      total.px += own.sums.px, total.py += own.sums.py, total.pz += own.sums.pz;
    }
    return total;
  }

  void observe_chunk(Own<T>& own, std::size_t chunk, State* state, Forces* forces) {
    Sums sums;
    loops_.energies(batch(own, chunk, places_[side_]), sums);
    own.sums.potential += sums.potential, own.sums.virial += sums.virial, own.sums.pairs += sums.pairs;
    const Motion at = motion(chunk);
    const std::uint32_t* id = columns_[now_].id + chunk * kChunk;
    const double half = physics_.dt / 2, part = length_ * 0x1p-64;
    const auto place = [&](std::int64_t x) { return static_cast<double>(static_cast<std::uint64_t>(x)) * part; };
    for (std::size_t i = 0; i < at.count; ++i) {
      const double fx = physics_.force_factor * static_cast<double>(own.fx[i]);
      const double fy = physics_.force_factor * static_cast<double>(own.fy[i]);
      const double fz = physics_.force_factor * static_cast<double>(own.fz[i]);
      const double vx = at.vx[i] + half * fx, vy = at.vy[i] + half * fy, vz = at.vz[i] + half * fz;
      own.sums.kinetic += (vx * vx + vy * vy + vz * vz) / 2;
      own.sums.px += vx, own.sums.py += vy, own.sums.pz += vz;
      if (state == nullptr) continue;
      state->x[id[i]] = place(at.x[i]), state->y[id[i]] = place(at.y[i]), state->z[id[i]] = place(at.z[i]);
      state->vx[id[i]] = vx, state->vy[id[i]] = vy, state->vz[id[i]] = vz;
      forces->x[id[i]] = fx, forces->y[id[i]] = fy, forces->z[id[i]] = fz;
    }
  }

  // ------------------------------------------------------------------------------------------- particles into new
  // order

  /// Sort the particles by cells and list everybody's neighbours anew. Every thread calls it, inside a run of the team.
  void rebuild(int thread, std::size_t side) {
    const auto [first, last] = part(thread);
    auto& own = own_[static_cast<std::size_t>(thread)];
    const Columns& from = columns_[now_];
    std::fill(own.histogram.begin(), own.histogram.end(), 0U);
    for (std::size_t i = first; i < last; ++i) ++own.histogram[cells_.of(from.x[i], from.y[i], from.z[i])];
    team_.barrier();
    count_cells(thread);
    sort(own, first, last, side);
    team_.barrier();
    if (thread == 0) {
      now_ = 1 - now_;
      ++rebuilds_;
      reset(list_counters_);
    }
    team_.barrier();
    own.lister.begin();
    const Geometry<T> geometry{&cells_, &loops_, places_[side], length_, physics_.cutoff + skin_, scales_.unit};
    each_chunk(thread, list_counters_, [&](std::size_t chunk) { list(own, chunk, geometry); });
    team_.barrier();
    std::size_t most = 0;  // of any thread's chunks: another may take them next time
    for (const auto& one : own_) most = std::max(most, one.lister.most_places());
    if (own.local.bytes() < most * sizeof(Place<T>)) own.local = Buffer(2 * most * sizeof(Place<T>), Pages::huge);
    team_.barrier();
  }

  /// From everybody's histogram: where each cell begins, and in it what each thread brings.
  void count_cells(int thread) {
    const auto threads = static_cast<std::size_t>(team_.size()), t = static_cast<std::size_t>(thread);
    const std::size_t first = cells_.count() * t / threads, last = cells_.count() * (t + 1) / threads;
    for (std::size_t c = first; c < last; ++c) {
      std::uint32_t sum = 0;
      for (const auto& one : own_) sum += one.histogram[c];
      cells_.begins[c + 1] = sum;
    }
    team_.barrier();
    if (thread == 0) std::partial_sum(cells_.begins.begin(), cells_.begins.end(), cells_.begins.begin());
    team_.barrier();
    for (std::size_t c = first; c < last; ++c) {
      std::uint32_t at = cells_.begins[c];
      for (auto& one : own_) at += std::exchange(one.histogram[c], at);
    }
    team_.barrier();
  }

  void sort(Own<T>& own, std::size_t first, std::size_t last, std::size_t side) {
    constexpr int kShift = 64 - 8 * static_cast<int>(sizeof(T));
    const Columns &from = columns_[now_], &to = columns_[1 - now_];
    for (std::size_t i = first; i < last; ++i) {
      const std::size_t k = own.histogram[cells_.of(from.x[i], from.y[i], from.z[i])]++;
      to.x[k] = from.x[i], to.y[k] = from.y[i], to.z[k] = from.z[i];
      to.vx[k] = from.vx[i], to.vy[k] = from.vy[i], to.vz[k] = from.vz[i];
      to.id[k] = from.id[i];
      to.slot[k] = static_cast<std::uint32_t>(k);
      places_[side][k] = {static_cast<Fixed<T>>(from.x[i] >> kShift), static_cast<Fixed<T>>(from.y[i] >> kShift),
                          static_cast<Fixed<T>>(from.z[i] >> kShift), 0};
    }
  }

  /// The lists of a chunk's particles, which are then put in the order of their lengths.
  void list(Own<T>& own, std::size_t chunk, const Geometry<T>& geometry) {
    const std::size_t first = chunk * kChunk, count = size_of(chunk);
    const Columns& at = columns_[now_];
    std::uint32_t cell_of[kChunk], order[kChunk];
    for (std::size_t i = 0; i < count; ++i) cell_of[i] = cells_.of(at.x[first + i], at.y[first + i], at.z[first + i]);
    lists_[chunk] = own.lister.make(geometry, first, count, cell_of, order);
    reorder(chunk, order);
  }

  void reorder(std::size_t chunk, const std::uint32_t* order) {
    const std::size_t first = chunk * kChunk, count = size_of(chunk);
    const auto apply = [&](auto* column) {
      std::remove_reference_t<decltype(*column)> copy[kChunk];
      for (std::size_t i = 0; i < count; ++i) copy[i] = column[first + order[i]];
      std::copy(copy, copy + count, column + first);
    };
    const Columns& at = columns_[now_];
    for (auto* column : {at.x, at.y, at.z}) apply(column);
    for (auto* column : {at.vx, at.vy, at.vz}) apply(column);
    for (auto* column : {at.id, at.slot}) apply(column);
  }

  static std::int64_t fixed(double parts) {
    // A place of exactly the box's length, or a little below zero by rounding, wraps.
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(std::fmod(parts + 0x1p64, 0x1p64)));
  }

  Team& team_;
  const Loops<T>& loops_;
  Physics physics_;
  std::size_t n_, chunks_;
  double length_ = 0, skin_ = 0.4;
  Scales<T> scales_{};
  Buffer memory_;
  Columns columns_[2]{};
  Place<T>* places_[2]{};
  std::size_t now_ = 0;   // the columns that hold
  std::size_t side_ = 0;  // the places that hold
  Cells cells_;
  std::vector<Chunk> lists_;
  std::vector<Own<T>> own_;
  std::vector<Counter> counters_[2], list_counters_;
  double moved_ = 0;  // the farthest that any particle can have moved since the lists were made
  std::int64_t rebuilds_ = 0;
};

}  // namespace

std::unique_ptr<Backend> make_cpu(Team& team, const Isa& isa, Precision precision, const Physics& physics,
                                  std::size_t particles) {
  if (precision == Precision::mixed) return std::make_unique<Cpu<float>>(team, isa, physics, particles);
  return std::make_unique<Cpu<double>>(team, isa, physics, particles);
}

}  // namespace shakedown::lj
