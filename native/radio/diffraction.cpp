#include "diffraction.hpp"

#include <cmath>
#include <limits>

namespace shakedown::radio {

Edge main_edge(const DiffractionPath& path, std::size_t a, std::size_t b) {
  const std::size_t last = path.height_m.size() - 1;
  const double from = a == 0 ? path.tx_m : path.raised_m(a), to = b == last ? path.rx_m : path.raised_m(b);
  const double length = path.step_m * static_cast<double>(b - a), per_m = 1 / length;
  // The parameter is above sqrt(2 length / (wavelength area)): its square, with its sign, is compared without a
  // division.
  Edge edge{0, -std::numeric_limits<double>::infinity()};
  double highest = 0, highest_square = 0, highest_area = 1;
  for (std::size_t i = a + 1; i < b; ++i) {
    const double before = path.step_m * static_cast<double>(i - a), after = path.step_m * static_cast<double>(b - i);
    const double above = path.raised_m(i) - (from * after + to * before) * per_m;
    const double area = before * after, square = above * std::fabs(above);
    if (edge.at != 0 && !(square * highest_area > highest_square * area)) continue;
    edge.at = i;
    highest = above;
    highest_square = square;
    highest_area = area;
  }
  if (edge.at != 0) edge.parameter = highest * std::sqrt(2 * length / (path.wavelength_m * highest_area));
  return edge;
}

namespace {

/// The steepest slope from an antenna to the ground, of rises over distances that are given one by one: the largest
/// quotient, without a division.
class Steepest {
 public:
  void add(double rise, double distance) {
    if (distance_ > 0 && !(rise * distance_ > rise_ * distance)) return;
    rise_ = rise;
    distance_ = distance;
  }
  [[nodiscard]] double slope() const {
    return distance_ > 0 ? rise_ / distance_ : -std::numeric_limits<double>::infinity();
  }

