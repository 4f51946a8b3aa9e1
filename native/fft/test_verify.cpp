// Shapes, work and the two checks, on arrays whose errors are known.
#include <cmath>
#include <complex>
#include <vector>

#include "fft.hpp"
#include "testing/check.hpp"
#include "verify.hpp"

namespace {

using namespace shakedown;
using namespace shakedown::fft;

void shapes(Checks& checks) {
  checks.equal(parse_shape("128x64x32").points(), 128 * 64 * 32, "points");
  checks.equal(parse_shape("128x64x32").text(), std::string("128x64x32"), "text");
  checks.equal(parse_shape("1024").flop(), 5.0 * 1024 * 10, "5 N log2 N");
  checks.equal(parse_shape("32x32").flop(), 5.0 * 1024 * 10, "in any number of dimensions");
  for (const char* word : {"", "x", "0", "1", "1x1", "4x", "x4", "-4", "4y4", "4x4x4x4", "99999999999", "4 ", "1e3"})
    checks.throws<Error>([&] { parse_shape(word); }, std::string("no shape: '") + word + "'");
}

/// The transform as it is defined, of any shape.
std::vector<std::complex<double>> defined(const Shape& shape, const std::vector<std::complex<double>>& in) {
  const auto n = shape.points();
  std::vector<std::complex<double>> out(in.size());
  for (std::int64_t k = 0; k < n; ++k) {
    std::complex<long double> sum = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      long double turns = 0;
      auto kr = k, jr = j;
      for (std::size_t d = shape.lengths.size(); d-- > 0;) {
        const std::int64_t length = shape.lengths[d];
        turns += static_cast<long double>((kr % length) * (jr % length) % length) / static_cast<long double>(length);
        kr /= length;
        jr /= length;
      }
      const long double angle = -6.283185307179586476925286766559L * turns;
      const std::complex<long double> x(in[static_cast<std::size_t>(j)].real(), in[static_cast<std::size_t>(j)].imag());
      sum += x * std::complex<long double>(std::cos(angle), std::sin(angle));
    }
    out[static_cast<std::size_t>(k)] = {static_cast<double>(sum.real()), static_cast<double>(sum.imag())};
  }
  return out;
}

double error(const Modes& modes, const std::vector<std::complex<double>>& out) {
  return distance<double>(
      1, modes.points, nullptr, [&](std::int64_t i) { return out[static_cast<std::size_t>(i)]; },
      [&](std::int64_t i) { return modes.output(i); });
}

void known_modes(Checks& checks) {
  for (const char* word : {"2", "3", "64", "97", "256", "8x16", "5x6x7", "2x3x4", "1x9"}) {
    const Shape shape = parse_shape(word);
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      const Modes modes(shape, seed);
      std::vector<std::complex<double>> in;
      for (std::int64_t i = 0; i < shape.points(); ++i) in.push_back(modes.input<double>(i));
      auto out = defined(shape, in);
      checks.that(error(modes, out) < 1, std::string("what is right is far below the limit, ") + word);
      auto wrong = out;
      wrong[out.size() / 2] += 1e-9 * static_cast<double>(shape.points());
      checks.that(error(modes, wrong) > kLimit, std::string("one point wrong by 1e-9 of a mode, ") + word);
      if (shape.points() < 5) continue;
      std::swap(out.front(), out.back());
      checks.that(out.front() == out.back() || error(modes, out) < 1 || error(modes, out) > kLimit,
                  "and two exchanged");
      out[1] = std::nan("");
      checks.that(!(error(modes, out) <= kLimit), "NaN is no pass");
    }
  }
}

void roots(Checks& checks) {
  for (const std::int64_t n : {1, 2, 7, 64, 1000, 65537}) {
    const Roots root(n);
    long double worst = 0;
    for (std::int64_t p = 0; p < n; ++p) {
      const long double angle =
          6.283185307179586476925286766559L * static_cast<long double>(p) / static_cast<long double>(n);
      worst = std::max(worst, std::abs(root(p) - std::complex<long double>(std::cos(angle), std::sin(angle))));
    }
    checks.that(worst < 1e-17L, "roots of " + std::to_string(n));
  }
}

void teams(Checks& checks) {
  const auto cpus = allowed_cpus();
  Team team(std::vector<int>(3, cpus.front()));
  const Modes modes(parse_shape("4096"), 1);
  const auto got = [&](std::int64_t i) { return modes.output(i) + 1e-9; };
  const auto want = [&](std::int64_t i) { return modes.output(i); };
  const double alone = distance<double>(1, modes.points, nullptr, got, want);
  const double together = distance<double>(3, modes.points, &team, got, want);
  checks.that(std::abs(alone - together) < 1e-9 * alone, "threads give what one gives");
}

}  // namespace

int main() {
  Checks checks;
  shapes(checks);
  roots(checks);
  known_modes(checks);
  teams(checks);
  return checks.end();
}
