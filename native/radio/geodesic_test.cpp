// Paths on the ellipsoid against exact ones: an integration of the geodesic's own equations, and published code's
// values.
#include "geodesic.hpp"

#include <cmath>
#include <cstdint>
#include <string>

#include "testing/check.hpp"

namespace shakedown::radio {
namespace {

constexpr double kDegrees = 57.295779513082320877;

/// A geodesic of a given length: the equations of its latitude, longitude and azimuth, by Runge and Kutta's method in
/// steps so small that their error is below a micrometre.
struct Exact {
  double latitude, longitude, azimuth;  // rad
  void slope(const double (&y)[3], double (&d)[3]) const {
    constexpr double kA = 6'378'137, kF = 1 / 298.257223563, kE2 = kF * (2 - kF);
    const double w2 = 1 - kE2 * std::sin(y[0]) * std::sin(y[0]);
    const double n = kA / std::sqrt(w2), m = n * (1 - kE2) / w2;
    d[0] = std::cos(y[2]) / m;
    d[1] = std::sin(y[2]) / (n * std::cos(y[0]));
    d[2] = std::tan(y[0]) * std::sin(y[2]) / n;
  }
  [[nodiscard]] Exact after(double length_m) const {
    const int steps = 50 + static_cast<int>(length_m / 2000);
    const double h = length_m / steps;
    double y[3] = {latitude, longitude, azimuth};
    for (int step = 0; step < steps; ++step) {
      double k[4][3], at[3] = {y[0], y[1], y[2]};
      for (int stage = 0; stage < 4; ++stage) {
        slope(at, k[stage]);
        const double part = stage == 2 ? h : h / 2;
        for (int i = 0; i < 3; ++i) at[i] = y[i] + part * k[stage][i];
      }
      for (int i = 0; i < 3; ++i) y[i] += h / 6 * (k[0][i] + 2 * k[1][i] + 2 * k[2][i] + k[3][i]);
    }
    return {y[0], y[1], y[2]};
  }
};

std::uint64_t state = 88172645463325252ULL;
double random_between(double low, double high) {  // Marsaglia's xorshift
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return low + (high - low) * static_cast<double>(state >> 11) * 0x1p-53;
}

double at(const Cubic& cubic, double t) { return cubic.c[0] + t * (cubic.c[1] + t * (cubic.c[2] + t * cubic.c[3])); }

/// Metres between two places that are near each other.
double apart_m(double lat_a, double lon_a, double lat_b, double lon_b) {
  return geodesic_between(geo_place(lat_a, lon_a), geo_place(lat_b, lon_b)).length_m;
}

/// The largest relative error of lengths, and how far in metres the cubics are from the exact path.
void check_length(Checks& checks, double length_m, double most_latitude_deg, double relative, double path_m) {
  double worst = 0, worst_m = 0;
  for (int draw = 0; draw < 100; ++draw) {
    const Exact begin{random_between(-most_latitude_deg, most_latitude_deg) / kDegrees, random_between(-3, 3),
                      random_between(0, 6.28)};
    const Exact end = begin.after(length_m);
    if (std::fabs(end.latitude) * kDegrees > most_latitude_deg) continue;
    const GeoPlace a = geo_place(begin.latitude * kDegrees, begin.longitude * kDegrees);
    const GeoPlace b = geo_place(end.latitude * kDegrees, end.longitude * kDegrees);
    const Geodesic path = geodesic_between(a, b);
    worst = std::fmax(worst, std::fabs(path.length_m / length_m - 1));
    const Cubic latitude = cubic_of(a.latitude_deg, b.latitude_deg, path.latitude_deg[0], path.latitude_deg[1]);
    const Cubic longitude = cubic_of(a.longitude_deg, b.longitude_deg, path.longitude_deg[0], path.longitude_deg[1]);
    for (const double t : {0.1, 0.3, 0.5, 0.7, 0.9}) {
      const Exact exact = begin.after(t * length_m);
      worst_m = std::fmax(
          worst_m, apart_m(exact.latitude * kDegrees, exact.longitude * kDegrees, at(latitude, t), at(longitude, t)));
    }
  }
  const std::string what = std::to_string(length_m / 1000) + " km to latitude " + std::to_string(most_latitude_deg);
  checks.that(worst > 0 && worst <= relative,
              what + ": relative error of lengths " + std::to_string(worst * 1e9) + "e-9");
  checks.that(worst_m <= path_m, what + ": the path is off by " + std::to_string(worst_m) + " m");
}

/// From GeographicLib 2.1 (C. F. F. Karney, Algorithms for geodesics, J. Geodesy 87, 2013): two places, the length, and
/// the point after 0.3 of it.
struct Vector {
  double from[2], to[2], length_m, point[2];
};
constexpr Vector kVectors[] = {
    {{0, 0}, {0, 1}, 111319.490793, {0, 0.3}},
    {{47.2, 11.3}, {47.21, 11.32}, 1879.386753, {47.2030003684, 11.3059992107}},
    {{-33.9, 151.2}, {-34.6, 150.3}, 113586.196791, {-34.1107001790, 150.9315615589}},
    {{60, 10}, {61.2, 12.9}, 207622.087403, {60.3665692393, 10.8475018885}},
    {{69.5, 18}, {69.9, 22.5}, 179882.304154, {69.6320372785, 19.3319023975}},
    {{0.5, -70.1}, {-0.4, -69.3}, 133545.265443, {0.2300023242, -69.8599949674}},
    {{51.5, -0.1}, {48.9, 2.3}, 336114.465077, {50.7253946012, 0.6477187252}},
    {{45, 179.9}, {45.1, 180.05}, 16221.588087, {45.0300208611, 179.9449451290}},
    {{12.345678, -98.7654321}, {12.345679, -98.7654329}, 0.140743, {12.3456783, -98.76543234}},
};

void check_vectors(Checks& checks) {
  for (const Vector& vector : kVectors) {
    const GeoPlace a = geo_place(vector.from[0], vector.from[1]), b = geo_place(vector.to[0], vector.to[1]);
    const Geodesic path = geodesic_between(a, b);
    const std::string what = "from " + std::to_string(vector.from[0]) + ", " + std::to_string(vector.from[1]);
    checks.that(std::fabs(path.length_m - vector.length_m) <= 1e-6 + 1e-9 * vector.length_m,
                what + ": length " + std::to_string(path.length_m));
    const double latitude = at(cubic_of(vector.from[0], vector.to[0], path.latitude_deg[0], path.latitude_deg[1]), 0.3);
    const double longitude =
        at(cubic_of(vector.from[1], vector.to[1], path.longitude_deg[0], path.longitude_deg[1]), 0.3);
    const double off_m = apart_m(latitude, longitude, vector.point[0], vector.point[1]);
    checks.that(off_m <= 3, what + ": the path is off by " + std::to_string(off_m) + " m");
  }
}

void check_special(Checks& checks) {
  const GeoPlace place = geo_place(47, 11);
  checks.equal(geodesic_between(place, place).length_m, 0.0, "length to itself");
  checks.equal(geodesic_between(place, place).latitude_deg[0], 0.0, "slope to itself");
  const GeoPlace pole = geo_place(90, 0);
  checks.that(std::isfinite(geodesic_between(place, pole).longitude_deg[1]), "a pole has a finite slope");
  const Geodesic there = geodesic_between(place, geo_place(47.3, 11.5)),
                 back = geodesic_between(geo_place(47.3, 11.5), place);
  checks.equal(there.length_m, back.length_m, "the same length both ways, bit for bit");
}

}  // namespace
}  // namespace shakedown::radio

int main() {
  using namespace shakedown::radio;
  shakedown::Checks checks;
  check_length(checks, 1, 85, 1e-7, 1e-3);  // places are known to some nanometres
  check_length(checks, 10e3, 60, 1e-11, 1e-3);
  check_length(checks, 200e3, 60, 2e-10, 0.6);
  check_length(checks, 200e3, 70, 2e-10, 3);
  check_length(checks, 300e3, 66, 1e-9, 10);
  check_length(checks, 1000e3, 60, 2e-7, 400);
  check_length(checks, 2000e3, 60, 2e-6, 5000);
  check_vectors(checks);
  check_special(checks);
  return checks.end();
}