 private:
  double rise_ = 0, distance_ = 0;
};

}  // namespace

Bullington bullington(const DiffractionPath& path) {
  const double length = path.distance_m();
  const std::size_t last = path.height_m.size() - 1;
  Steepest from_tx, from_rx;
  for (std::size_t i = 1; i < last; ++i) {
    const double raised = path.raised_m(i);
    from_tx.add(raised - path.tx_m, path.step_m * static_cast<double>(i));
    from_rx.add(raised - path.rx_m, path.step_m * static_cast<double>(last - i));
  }
  const double up = from_tx.slope(), down = from_rx.slope();
  Bullington result{};
  result.in_sight = up < (path.rx_m - path.tx_m) / length;
  if (result.in_sight) {
    const Edge edge = main_edge(path, 0, last);
    result.parameter = edge.parameter;
    result.distance_m = path.step_m * static_cast<double>(edge.at);
  } else {
    const double at = (path.rx_m - path.tx_m + down * length) / (up + down), after = length - at;
    const double above = path.tx_m + up * at - (path.tx_m * after + path.rx_m * at) / length;
    result.parameter = above * std::sqrt(2 * length / (path.wavelength_m * at * after));
    result.distance_m = at;
  }
  result.knife_edge_db = knife_edge_db(result.parameter);
  result.correction_db = (1 - std::exp(-result.knife_edge_db / 6)) * (10 + 0.02 * length / 1000);
  return result;
}

namespace {

/// Height gain of one antenna: P.1812-6, equation 35; `scaled` is beta times the normalized height.
double height_gain_db(double scaled, double admittance) {
  const double gain = scaled > 2 ? 17.6 * std::sqrt(scaled - 1.1) - 5 * std::log10(scaled - 1.1) - 8
                                 : 20 * std::log10(scaled + 0.1 * scaled * scaled * scaled);
  return std::fmax(gain, 2 + 20 * std::log10(admittance));
}

/// The first term of the residue series: P.1812-6, equations 29 to 36, with f in GHz and the radius and d in km.
double first_term_db(double distance_m, double tx_height_m, double rx_height_m, double earth_radius_m,
                     const Setting& ground) {
  const double f = ground.frequency_mhz / 1000, a = earth_radius_m / 1000, d = distance_m / 1000;
  const double e = ground.permittivity, s = 18 * ground.conductivity_s_per_m / f;
  double k = 0.036 / std::cbrt(a * f) / std::sqrt(std::hypot(e - 1, s));
  if (ground.polarization == Polarization::vertical) k *= std::hypot(e, s);
  const double k2 = k * k, k4 = k2 * k2;
  const double beta = (1 + 1.6 * k2 + 0.67 * k4) / (1 + 4.5 * k2 + 1.53 * k4);
  const double x = 21.88 * beta * std::cbrt(f / (a * a)) * d;
  const double per_m = 0.9575 * beta * std::cbrt(f * f / a);
  const double by_distance =
      x >= 1.6 ? 11 + 10 * std::log10(x) - 17.6 * x : -20 * std::log10(x) - 5.6488 * std::pow(x, 1.425);
  return -by_distance - height_gain_db(beta * per_m * tx_height_m, k) - height_gain_db(beta * per_m * rx_height_m, k);
}

}  // namespace

SphericalEarth spherical_earth(double d, double h1, double h2, double a, double wavelength_m, const Setting& ground) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), roots = std::sqrt(h1) + std::sqrt(h2);
  SphericalEarth result{std::sqrt(2 * a) * roots, nan, nan, 0};
  if (d >= result.horizon_m) {
    result.loss_db = std::fmax(first_term_db(d, h1, h2, a, ground), 0);
    return result;
  }
  const double c = (h1 - h2) / (h1 + h2), m = d * d / (4 * a * (h1 + h2));
  double b = c;  // where the earth is flat over the path, as mirrors have it
  if (m > 1e-9) {
    const double cosine = 1.5 * c * std::sqrt(3 * m / ((m + 1) * (m + 1) * (m + 1)));
    const double angle = std::acos(std::fmin(std::fmax(cosine, -1), 1));  // 1 is reached with an antenna on the ground
    b = 2 * std::sqrt((m + 1) / (3 * m)) * std::cos(M_PI / 3 + angle / 3);
  }
  const double d1 = d / 2 * (1 + b), d2 = d - d1;
  result.clearance_m = ((h1 - d1 * d1 / (2 * a)) * d2 + (h2 - d2 * d2 / (2 * a)) * d1) / d;
  // 0.552 of the first Fresnel zone's radius: P.1812-6, equation 26, 17.456 sqrt(d1 d2 lambda / d) with km
  result.required_m = 17.456 * std::sqrt(d1 * d2 * wavelength_m / d / 1000);
  if (result.clearance_m > result.required_m) return result;
  const double marginal = d / roots;  // over an earth so small that the antennas just see each other
  const double loss = first_term_db(d, h1, h2, marginal * marginal / 2, ground);
  const double part = result.required_m > 0 ? result.clearance_m / result.required_m : 0;
  result.loss_db = loss < 0 ? 0 : (1 - part) * loss;
  return result;
}

SmoothGround smooth_ground(const DiffractionPath& path) {
  const std::size_t last = path.height_m.size() - 1;
  const double d = path.distance_m(), per_m = 1 / d;
  double v1 = 0, v2 = 0;
  double rise = -std::numeric_limits<double>::infinity();
  Steepest from_tx, from_rx;
  for (std::size_t i = 1; i <= last; ++i) {
    const double h = path.height_m[i], before = path.height_m[i - 1];
    const double at = path.step_m * static_cast<double>(i), previous = at - path.step_m;
    v1 += path.step_m * (h + before);
    v2 += path.step_m * (h * (2 * at + previous) + before * (at + 2 * previous));
    if (i == last) break;
    const double above = h - (path.tx_m * (d - at) + path.rx_m * at) * per_m;
    rise = std::fmax(rise, above);
    from_tx.add(above, at);
    from_rx.add(above, d - at);
  }
  SmoothGround ground{(2 * v1 * d - v2) / (d * d), (v2 - v1 * d) / (d * d)};
  if (rise > 0) {
    const double up = from_tx.slope(), down = from_rx.slope();
    ground.tx_m -= rise * up / (up + down);
    ground.rx_m -= rise * down / (up + down);
  }
  ground.tx_m = std::fmin(ground.tx_m, path.height_m.front());
  ground.rx_m = std::fmin(ground.rx_m, path.height_m.back());
  return ground;
}

}  // namespace shakedown::radio
