#include "solver.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace shakedown::hydro {
namespace {

/// Parts side by side for so many threads: those for which the largest, with what it advances beside itself, is least.
int across(int threads, std::int64_t columns, std::int64_t rows) {
  int best = 1;
  std::int64_t least = 0;
  for (int c = 1; c <= threads; ++c) {
    if (threads % c != 0) continue;
    const std::int64_t size = ((columns + c - 1) / c + kGhosts) * ((rows + threads / c - 1) / (threads / c) + kGhosts);
    if (c == 1 || size < least) {
      best = c;
      least = size;
    }
  }
  return best;
}

/// The bits of one number at one place, mixed so that sums over places tell fields apart (splitmix64's last steps;
/// G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
std::uint64_t mixed(std::uint64_t place, double value) {
  const double one_zero = value == 0 ? 0.0 : value;
  std::uint64_t x = std::bit_cast<std::uint64_t>(one_zero) + 0x9e3779b97f4a7c15U * (place + 1);
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

}  // namespace

Solver::Solver(Team& team, const Isa& isa, const Domain& domain, Problem problem)
    : team_(team),
      isa_(isa),
      domain_(domain),
      ghosts_(domain),
      now_(domain.own.right - domain.own.left, domain.own.high - domain.own.low),
      next_(now_.columns(), now_.rows()),
      threads_across_(across(team.size(), now_.columns(), now_.rows())),
      found_(static_cast<std::size_t>(team.size())) {
  scratch_.reserve(found_.size());
  for (std::size_t k = 0; k < found_.size(); ++k) scratch_.emplace_back(kScratch * sizeof(double), Pages::base);
  team_.run([&](int thread) {
    const Tile part = part_of(thread);
    for (std::int64_t row = part.low; row < part.high; ++row) {
      for (std::int64_t i = part.left; i < part.right; ++i) {
        const auto cell = at_start(problem, domain_.columns, domain_.rows, domain_.own.left + i, domain_.own.low + row);
        for (int v = 0; v < kVariables; ++v) {
          now_.line(row, v)[i] = cell[static_cast<std::size_t>(v)];
          next_.line(row, v)[i] = 0;
        }
      }
    }
  });
  resume({}, {});
}

Tile Solver::part_of(int thread) const {
  const int down = team_.size() / threads_across_, c = thread % threads_across_, r = thread / threads_across_;
  const auto edge = [&](int k) {  // whole vectors and cache lines to each
    return k == threads_across_ ? now_.columns() : part_begin(now_.columns(), threads_across_, k) / 8 * 8;
  };
  return {edge(c), edge(c + 1), part_begin(now_.rows(), down, r), part_begin(now_.rows(), down, r + 1)};
}

void Solver::resume(const Progress& progress, const Pushed& pushed) {
  progress_ = progress;
  pushed_ = domain_.rank == 0 ? pushed : Pushed{};
  team_.run(
      [&](int thread) { found_[static_cast<std::size_t>(thread)].fastest = isa_.fastest(now_, part_of(thread)); });
  fastest_ = 0;
  for (const auto& one : found_) fastest_ = std::max(fastest_, one.fastest);
  fastest_ = fastest_of_all(fastest_);
}

double Solver::fastest_of_all(double mine) const {
  double all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, domain_.comm);
  return all;
}

void Solver::one_step(int thread) {
  ghosts_.fill(now_, team_, thread);
  const bool even = progress_.step % 2 == 0;
  const Step step{.from = &now_,
                  .to = &next_,
                  .dt_dx = progress_.dt,
                  .split = even ? Split::x_first : Split::y_first,
                  .speeds = !even,
                  .walls = domain_.walls()};
  const Tile part = part_of(thread);
  auto* const scratch = static_cast<double*>(scratch_[static_cast<std::size_t>(thread)].data());
  Found all;
  for (std::int64_t left = part.left; left < part.right && part.low < part.high; left += kTileColumns) {
    const Tile tile{left, std::min(left + kTileColumns, part.right), part.low, part.high};
    all.join(isa_.advance(step, tile, scratch));
  }
  found_[static_cast<std::size_t>(thread)] = all;
  team_.barrier();
  if (thread == 0) conclude();
  team_.barrier();
}

