// What must be true of the loops of each instruction set: they are the scheme of the books, the same bits for every
// instruction set and tiling, and turn with the field.
#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "hydro.hpp"
#include "problem.hpp"
#include "testing/check.hpp"
#include "testing/textbook.hpp"

namespace shakedown::hydro {
namespace {

using testing::Gas;

Gas random_gas(std::int64_t nx, std::int64_t ny, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> draw(-1, 1);
  Gas gas(nx, ny);
  for (auto& c : gas.cells) {
    const double r = std::pow(10.0, draw(random)), u = 2 * draw(random), v = 2 * draw(random);
    c = {r, r * u, r * v, std::pow(10.0, 2 * draw(random)) / 0.4 + r * (u * u + v * v) / 2};
  }
  return gas;
}

void fill(const Field& field, const Gas& gas) {
  for (std::int64_t j = -kGhosts; j < gas.ny + kGhosts; ++j) {
    for (std::int64_t i = -kGhosts; i < gas.nx + kGhosts; ++i) {
      const auto inside = [](std::int64_t k, std::int64_t n) { return k < 0 ? -1 - k : k >= n ? 2 * n - 1 - k : k; };
      const std::int64_t x = inside(i, gas.nx), y = inside(j, gas.ny);
      const auto& c = gas.at(x, y);
      field.line(j, kMass)[i] = c.mass;
      field.line(j, kAlongX)[i] = x == i ? c.mx : -c.mx;
      field.line(j, kAlongY)[i] = y == j ? c.my : -c.my;
      field.line(j, kEnergy)[i] = c.energy;
    }
  }
}

Gas gas_of(const Field& field) {
  Gas gas(field.columns(), field.rows());
  for (std::int64_t j = 0; j < gas.ny; ++j) {
    for (std::int64_t i = 0; i < gas.nx; ++i) {
      gas.at(i, j) = {field.line(j, kMass)[i], field.line(j, kAlongX)[i], field.line(j, kAlongY)[i],
                      field.line(j, kEnergy)[i]};
    }
  }
  return gas;
}

struct Stepped {
  Gas gas;
  Advanced found;
};

/// One step in tiles of so many columns and rows.
Stepped step(const Isa& isa, const Gas& gas, double dt_dx, Split split, std::int64_t columns, std::int64_t rows) {
  const Field from(gas.nx, gas.ny), to(gas.nx, gas.ny);
  fill(from, gas);
  const Buffer scratch(kScratch * sizeof(double), Pages::base);
  Step one{.from = &from, .to = &to, .dt_dx = dt_dx, .split = split, .speeds = true, .walls = {}};
  Advanced all;
  for (std::int64_t low = 0; low < gas.ny; low += rows) {
    for (std::int64_t left = 0; left < gas.nx; left += columns) {
      const Tile tile{left, std::min(left + columns, gas.nx), low, std::min(low + rows, gas.ny)};
      const Advanced found = isa.advance(one, tile, static_cast<double*>(scratch.data()));
      all.fastest = std::max(all.fastest, found.fastest);
      all.left += found.left;
      all.right += found.right;
      all.low += found.low;
      all.high += found.high;
    }
  }
  return {gas_of(to), all};
}

bool same_bits(const Gas& a, const Gas& b) {
  const auto same = [](double x, double y) {
    return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
  };
  for (std::size_t k = 0; k < a.cells.size(); ++k) {
    const auto &x = a.cells[k], &y = b.cells[k];
    // A zero may have either sign.
    if (!same(x.mass, y.mass) || x.mx != y.mx || x.my != y.my || !same(x.energy, y.energy)) return false;
  }
  return a.cells.size() == b.cells.size();
}

/// The largest difference of a cell's amounts, over their largest in the field.
double apart(const Gas& a, const Gas& b) {
  double most = 0;
  for (std::size_t k = 0; k < a.cells.size(); ++k) {
    const auto &x = a.cells[k], &y = b.cells[k];
    const double size = std::fabs(y.mass) + std::fabs(y.energy);
    for (const double d : {x.mass - y.mass, x.mx - y.mx, x.my - y.my, x.energy - y.energy}) {
      if (!(std::fabs(d) <= most * size)) most = std::fabs(d) / size;
    }
  }
  return most;
}

void like_the_books(Checks& checks, const Isa& isa) {
  const std::string name = isa.name;
  for (const auto& [nx, ny] : {std::pair{2, 2}, {3, 9}, {8, 5}, {17, 4}, {131, 6}, {20, 40}}) {
    for (const Split split : {Split::x_first, Split::y_first}) {
      const Gas gas = random_gas(nx, ny, static_cast<unsigned>(100 * nx + ny));
      const double dt_dx = testing::allowed(gas);
      Gas expected = gas;
      split == Split::x_first ? testing::sweep_x(expected, dt_dx) : testing::sweep_y(expected, dt_dx);
      split == Split::x_first ? testing::sweep_y(expected, dt_dx) : testing::sweep_x(expected, dt_dx);
      const Stepped found = step(isa, gas, dt_dx, split, kTileColumns, ny);
      const std::string what = name + ", " + std::to_string(nx) + " x " + std::to_string(ny);
      checks.that(apart(found.gas, expected) < 1e-11, what + ": the scheme of the books, but for rounding: " +
                                                          std::to_string(apart(found.gas, expected) * 1e12) + "e-12");
      checks.that(std::fabs(found.found.fastest * testing::allowed(found.gas) - 0.8) < 1e-13,
                  what + ": the fastest wave");
      const Stepped tiled = step(isa, gas, dt_dx, split, 8, 3);
      checks.that(same_bits(found.gas, tiled.gas), what + ": tiles of any size");
      checks.equal(tiled.found.fastest, found.found.fastest, what + ": their fastest wave");
      const Stepped other = step(isa, testing::turned(gas), dt_dx,
                                 split == Split::x_first ? Split::y_first : Split::x_first, kTileColumns, nx);
      checks.that(same_bits(testing::turned(found.gas), other.gas), what + ": turned over the diagonal");
      double change = 0, force = dt_dx * (found.found.left - found.found.right), size = 0;
      for (std::size_t k = 0; k < gas.cells.size(); ++k) {
        change += found.gas.cells[k].mx - gas.cells[k].mx;
        size += std::fabs(gas.cells[k].mx) + std::fabs(found.gas.cells[k].mx);
      }
      checks.that(std::fabs(change - force) < 1e-13 * (size + std::fabs(force)),
                  what + ": walls give momentum along x");
      change = 0, force = dt_dx * (found.found.low - found.found.high);
      for (std::size_t k = 0; k < gas.cells.size(); ++k) change += found.gas.cells[k].my - gas.cells[k].my;
      checks.that(std::fabs(change - force) < 1e-13 * (size + std::fabs(force)), what + ": and along y");
    }
  }
}

void like_each_other(Checks& checks) {
  const auto isas = isas_here();
  for (const Split split : {Split::x_first, Split::y_first}) {
    const Gas gas = random_gas(150, 40, 7);
    const Stepped first = step(*isas.front(), gas, testing::allowed(gas), split, kTileColumns, 40);
    for (const Isa* const isa : isas) {
      const Stepped found = step(*isa, gas, testing::allowed(gas), split, kTileColumns, 40);
      checks.that(same_bits(first.gas, found.gas), std::string(isa->name) + ": the bits of " + isas.front()->name);
    }
  }
}

void exact_solution(Checks& checks) {
  // Toro, table 4.2: p and u between the waves of his five tests.
  struct Known {
    LineState left, right;
    double p, u;
  };
  for (const Known& known :
       {Known{{1, 0, 1}, {0.125, 0, 0.1}, 0.30313, 0.92745}, Known{{1, -2, 0.4}, {1, 2, 0.4}, 0.00189, 0.0},
        Known{{1, 0, 1000}, {1, 0, 0.01}, 460.894, 19.5975}, Known{{1, 0, 0.01}, {1, 0, 100}, 46.0950, -6.19633},
        Known{{5.99924, 19.5975, 460.894}, {5.99242, -6.19633, 46.0950}, 1691.64, 8.68975}}) {
    for (const double beside : {-1e-6, 1e-6}) {
      const LineState found = exact_riemann(known.left, known.right, known.u + beside);
      checks.that(std::fabs(found.pressure - known.p) < 6e-6 * std::max(1.0, known.p), "Toro's pressure");
      checks.that(std::fabs(found.velocity - known.u) < 1e-5 * std::max(1.0, std::fabs(known.u)), "Toro's velocity");
    }
  }
}

}  // namespace
}  // namespace shakedown::hydro

int main() {
  using namespace shakedown::hydro;
  shakedown::Checks checks;
  for (const Isa* const isa : isas_here()) like_the_books(checks, *isa);
  like_each_other(checks);
  exact_solution(checks);
  return checks.end();
}
