// Every instruction set's loops against plain ones: each remainder of rows, columns and depth, nothing written outside,
// and the rules of the search for a pivot.
#include "kernels.hpp"

#include <limits>

#include "common/isa.hpp"
#include "hpl/testing/reference.hpp"
#include "testing/check.hpp"

namespace {

using namespace shakedown::hpl;
using shakedown::Checks;
using testing::Dice;
using testing::random_values;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kEps = std::numeric_limits<double>::epsilon();

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

/// A column-major matrix with rows to spare, which must stay as they were.
struct Matrix {
  Index rows, columns, ld;
  std::vector<double> values;

  Matrix(Index r, Index c, Dice& dice, Index spare = 3)
      : rows(r), columns(c), ld(r + spare), values(random_values(ld * c + spare, dice)) {}
  double& operator()(Index i, Index j) { return values[at(i + j * ld)]; }
  double* data() { return values.data(); }
};

/// Whether `found` is `expected` to within the rounding of `terms` products of numbers below 1, and the same bit for
/// bit outside of rows x columns.
bool close(Matrix& found, Matrix& expected, double terms) {
  for (Index i = 0; i < static_cast<Index>(found.values.size()); ++i) {
    const bool inside = i % found.ld < found.rows && i / found.ld < found.columns;
    const double difference = std::fabs(found.values[at(i)] - expected.values[at(i)]);
    if (!(difference <= (inside ? kEps * (terms + 1) * (terms + 1) : 0))) return false;
  }
  return true;
}

Largest plain_column(Matrix& a, Index columns, const std::vector<double>& x, double scale, double* y) {
  Largest largest;
  for (Index i = 0; i < a.rows; ++i) {
    if (columns > 0) a(i, columns - 1) *= scale;
    for (Index l = 0; l < columns; ++l) y[i] -= a(i, l) * x[at(l)];
    if (std::fabs(y[i]) > largest.magnitude) largest = {std::fabs(y[i]), i};
  }
  return largest;
}

void column(Checks& checks, const Kernels& loops, const std::string& isa) {
  Dice dice(1);
  for (Index rows = 0; rows <= 40; ++rows) {
    for (Index columns = 0; columns <= 20; ++columns) {
      Matrix a(rows, columns, dice), y(rows, 1, dice);
      Matrix a_plain = a, y_plain = y;
      const auto x = random_values(columns, dice);
      const auto expected = plain_column(a_plain, columns, x, 0.75, y_plain.data());
      const auto found = loops.column(rows, columns, a.data(), a.ld, x.data(), 0.75, y.data());
      const std::string what = isa + " " + std::to_string(rows) + " x " + std::to_string(columns);
      checks.that(a.values == a_plain.values, what + ": the last column is scaled, no other");
      checks.that(close(y, y_plain, static_cast<double>(columns)), what + ": y - A x");
      checks.equal(found.row, expected.row, what + ": the row of the largest");
      if (rows > 0) checks.equal(found.magnitude, std::fabs(y(found.row, 0)), what + ": and its magnitude");
    }
  }
}

/// Of equal magnitudes the upper row wins, NaN is never chosen, and without a number there is no row.
void search(Checks& checks, const Kernels& loops, const std::string& isa) {
  const auto look = [&](std::vector<double> y) {
    return loops.column(static_cast<Index>(y.size()), 0, nullptr, 1, nullptr, 1, y.data());
  };
  for (Index rows = 1; rows <= 40; ++rows) {
    const std::string of = isa + ", " + std::to_string(rows) + " rows";
    checks.equal(look(std::vector<double>(at(rows))).row, 0, of + " of zeros: the first");
    checks.equal(look(std::vector<double>(at(rows), -0.0)).row, 0, of + " of minus zero");
    checks.equal(look(std::vector<double>(at(rows), kNan)).row, -1, of + " of NaN: none");
    for (Index first = 0; first < rows; ++first) {
      for (Index second = first + 1; second < rows; ++second) {
        std::vector<double> y(at(rows), 0.25);
        y[at(first)] = (first + second) % 2 == 0 ? 1 : -1;
        y[at(second)] = -y[at(first)];
        const auto found = look(y);
        checks.that(found.row == first && found.magnitude == 1, of + ": the upper one of two equal ones");
      }
      std::vector<double> y(at(rows), kNan);
      y[at(first)] = 0;
      checks.equal(look(y).row, first, of + ": zero before NaN");
      y.assign(at(rows), 1);
      y[at(first)] = kNan;
      checks.equal(look(y).row, rows == 1 ? -1 : first == 0 ? 1 : 0, of + ": NaN is passed over");
      y.assign(at(rows), 1);
      y[at(first)] = -std::numeric_limits<double>::infinity();
      checks.equal(look(y).row, first, of + ": infinity is the largest");
      y.assign(at(rows), 0);
      y[at(first)] = std::numeric_limits<double>::denorm_min();
      checks.equal(look(y).row, first, of + ": the smallest number is more than zero");
    }
  }
}

void update(Checks& checks, const Kernels& loops, const std::string& isa) {
  Dice dice(2);
  for (Index rows = 0; rows <= 40; ++rows) {
    for (Index columns = 0; columns <= 40; columns += columns < 18 ? 1 : 11) {
      for (Index depth = 0; depth <= 20; depth += depth < 4 ? 1 : 4) {
        Matrix a(rows, depth, dice), b(depth, columns, dice), c(rows, columns, dice);
        Matrix expected = c;
        for (Index j = 0; j < columns; ++j) {
          for (Index i = 0; i < rows; ++i) {
            for (Index l = 0; l < depth; ++l) expected(i, j) -= a(i, l) * b(l, j);
          }
        }
        loops.update(rows, columns, depth, a.data(), a.ld, b.data(), b.ld, c.data(), c.ld);
        checks.that(close(c, expected, static_cast<double>(depth)), isa + " C - A B, " + std::to_string(rows) + " x " +
                                                                        std::to_string(columns) + " x " +
                                                                        std::to_string(depth));
      }
    }
  }
}

void solve_unit(Checks& checks, const Kernels& loops, const std::string& isa) {
  Dice dice(3);
  for (Index order = 0; order <= 70; order += order < 34 ? 1 : 9) {
    for (Index columns = 0; columns <= 40; columns += columns < 10 ? 1 : 10) {
      Matrix l(order, order, dice), x(order, columns, dice);
      for (Index j = 0; j < order; ++j) {
        for (Index i = 0; i <= j; ++i) l(i, j) = kNan;  // the diagonal and what is above it are not read
        for (Index i = j + 1; i < order; ++i) l(i, j) /= 4;
      }
      Matrix b = x;
      for (Index j = 0; j < columns; ++j) {
        for (Index i = order - 1; i >= 0; --i) {
          for (Index k = 0; k < i; ++k) b(i, j) += l(i, k) * x(k, j);
        }
      }
      double largest = 1;
      for (Index j = 0; j < columns; ++j) {
        for (Index i = 0; i < order; ++i) largest = std::max(largest, std::fabs(b(i, j)));
      }
      loops.solve_unit(order, columns, l.data(), l.ld, b.data(), b.ld);
      // L X is B to rounding: the residual, since the error of X grows with L's condition.
      double worst = 0;
      Matrix again = b;
      for (Index j = 0; j < columns; ++j) {
        for (Index i = order - 1; i >= 0; --i) {
          for (Index k = 0; k < i; ++k) again(i, j) += l(i, k) * b(k, j);
        }
        for (Index i = 0; i < order; ++i) {
          double before = x(i, j);
          for (Index k = 0; k < i; ++k) before += l(i, k) * x(k, j);
          worst = std::max(worst, std::fabs(again(i, j) - before));
        }
      }
      for (Index i = 0; i < static_cast<Index>(b.values.size()); ++i) {
        if (i % b.ld >= order || i / b.ld >= columns) {
          if (b.values[at(i)] != x.values[at(i)]) worst = kNan;
        }
      }
      const auto terms = static_cast<double>(order + 1);
      checks.that(worst <= 4 * kEps * terms * terms * largest, isa + " L X = B of order " + std::to_string(order) +
                                                                   " for " + std::to_string(columns) + ": " +
                                                                   std::to_string(worst));
    }
  }
}

void transpose(Checks& checks, const Kernels& loops, const std::string& isa) {
  Dice dice(4);
  for (Index rows = 0; rows <= 40; ++rows) {
    for (Index columns = 0; columns <= 40; ++columns) {
      Matrix from(columns, rows, dice), to(rows, columns, dice);  // a row is a column of `from`
      Matrix expected = to;
      for (Index i = 0; i < rows; ++i) {
        for (Index j = 0; j < columns; ++j) expected(i, j) = from(j, i);
      }
      loops.transpose(rows, columns, from.data(), from.ld, to.data(), to.ld);
      checks.that(to.values == expected.values,
                  isa + " transposed " + std::to_string(rows) + " x " + std::to_string(columns));
    }
  }
}

void take_off(Checks& checks, const Kernels& loops, const std::string& isa) {
  Dice dice(5);
  for (Index rows = 0; rows <= 40; ++rows) {
    for (Index columns = 0; columns <= 40; ++columns) {
      Matrix a(columns, rows, dice), y(rows, 1, dice);  // row by row
      Matrix expected = y;
      const auto x = random_values(columns, dice);
      for (Index i = 0; i < rows; ++i) {
        for (Index j = 0; j < columns; ++j) expected(i, 0) -= a(j, i) * x[at(j)];
      }
      loops.take_off(rows, columns, a.data(), a.ld, x.data(), y.data());
      checks.that(close(y, expected, static_cast<double>(columns)),
                  isa + " y - A x by rows, " + std::to_string(rows) + " x " + std::to_string(columns));
    }
  }
}

void dot(Checks& checks, const Kernels& loops, const std::string& isa) {
  Dice dice(6);
  for (Index length = 0; length <= 70; ++length) {
    const auto a = random_values(length, dice), x = random_values(length, dice);
    double sum = 0, absolute = 0.5, expected_absolute = 0.5;
    for (Index i = 0; i < length; ++i) {
      sum += a[at(i)] * x[at(i)];
      expected_absolute += std::fabs(a[at(i)]);
    }
    const double found = loops.dot(length, a.data(), x.data(), &absolute);
    const double bound = kEps * static_cast<double>((length + 1) * (length + 1));
    checks.that(std::fabs(found - sum) <= bound, isa + " a product of " + std::to_string(length));
    checks.that(std::fabs(absolute - expected_absolute) <= bound, isa + " and the sum of the magnitudes");
  }
}

void chosen(Checks& checks) {
  checks.equal(built_kernels().back(), "plain", "the plain loops are always there");
  checks.equal(std::string(kernels().isa), shakedown::choose_isa("auto", built_kernels()), "the widest is chosen");
  for (const auto& isa : built_kernels()) {
    bool runs = true;
    try {
      shakedown::choose_isa(isa, built_kernels());
    } catch (const shakedown::Error&) {
      runs = false;
    }
    if (runs) checks.equal(std::string(kernels(isa).isa), isa, "a set by its name");
  }
  checks.throws<shakedown::Error>([] { kernels("sse9"); }, "an unknown set is refused");
}

}  // namespace

int main() {
  Checks checks;
  chosen(checks);
  for (const auto& isa : built_kernels()) {
    const Kernels* loops = nullptr;
    try {
      loops = &kernels(isa);
    } catch (const shakedown::Error& error) {
      std::fprintf(stderr, "left out: %s\n", error.what());
      continue;
    }
    column(checks, *loops, isa);
    search(checks, *loops, isa);
    update(checks, *loops, isa);
    solve_unit(checks, *loops, isa);
    transpose(checks, *loops, isa);
    take_off(checks, *loops, isa);
    dot(checks, *loops, isa);
  }
  return checks.end();
}