void Solver::conclude() {
  Found all;
  for (const auto& one : found_) all.join(one);
  const double dt = progress_.dt;
  pushed_.along_x += dt * (static_cast<long double>(all.left) - all.right);
  pushed_.along_y += dt * (static_cast<long double>(all.low) - all.high);
  pushed_.size += dt * (std::fabs(all.left) + std::fabs(all.right) + std::fabs(all.low) + std::fabs(all.high));
  std::swap(now_, next_);
  progress_.time += dt;
  ++progress_.step;
  if (progress_.step % 2 == 0) {
    fastest_ = fastest_of_all(all.fastest);
    progress_.dt = kCourant / fastest_;
  }
}

void Solver::advance(std::int64_t steps) {
  if (steps <= 0) return;
  // One step of time for two steps, so that x, y, y, x is symmetric in time; the first two are half as long.
  if (progress_.step % 2 == 0) progress_.dt = kCourant / fastest_ / (progress_.step == 0 ? 2 : 1);
  team_.run([&](int thread) {
    for (std::int64_t k = 0; k < steps; ++k) one_step(thread);
  });
}

long double Solver::added(long double mine) const {
  // As two doubles each, since not every MPI has longer numbers.
  const double high = static_cast<double>(mine);
  const double parts[2] = {high, static_cast<double>(mine - high)};
  std::vector<double> all(2 * static_cast<std::size_t>(domain_.size));
  MPI_Allgather(parts, 2, MPI_DOUBLE, all.data(), 2, MPI_DOUBLE, domain_.comm);
  long double total = 0;
  for (const double part : all) total += part;
  return total;
}

Pushed Solver::pushed() const { return {added(pushed_.along_x), added(pushed_.along_y), added(pushed_.size)}; }

Totals Solver::totals() {
  std::vector<Totals> of(static_cast<std::size_t>(team_.size()));
  team_.run([&](int thread) {
    auto& mine = of[static_cast<std::size_t>(thread)];
    const Tile part = part_of(thread);
    for (std::int64_t row = part.low; row < part.high; ++row) {
      for (std::int64_t i = part.left; i < part.right; ++i) {
        const double x = now_.line(row, kAlongX)[i], y = now_.line(row, kAlongY)[i];
        mine.mass += now_.line(row, kMass)[i];
        mine.along_x += x;
        mine.along_y += y;
        mine.energy += now_.line(row, kEnergy)[i];
        mine.momenta += std::fabs(x) + std::fabs(y);
      }
    }
  });
  Totals all;
  for (const auto& one : of) {
    all.mass += one.mass;
    all.along_x += one.along_x;
    all.along_y += one.along_y;
    all.energy += one.energy;
    all.momenta += one.momenta;
  }
  for (long double* const one : {&all.mass, &all.along_x, &all.along_y, &all.energy, &all.momenta}) *one = added(*one);
  return all;
}

std::uint64_t Solver::digest() {
  std::vector<std::uint64_t> of(static_cast<std::size_t>(team_.size()));
  team_.run([&](int thread) {
    const Tile part = part_of(thread);
    std::uint64_t mine = 0;
    for (std::int64_t row = part.low; row < part.high; ++row) {
      for (int v = 0; v < kVariables; ++v) {
        const std::int64_t first = ((domain_.own.low + row) * kVariables + v) * domain_.columns + domain_.own.left;
        for (std::int64_t i = part.left; i < part.right; ++i) {
          mine += mixed(static_cast<std::uint64_t>(first + i), now_.line(row, v)[i]);
        }
      }
    }
    of[static_cast<std::size_t>(thread)] = mine;
  });
  std::uint64_t mine = 0;
  for (const auto one : of) mine += one;
  std::vector<std::int64_t> all(static_cast<std::size_t>(domain_.size));
  const auto sent = static_cast<std::int64_t>(mine);
  MPI_Allgather(&sent, 1, MPI_INT64_T, all.data(), 1, MPI_INT64_T, domain_.comm);
  std::uint64_t total = 0;
  for (const auto one : all) total += static_cast<std::uint64_t>(one);
  return total;
}

void Solver::spoil(std::int64_t column, std::int64_t row, int variable, double more) {
  const Tile& own = domain_.own;
  if (column < own.left || column >= own.right || row < own.low || row >= own.high) return;
  now_.line(row - own.low, variable)[column - own.left] += more;
}

}  // namespace shakedown::hydro
