// Each kernel and product against its definition, on the host backend, which runs the kernels' own source.
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "calls.hpp"
#include "gpu/formats.hpp"
#include "gpu/host.hpp"
#include "hpl/testing/reference.hpp"
#include "testing/check.hpp"

namespace {

using namespace shakedown::hpl_mxp;
using shakedown::Checks;
namespace gpu = shakedown::gpu;
namespace hpl = shakedown::hpl;

struct Bench {
  std::unique_ptr<gpu::Device> device = std::move(gpu::host_devices(1).front());
  Calls calls{*device, module({})};
  gpu::Stream stream{*device};
};

float number(std::uint64_t seed, std::size_t at) { return gpu::uniform_float(gpu::random_bits(seed, at)); }
std::size_t at(Index i, Index j, Index ld) { return static_cast<std::size_t>(i + j * ld); }

/// The matrix with its diagonal, as netlib's definition and the rules give it, column by column.
std::vector<double> dominant(Index n) {
  auto a = hpl::testing::netlib_matrix(n);
  for (Index i = 0; i < n; ++i) {
    double sum = 0;
    for (Index j = 0; j < n; ++j) sum += i == j ? 0 : std::fabs(a[at(i, j, n)]);
    a[at(i, i, n)] = sum;
  }
  return a;
}

void matrices(Checks& checks, const Bench& b) {
  for (const auto& [n, nb, p, q] : {std::array<Index, 4>{1, 1, 1, 1}, {37, 8, 1, 1}, {50, 7, 2, 3}, {64, 16, 3, 2}}) {
    const auto netlib = hpl::testing::netlib_matrix(n);
    const auto wanted = dominant(n);
    for (int row = 0; row < static_cast<int>(p); ++row) {
      for (int column = 0; column < static_cast<int>(q); ++column) {
        Part part{n, {nb, static_cast<int>(p)}, {nb, static_cast<int>(q)}, row, column, 0, 0};
        part.height = part.rows.count(n, row);
        part.width = part.columns.count(n, column);
        const Index lda = part.height + 3;
        std::vector<float> a(static_cast<std::size_t>(lda * part.width + 1), -7);
        std::vector<double> diagonal;
        for (Index i = 0; i < part.height; ++i)
          diagonal.push_back(wanted[at(part.rows.global(i, row), part.rows.global(i, row), n)]);
        b.calls.generate(part, a.data(), lda, b.stream);
        b.calls.diagonal(part, diagonal.data(), a.data(), lda, b.stream);
        bool same = true, kept = true;
        for (Index j = 0; j < part.width; ++j) {
          for (Index i = 0; i < part.height; ++i) {
            const auto entry = wanted[at(part.rows.global(i, row), part.columns.global(j, column), n)];
            same = same && a[at(i, j, lda)] == static_cast<float>(entry);
          }
          kept = kept && a[at(part.height, j, lda)] == -7;
        }
        checks.that(same, "the matrix in single precision, N " + std::to_string(n));
        checks.that(kept, "nothing is written below it");
        // Sums of rows: netlib's own matrix.
        std::vector<double> x, room(static_cast<std::size_t>(2 * part.height * Calls::kChunks + 1)), sums(room.size());
        for (Index j = 0; j < part.width; ++j) x.push_back(static_cast<double>(number(5, static_cast<std::size_t>(j))));
        b.calls.row_sums(part, x.data(), room.data(), sums.data(), b.stream);
        double off = 0;
        for (Index i = 0; i < part.height; ++i) {
          double product = 0, absolute = 0;
          for (Index j = 0; j < part.width; ++j) {
            const double entry = netlib[at(part.rows.global(i, row), part.columns.global(j, column), n)];
            product += entry * x[static_cast<std::size_t>(j)];
            absolute += std::fabs(entry);
          }
          off = std::max({off, std::fabs(product - sums[at(0, i, 2)]), std::fabs(absolute - sums[at(1, i, 2)])});
        }
        checks.that(off < 1e-13, "sums of rows are off by " + std::to_string(off));
      }
    }
  }
}

void narrowing(Checks& checks, const Bench& b) {
  constexpr Index kRows = 37, kColumns = 5, kFrom = 40, kTo = 64;
  std::vector<float> from(kFrom * kColumns);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = number(7, i);
  for (const auto precision : {Precision::f16, Precision::bf16}) {
    const auto format = precision == Precision::f16 ? gpu::kHalf : gpu::kBfloat;
    const double half_ulp = precision == Precision::f16 ? 0x1p-11 : 0x1p-8;
    std::vector<std::uint16_t> to(kTo * kColumns, 0x1234);
    b.calls.narrow(precision, from.data(), kFrom, to.data(), kTo, kRows, kColumns, 8, b.stream);
    double off = 0;
    bool zeros = true;
    for (Index j = 0; j < kColumns; ++j) {
      for (Index i = 0; i < kTo; ++i) {
        const double found = static_cast<double>(gpu::widen(to[at(i, j, kTo)], format));
        const double wanted = i < kRows ? 8 * static_cast<double>(from[at(i, j, kFrom)]) : 0;
        if (i < kRows && wanted != 0) off = std::max(off, std::fabs(found / wanted - 1));
        if (i >= kRows) zeros = zeros && to[at(i, j, kTo)] == 0;
      }
    }
    checks.that(off <= half_ulp && off > half_ulp / 8, "to the nearest: " + std::to_string(off));
    checks.that(zeros, "zeros below");
  }
  // What no format holds becomes infinite, not something else: the check must see it.
  const float bad[] = {std::nanf(""), 1e30F, -HUGE_VALF};
  std::uint16_t codes[32] = {};
  b.calls.narrow(Precision::f16, bad, 3, codes, 32, 3, 1, 1, b.stream);
  for (int i = 0; i < 3; ++i)
    checks.that(!std::isfinite(gpu::widen(codes[i], gpu::kHalf)), "what is not finite stays so");
}

/// LU in long double, from its definition.
std::vector<double> lu_of(std::vector<double> a, Index n) {
  std::vector<long double> w(a.begin(), a.end());
  for (Index k = 0; k < n; ++k) {
    for (Index i = k + 1; i < n; ++i) {
      w[at(i, k, n)] /= w[at(k, k, n)];
      for (Index j = k + 1; j < n; ++j) w[at(i, j, n)] -= w[at(i, k, n)] * w[at(k, j, n)];
    }
  }
  return {w.begin(), w.end()};
}

void corners(Checks& checks, const Bench& b) {
  for (const Index n : {1, 2, 31, 32, 33, 64, 65, 100, 160}) {
    const auto matrix = dominant(std::max<Index>(n, 2));  // an order of 1 has no diagonal
    const Index order = std::max<Index>(n, 2), lda = n + 5, ldlu = n + 9;
    std::vector<double> square;
    std::vector<float> a(static_cast<std::size_t>(lda * n), 3), lu(static_cast<std::size_t>(ldlu * n), 3);
    for (Index j = 0; j < n; ++j) {
      for (Index i = 0; i < n; ++i) {
        a[at(i, j, lda)] = static_cast<float>(matrix[at(i, j, order)]);
        square.push_back(static_cast<double>(a[at(i, j, lda)]));
      }
    }
    const auto wanted = lu_of(square, n);
    b.calls.factor(a.data(), lda, lu.data(), ldlu, n, b.stream);
    double off = 0, largest = 0;
    bool kept = true;
    for (Index j = 0; j < n; ++j) {
      for (Index i = 0; i < n; ++i) {
        off = std::max(off, std::fabs(static_cast<double>(lu[at(i, j, ldlu)]) - wanted[at(i, j, n)]));
        largest = std::max(largest, std::fabs(wanted[at(i, j, n)]));
      }
      for (Index i = n; i < ldlu; ++i) kept = kept && lu[at(i, j, ldlu)] == 3;
    }
    checks.that(off <= 1e-5 * largest, "LU of order " + std::to_string(n) + " is off by " + std::to_string(off));
    checks.that(kept, "nothing beside it");
  }
}

/// What a solve gives, multiplied with the triangle again, is what it was given.
void triangles(Checks& checks, const Bench& b) {
  for (const Index n : {1, 2, 31, 32, 33, 70, 128}) {
    const Index ld = n + 3, others = 9;
    std::vector<float> lu(static_cast<std::size_t>(ld * n));
    for (Index j = 0; j < n; ++j) {
      for (Index i = 0; i < n; ++i)
        lu[at(i, j, ld)] = i == j ? 2 + number(1, static_cast<std::size_t>(i)) : number(2, at(i, j, ld)) / 8;
    }
    const auto entry = [&](bool lower, Index i, Index j) {
      if (i == j) return lower ? 1.0 : static_cast<double>(lu[at(i, j, ld)]);
      return (i > j) == lower ? static_cast<double>(lu[at(i, j, ld)]) : 0.0;
    };
    for (const bool lower : {true, false}) {
      std::vector<double> y, x(static_cast<std::size_t>(n));
      for (Index i = 0; i < n; ++i) y.push_back(static_cast<double>(number(3, static_cast<std::size_t>(i))));
      if (lower) {
        b.calls.solve_lower(lu.data(), ld, n, y.data(), x.data(), b.stream);
      } else {
        b.calls.solve_upper(lu.data(), ld, n, y.data(), x.data(), b.stream);
      }
      double off = 0;
      for (Index i = 0; i < n; ++i) {
        double sum = 0;
        for (Index j = 0; j < n; ++j) sum += entry(lower, i, j) * x[static_cast<std::size_t>(j)];
        off = std::max(off, std::fabs(sum - y[static_cast<std::size_t>(i)]));
      }
      checks.that(off < 1e-13, std::string(lower ? "L" : "U") + " x = y, order " + std::to_string(n));
      // Many right sides in single precision: X U = B, L X = B.
      const Index m = lower ? n : others, width = lower ? others : n, ldb = m + 2;
      std::vector<float> before(static_cast<std::size_t>(ldb * width));
      for (std::size_t i = 0; i < before.size(); ++i) before[i] = number(4, i);
      auto after = before;
      if (lower) {
        b.calls.solve_left(lu.data(), ld, after.data(), ldb, m, width, b.stream);
      } else {
        b.calls.solve_right(lu.data(), ld, after.data(), ldb, m, width, b.stream);
      }
      off = 0;
      for (Index j = 0; j < width; ++j) {
        for (Index i = 0; i < m; ++i) {
          double sum = 0;
          for (Index l = 0; l < n; ++l) {
            sum += lower ? entry(true, i, l) * static_cast<double>(after[at(l, j, ldb)])
                         : static_cast<double>(after[at(i, l, ldb)]) * entry(false, l, j);
          }
          off = std::max(off, std::fabs(sum - static_cast<double>(before[at(i, j, ldb)])));
        }
        for (Index i = m; i < ldb; ++i) off += after[at(i, j, ldb)] == before[at(i, j, ldb)] ? 0 : 1;
      }
      checks.that(off < 3e-6, std::string(lower ? "L X" : "X U") + " = B: " + std::to_string(off));
    }
    std::vector<double> y(100), x;
    for (std::size_t i = 0; i < 100; ++i) y[i] = static_cast<double>(number(8, i));
    auto rest = y;
    for (Index j = 0; j < n; ++j) x.push_back(static_cast<double>(number(9, static_cast<std::size_t>(j))));
    const Index rows = std::min<Index>(n, 70);
    b.calls.take_off(lu.data(), ld, rows, n, x.data(), rest.data(), b.stream);
    double off = 0;
    for (Index i = 0; i < 100; ++i) {
      double sum = y[static_cast<std::size_t>(i)];
      for (Index j = 0; j < n && i < rows; ++j)
        sum -= static_cast<double>(lu[at(i, j, ld)]) * x[static_cast<std::size_t>(j)];
      off = std::max(off, std::fabs(sum - rest[static_cast<std::size_t>(i)]));
    }
    checks.that(off < 1e-13, "y -= A x");
  }
}

/// Factors of 16 bits, and a C that keeps what they could not hold.
void products(Checks& checks, const Bench& b) {
  for (const auto precision : {Precision::f16, Precision::bf16}) {
    const auto format = precision == Precision::f16 ? gpu::kHalf : gpu::kBfloat;
    constexpr Index kM = 7, kN = 5, kK = 11, kLda = 8, kLdb = 12, kLdc = 9;
    std::vector<std::uint16_t> left(kLda * kK), right(kLdb * kN);
    for (std::size_t i = 0; i < left.size(); ++i)
      left[i] = static_cast<std::uint16_t>(gpu::narrow(number(1, i), format));
    for (std::size_t i = 0; i < right.size(); ++i)
      right[i] = static_cast<std::uint16_t>(gpu::narrow(number(2, i), format));
    std::vector<float> c(kLdc * kN, 4097.25F);  // more digits than either format has
    b.calls.gemm(precision, kM, kN, kK, -0.5, left.data(), kLda, right.data(), kLdb, c.data(), kLdc, b.stream);
    double off = 0;
    for (Index j = 0; j < kN; ++j) {
      for (Index i = 0; i < kM; ++i) {
        double sum = 4097.25;
        for (Index l = 0; l < kK; ++l)
          sum -= 0.5 * static_cast<double>(gpu::widen(left[at(i, l, kLda)], format)) *
                 static_cast<double>(gpu::widen(right[at(l, j, kLdb)], format));
        off = std::max(off, std::fabs(sum - static_cast<double>(c[at(i, j, kLdc)])));
      }
      checks.equal(c[at(kM, j, kLdc)], 4097.25F, "nothing below");
    }
    checks.that(off <= 0x1p-12, std::string(word(precision)) + " products are off by " + std::to_string(off));
  }
}

}  // namespace

int main() {
  Checks checks;
  const Bench bench;
  matrices(checks, bench);
  narrowing(checks, bench);
  corners(checks, bench);
  triangles(checks, bench);
  products(checks, bench);
  return checks.end();
}
