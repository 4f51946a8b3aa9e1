// Our loops beside the solver written down as in the books: steps of the same gas in turn, on one thread, by that
// thread's own time; one JSON object of seconds, and how far apart both end.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "common/args.hpp"
#include "common/clock.hpp"
#include "common/json.hpp"
#include "hydro.hpp"
#include "problem.hpp"
#include "testing/textbook.hpp"

namespace shakedown::hydro {
namespace {

using testing::Gas;

double own_seconds() { return static_cast<double>(read_clock_ns(CLOCK_THREAD_CPUTIME_ID)) * 1e-9; }

void mirror(const Field& f) {
  const std::int64_t nx = f.columns(), ny = f.rows();
  for (int v = 0; v < kVariables; ++v) {
    const double x = v == kAlongX ? -1 : 1, y = v == kAlongY ? -1 : 1;
    for (std::int64_t j = 0; j < ny; ++j) {
      double* const line = f.line(j, v);
      for (std::int64_t k = 0; k < kGhosts; ++k) line[-1 - k] = x * line[k], line[nx + k] = x * line[nx - 1 - k];
    }
    for (std::int64_t i = -kGhosts; i < nx + kGhosts; ++i) {
      for (std::int64_t k = 0; k < kGhosts; ++k) {
        f.line(-1 - k, v)[i] = y * f.line(k, v)[i];
        f.line(ny + k, v)[i] = y * f.line(ny - 1 - k, v)[i];
      }
    }
  }
}

void advance_ours(const Isa& isa, const Field& from, const Field& to, double* scratch, double dt_dx, bool x_first) {
  mirror(from);
  const Step step{.from = &from,
                  .to = &to,
                  .dt_dx = dt_dx,
                  .split = x_first ? Split::x_first : Split::y_first,
                  .speeds = !x_first,
                  .walls = {}};
  for (std::int64_t left = 0; left < from.columns(); left += kTileColumns) {
    isa.advance(step, {left, std::min(left + kTileColumns, from.columns()), 0, from.rows()}, scratch);
  }
}

void advance_books(Gas& gas, double dt_dx, bool x_first) {
  x_first ? testing::sweep_x(gas, dt_dx) : testing::sweep_y(gas, dt_dx);
  x_first ? testing::sweep_y(gas, dt_dx) : testing::sweep_x(gas, dt_dx);
}

double apart(const Field& field, const Gas& gas) {
  double most = 0;
  for (std::int64_t j = 0; j < gas.ny; ++j) {
    for (std::int64_t i = 0; i < gas.nx; ++i) {
      const auto& c = gas.at(i, j);
      const double size = std::fabs(c.mass) + std::fabs(c.energy);
      most = std::max({most, std::fabs(field.line(j, kMass)[i] - c.mass) / size,
                       std::fabs(field.line(j, kEnergy)[i] - c.energy) / size});
    }
  }
  return most;
}

int run(int argc, char** argv) {
  Args args(argc, argv, "hydro_peers: our loops beside a plain solver, steps in turn.");
  const std::int64_t n = args.integer("n", 400, 4, "cells along an edge", 100'000);
  const std::int64_t steps = args.integer("steps", 20, 2, "of each", 1'000'000);
  const Problem problem = parse_problem(args.text("problem", "blast", "blast, sod_x, sod_y or checkers"));
  args.finish();
  const Isa& isa = *isas_here().front();
  Field now(n, n), next(n, n);
  Gas gas(n, n);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) {
      const auto u = at_start(problem, n, n, i, j);
      for (int v = 0; v < kVariables; ++v) now.line(j, v)[i] = u[static_cast<std::size_t>(v)];
      gas.at(i, j) = {u[kMass], u[kAlongX], u[kAlongY], u[kEnergy]};
    }
  }
  const Buffer scratch(kScratch * sizeof(double), Pages::base);
  std::vector<double> ours, books;
  double dt_dx = 0;
  for (std::int64_t step = 0; step < steps; ++step) {
    if (step % 2 == 0) dt_dx = kCourant / isa.fastest(now, {0, n, 0, n}) / (step == 0 ? 2 : 1);
    const double begin = own_seconds();
    advance_ours(isa, now, next, static_cast<double*>(scratch.data()), dt_dx, step % 2 == 0);
    const double middle = own_seconds();
    advance_books(gas, dt_dx, step % 2 == 0);
    books.push_back(own_seconds() - middle);
    ours.push_back(middle - begin);
    std::swap(now, next);
  }
  const Object found = Object()
                           .add("isa", isa.name)
                           .add("cells", n * n)
                           .add("ours", ours)
                           .add("books", books)
                           .add("apart", apart(now, gas));
  std::printf("%s\n", to_json(found).c_str());
  return kOk;
}

}  // namespace
}  // namespace shakedown::hydro

int main(int argc, char** argv) { return shakedown::run_main("hydro_peers", argc, argv, shakedown::hydro::run); }
