// The same scheme written down as in the books, cell by cell and with nothing saved: what the fast loops are held to.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

namespace shakedown::hydro::testing {

constexpr double kG = 1.4, kFloor = 1e-10;

struct Cell {
  double mass = 1, mx = 0, my = 0, energy = 1;
};

/// A box of gas between four walls.
struct Gas {
  std::int64_t nx = 0, ny = 0;
  std::vector<Cell> cells;
  Gas(std::int64_t columns, std::int64_t rows) : nx(columns), ny(rows), cells(static_cast<std::size_t>(nx * ny)) {}
  Cell& at(std::int64_t i, std::int64_t j) { return cells[static_cast<std::size_t>(j * nx + i)]; }
  [[nodiscard]] const Cell& at(std::int64_t i, std::int64_t j) const {
    return cells[static_cast<std::size_t>(j * nx + i)];
  }
};

/// Density, velocity along the line and across it, pressure.
using Point = std::array<double, 4>;

inline Point primitive_of(const Cell& c) {
  const double r = std::max(c.mass, kFloor), u = c.mx / r, v = c.my / r;
  const double internal = c.energy / r - (u * u + v * v) / 2;
  return {r, u, v, std::max((kG - 1) * r * internal, r * kFloor * kFloor / kG)};
}

inline double limited(double left, double right) {
  if (left * right <= 0) return 0;
  return std::fabs(left) < std::fabs(right) ? left : right;
}

/// Two waves by Newton's iteration, then the state at x/t = 0.
inline Point riemann(Point l, Point r) {
  const double small_p = kFloor * kFloor / kG, g6 = (kG + 1) / (2 * kG);
  for (Point* q : {&l, &r}) {
    (*q)[0] = std::max((*q)[0], kFloor);
    (*q)[3] = std::max((*q)[3], (*q)[0] * small_p);
  }
  const double cl = kG * l[3] * l[0], cr = kG * r[3] * r[0];
  const auto wave = [&](double c, double p, double of) { return std::sqrt(c * (1 + g6 * (p - of) / of)); };
  double wl = std::sqrt(cl), wr = std::sqrt(cr);
  double p = std::max((wr * l[3] + wl * r[3] + wl * wr * (l[1] - r[1])) / (wl + wr), 0.0);
  for (int k = 0; k < 10; ++k) {
    wl = wave(cl, p, l[3]);
    wr = wave(cr, p, r[3]);
    const double ql = 2 * wl * wl * wl / (wl * wl + cl), qr = 2 * wr * wr * wr / (wr * wr + cr);
    const double ul = l[1] - (p - l[3]) / wl, ur = r[1] + (p - r[3]) / wr;
    const double change = std::max(ql * qr / (ql + qr) * (ul - ur), -p);
    p += change;
    if (std::fabs(change / (p + kFloor * small_p)) <= 1e-6) break;
  }
  wl = wave(cl, p, l[3]);
  wr = wave(cr, p, r[3]);
  const double u = ((l[1] + r[1]) + ((l[3] - p) / wl - (r[3] - p) / wr)) / 2;
  const double sign = u > 0 ? 1 : -1;
  const Point& o = u > 0 ? l : r;
  const double w = u > 0 ? wl : wr;
  const double behind = o[0] / (1 + o[0] * (o[3] - p) / (w * w));
  double head = std::sqrt(kG * o[3] / o[0]) - sign * o[1], tail = std::sqrt(kG * p / behind) - sign * u;
  if (p >= o[3]) head = tail = w / o[0] - sign * o[1];
  if (head < 0) return o;
  if (tail > 0) return {behind, u, o[2], p};
  const double width = std::max(head - tail, kFloor + std::fabs(head + tail));
  const double f = std::clamp((1 + (head + tail) / width) / 2, 0.0, 1.0);
  return {f * behind + (1 - f) * o[0], f * u + (1 - f) * o[1], o[2], f * p + (1 - f) * o[3]};
}

/// One line of cells between two walls, advanced.
inline void sweep(std::vector<Cell>& line, double dt_dx) {
  const auto n = static_cast<std::int64_t>(line.size());
  const auto mirrored = [&](std::int64_t i) {
    const bool out = i < 0 || i >= n;
    Cell c = line[static_cast<std::size_t>(i < 0 ? -1 - i : i >= n ? 2 * n - 1 - i : i)];
    if (out) c.mx = -c.mx;
    return c;
  };
  std::vector<Point> low, high;
  for (std::int64_t i = -1; i <= n; ++i) {
    const Point a = primitive_of(mirrored(i - 1)), q = primitive_of(mirrored(i)), b = primitive_of(mirrored(i + 1));
    Point d{};
    for (std::size_t k = 0; k < 4; ++k) d[k] = limited(q[k] - a[k], b[k] - q[k]);
    const Point rate = {q[1] * d[0] + q[0] * d[1], q[1] * d[1] + d[3] / q[0], q[1] * d[2],
                        q[1] * d[3] + kG * q[3] * d[1]};
    Point at_low{}, at_high{};
    for (std::size_t k = 0; k < 4; ++k) {
      at_low[k] = q[k] - dt_dx / 2 * rate[k] - d[k] / 2;
      at_high[k] = q[k] - dt_dx / 2 * rate[k] + d[k] / 2;
    }
    low.push_back(at_low);
    high.push_back(at_high);
  }
  std::vector<std::array<double, 4>> flux;
  for (std::size_t i = 0; i + 1 < low.size(); ++i) {
    const auto [r, u, v, p] = riemann(high[i], low[i + 1]);
    flux.push_back({r * u, r * u * u + p, r * u * v, u * (p / (kG - 1) + r * (u * u + v * v) / 2 + p)});
  }
  for (std::size_t i = 0; i < line.size(); ++i) {
    line[i].mass += dt_dx * (flux[i][0] - flux[i + 1][0]);
    line[i].mx += dt_dx * (flux[i][1] - flux[i + 1][1]);
    line[i].my += dt_dx * (flux[i][2] - flux[i + 1][2]);
    line[i].energy += dt_dx * (flux[i][3] - flux[i + 1][3]);
  }
}

inline void sweep_x(Gas& gas, double dt_dx) {
  for (std::int64_t j = 0; j < gas.ny; ++j) {
    std::vector<Cell> line;
    for (std::int64_t i = 0; i < gas.nx; ++i) line.push_back(gas.at(i, j));
    sweep(line, dt_dx);
    for (std::int64_t i = 0; i < gas.nx; ++i) gas.at(i, j) = line[static_cast<std::size_t>(i)];
  }
}

/// The gas turned over its diagonal.
inline Gas turned(const Gas& gas) {
  Gas out(gas.ny, gas.nx);
  for (std::int64_t j = 0; j < gas.ny; ++j) {
    for (std::int64_t i = 0; i < gas.nx; ++i) {
      const Cell& c = gas.at(i, j);
      out.at(j, i) = {c.mass, c.my, c.mx, c.energy};
    }
  }
  return out;
}

inline void sweep_y(Gas& gas, double dt_dx) {
  Gas other = turned(gas);
  sweep_x(other, dt_dx);
  gas = turned(other);
}

/// The step of time (over dx) that the Courant number allows.
inline double allowed(const Gas& gas) {
  double fastest = 0;
  for (const Cell& c : gas.cells) {
    const auto [r, u, v, p] = primitive_of(c);
    fastest = std::max(fastest, std::sqrt(kG * p / r) + std::max(std::fabs(u), std::fabs(v)));
  }
  return 0.8 / fastest;
}

/// Steps from rest: the order of dimensions alternates, the step of time is found for two at a time, the first halved.
inline void advance(Gas& gas, std::int64_t steps) {
  double dt_dx = 0;
  for (std::int64_t step = 0; step < steps; ++step) {
    if (step % 2 == 0) dt_dx = allowed(gas) / (step == 0 ? 2 : 1);
    if (step % 2 == 0) {
      sweep_x(gas, dt_dx);
      sweep_y(gas, dt_dx);
    } else {
      sweep_y(gas, dt_dx);
      sweep_x(gas, dt_dx);
    }
  }
}

}  // namespace shakedown::hydro::testing
