#include "itm.hpp"

#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "common/error.hpp"
#include "itm_profile.hpp"
#include "itm_setting.hpp"
#include "itm_variability.hpp"

namespace shakedown::radio {
namespace {

using One = Lanes<double, 1>;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Climates 1 to 7: NBS Technical Note 101, as digitised by the reference; distances in km here.
constexpr double kMedian[5][7] = {{-9.67, -0.62, 1.26, -9.21, -0.62, -0.39, 3.15},
                                  {12.7, 9.19, 15.5, 9.05, 9.19, 2.86, 857.9},
                                  {144.9, 228.9, 262.6, 84.1, 228.9, 141.7, 2222},
                                  {190.3, 205.2, 185.2, 101.1, 205.2, 315.9, 164.8},
                                  {133.8, 143.6, 99.8, 98.6, 143.6, 167.4, 116.3}};
constexpr double kBelow[5][7] = {{2.13, 2.66, 6.11, 1.98, 2.68, 6.86, 8.51},
                                 {159.5, 7.67, 6.65, 13.11, 7.16, 10.38, 169.8},
                                 {762.2, 100.4, 138.2, 139.1, 93.7, 187.8, 609.8},
                                 {123.6, 172.5, 242.2, 132.7, 186.8, 169.6, 119.9},
                                 {94.5, 136.4, 178.6, 193.5, 133.5, 108.9, 106.6}};
constexpr double kAbove[5][7] = {{2.11, 6.87, 10.08, 3.68, 4.75, 8.58, 8.43},
                                 {102.3, 15.53, 9.60, 159.3, 8.12, 13.97, 8.19},
                                 {636.9, 138.7, 165.3, 464.4, 93.2, 216.0, 136.2},
                                 {134.8, 143.7, 225.7, 93.1, 135.9, 152.0, 188.5},
                                 {95.6, 98.6, 129.7, 94.2, 113.4, 122.7, 122.9}};
constexpr double kDucting[7] = {1.224, 0.801, 1.380, 1.000, 1.224, 1.518, 1.518};
constexpr double kDuctingDeviate[7] = {1.282, 2.161, 1.282, 20, 1.282, 1.282, 1.282};
constexpr double kBelowFactor[3][7] = {{1, 1, 1, 1, 0.92, 1, 1}, {0, 0, 0, 0, 0.25, 0, 0}, {0, 0, 0, 0, 1.77, 0, 0}};
constexpr double kAboveFactor[3][7] = {
    {1, 0.93, 1, 0.93, 0.93, 1, 1}, {0, 0.31, 0, 0.19, 0.31, 0, 0}, {0, 2.00, 0, 1.79, 2.00, 0, 0}};

Curve curve_of(const double (&table)[5][7], int climate) {
  const auto at = static_cast<std::size_t>(climate - 1);
  return {table[0][at], table[1][at], table[2][at] * 1e3, table[3][at] * 1e3, table[4][at] * 1e3};
}

double frequency_factor(const double (&table)[3][7], int climate, double wavenumber) {
  const auto at = static_cast<std::size_t>(climate - 1);
  const double q = table[2][at] * std::log(0.133 * wavenumber);
  return table[0][at] + table[1][at] / (q * q + 1);
}

/// The deviate that a standard normal variable exceeds with this probability (Abramowitz and Stegun, 26.2.23): within
/// 4.5e-4, and not quite 0 at a half, as in the reference.
double deviate_of(double percent) {
  const double q = percent / 100, x = q > 0.5 ? 1 - q : q, t = std::sqrt(-2 * std::log(x));
  const double z =
      t - ((0.010328 * t + 0.802853) * t + 2.515516) / (((0.001308 * t + 0.189269) * t + 1.432788) * t + 1);
  return q > 0.5 ? -z : z;
}

bool outside(double percent) { return !(percent > 0 && percent < 100); }

/// The reference's checks within the calculation, of the geometry of one link.
ItmError check_path(const ItmResult& path, const double (&smooth_m)[2], const Prepared& prepared,
                    double curvature_per_m, std::uint32_t& warnings) {
  if (path.distance_m > 1000e3) warnings |= kPathTooLong1;
  if (path.distance_m > 2000e3) warnings |= kPathTooLong2;
  if (path.distance_m < std::fabs(path.effective_height_m[0] - path.effective_height_m[1]) / 0.2) {
    warnings |= kPathTooShort1;
  }
  if (path.distance_m < 1e3) warnings |= kPathTooShort2;
  for (int end = 0; end < 2; ++end) {
    if (std::fabs(path.horizon_rad[end]) > 0.2) warnings |= end == 0 ? kTxHorizonAngle : kRxHorizonAngle;
    if (path.horizon_m[end] < 0.1 * smooth_m[end]) warnings |= end == 0 ? kTxHorizonNear : kRxHorizonNear;
    if (path.horizon_m[end] > 3 * smooth_m[end]) warnings |= end == 0 ? kTxHorizonFar : kRxHorizonFar;
  }
  if (path.surface_refractivity_n < 150) return ItmError::surface_refractivity_small;
  if (path.surface_refractivity_n > 400) return ItmError::surface_refractivity_large;
  if (path.surface_refractivity_n < 250) warnings |= kSurfaceRefractivity;
  const double radius = 1 / curvature_per_m;
  if (!(radius >= 4'000'000 && radius <= 13'333'333)) return ItmError::effective_earth;
  return bad_ground(prepared) ? ItmError::ground_impedance : ItmError::none;
}

ItmResult refused(ItmError error, std::uint32_t warnings) {
  ItmResult result;
  result.error = error;
  result.warnings = warnings;
  for (double* one : {&result.loss_db, &result.reference_db, &result.free_space_db, &result.distance_m,
                      &result.surface_refractivity_n, &result.delta_h_m}) {
    *one = kNaN;
  }
  for (int end = 0; end < 2; ++end) {
    result.horizon_rad[end] = result.horizon_m[end] = result.effective_height_m[end] = kNaN;
  }
  return result;
}

ItmResult finish(const Geometry<One>& geometry, const Prepared& prepared, double clutter_m2, std::uint32_t warnings) {
  ItmResult result;
  result.distance_m = geometry.distance_m[0];
  result.surface_refractivity_n = geometry.surface_n[0];
  result.delta_h_m = geometry.delta_h_m[0];
  for (int end = 0; end < 2; ++end) {
    result.horizon_rad[end] = geometry.horizon_rad[end][0];
    result.horizon_m[end] = geometry.horizon_m[end][0];
    result.effective_height_m[end] = geometry.effective_m[end][0];
  }
  const Loss<One> loss = loss_of(geometry, prepared, clutter_m2);
  const double smooth[2] = {loss.smooth_m[0][0], loss.smooth_m[1][0]};
  result.error = check_path(result, smooth, prepared, geometry.curvature_per_m[0], warnings);
  result.warnings = warnings;
  if (result.error != ItmError::none) {
    result.loss_db = result.reference_db = result.free_space_db = kNaN;
    return result;
  }
  result.warnings |= prepared.warnings;
  result.loss_db = loss.loss_db[0];
  result.reference_db = loss.reference_db[0];
  result.free_space_db = loss.free_space_db[0];
  result.mode = loss.sight.any() ? Mode::line_of_sight : loss.scatters.any() ? Mode::troposcatter : Mode::diffraction;
  return result;
}

/// Confidence and reliability are situation and time under other names, in errors too.
ItmResult renamed(ItmResult result) {
  if (result.error == ItmError::time) result.error = ItmError::reliability;
  if (result.error == ItmError::situation) result.error = ItmError::confidence;
  return result;
}

Setting by_confidence(Setting setting, double confidence_percent, double reliability_percent) {
  setting.time_percent = reliability_percent;
  setting.location_percent = 50;
  setting.situation_percent = confidence_percent;
  return setting;
}

ItmError check_area(const AreaPath& path) {
  if (!(path.distance_km > 0)) return ItmError::path_distance;
  if (!(path.delta_h_m >= 0)) return ItmError::delta_h;
  if (path.tx_siting < 0 || path.tx_siting > 2) return ItmError::tx_siting;
  if (path.rx_siting < 0 || path.rx_siting > 2) return ItmError::rx_siting;
  return ItmError::none;
}

/// How much higher an antenna acts that somebody chose the place of.
double sited_height(double height_m, int siting, double delta_h_m) {
  if (siting == 0) return height_m;
  double gain = siting == 1 ? 4 : 9;
  if (height_m < 5) gain *= std::sin(0.1 * kPi * height_m);
  return height_m + (1 + gain) * std::exp(-std::fmin(20, 2 * height_m / std::fmax(0.001, delta_h_m)));
}

}  // namespace

ItmError check_heights(double tx_height_m, double rx_height_m, std::uint32_t& warnings) {
  const double heights[2] = {tx_height_m, rx_height_m};
  for (int end = 0; end < 2; ++end) {
    if (!(heights[end] >= 1 && heights[end] <= 1000)) warnings |= end == 0 ? kTxHeightUnusual : kRxHeightUnusual;
    if (!(heights[end] >= 0.5 && heights[end] <= 3000)) return end == 0 ? ItmError::tx_height : ItmError::rx_height;
  }
  return ItmError::none;
}

ItmError check(const Setting& setting, std::uint32_t& warnings) {
  if (setting.climate < 1 || setting.climate > 7) return ItmError::climate;
  if (!(setting.refractivity_n >= 250 && setting.refractivity_n <= 400)) return ItmError::refractivity;
  if (!(setting.frequency_mhz >= 40 && setting.frequency_mhz <= 10000)) warnings |= kFrequencyUnusual;
  if (!(setting.frequency_mhz >= 20 && setting.frequency_mhz <= 20000)) return ItmError::frequency;
  if (setting.polarization != Polarization::horizontal && setting.polarization != Polarization::vertical) {
    return ItmError::polarization;
  }
  if (!(setting.permittivity >= 1)) return ItmError::permittivity;
  if (!(setting.conductivity_s_per_m > 0)) return ItmError::conductivity;
  const int mode = setting.variability_mode;
  if (mode < 0 || mode > 33 || mode % 10 > 3) return ItmError::variability_mode;
  if (outside(setting.situation_percent)) return ItmError::situation;
  if (outside(setting.time_percent)) return ItmError::time;
  if (outside(setting.location_percent)) return ItmError::location;
  return ItmError::none;
}

Prepared prepare(const Setting& setting) {
  Prepared prepared{};
  const double f = setting.frequency_mhz;
  prepared.frequency_mhz = f;
  prepared.frequency_cbrt = std::cbrt(f);
  prepared.frequency_log = std::log(f);
  prepared.frequency_log10 = std::log10(f);
  prepared.wavenumber_per_m = f / 47.7;
  prepared.scatter_reach_m = std::cbrt(575.7e12 / prepared.wavenumber_per_m);
  const std::complex<double> permittivity(setting.permittivity, 18000 * setting.conductivity_s_per_m / f);
  std::complex<double> impedance = std::sqrt(permittivity - 1.0);
  if (setting.polarization == Polarization::vertical) impedance /= permittivity;
  prepared.ground_re = impedance.real();
  prepared.ground_im = impedance.imag();
  prepared.ground_abs = std::abs(impedance);
  prepared.refractivity_n = setting.refractivity_n;
  prepared.median = curve_of(kMedian, setting.climate);
  prepared.below = curve_of(kBelow, setting.climate);
  prepared.above = curve_of(kAbove, setting.climate);
  prepared.below_factor = frequency_factor(kBelowFactor, setting.climate, prepared.wavenumber_per_m);
  prepared.above_factor = frequency_factor(kAboveFactor, setting.climate, prepared.wavenumber_per_m);
  const auto climate = static_cast<std::size_t>(setting.climate - 1);
  prepared.ducting_factor = kDucting[climate];
  prepared.ducting_deviate = kDuctingDeviate[climate];
  int mode = setting.variability_mode;
  prepared.no_situation = mode >= 20;
  if (mode >= 20) mode -= 20;
  prepared.no_location = mode >= 10;
  prepared.mode = mode % 10;
  Deviates z{deviate_of(setting.time_percent), deviate_of(setting.location_percent),
             deviate_of(setting.situation_percent)};
  if (prepared.mode == 0) z.time = z.situation;
  if (prepared.mode <= 1) z.location = z.situation;
  if (prepared.mode == 2) z.location = z.time;
  for (const double one : {z.time, z.location, z.situation}) {
    if (std::fabs(one) > 3.10) prepared.warnings |= kExtremeVariability;
  }
  prepared.deviates = z;
  return prepared;
}

ItmResult point_to_point(const Setting& setting, double tx_height_m, double rx_height_m,
                         std::span<const double> profile_m, double step_m) {
  if (profile_m.size() < 2) throw usage("a profile has two heights or more");
  if (!(step_m > 0) || !std::isfinite(step_m)) throw usage("the step of a profile is above 0 m and finite");
  for (const double height : profile_m) {
    if (!std::isfinite(height)) throw usage("a height of the profile is not a finite number");
  }
  std::uint32_t warnings = 0;
  ItmError error = check_heights(tx_height_m, rx_height_m, warnings);
  if (error == ItmError::none) error = check(setting, warnings);
  if (error != ItmError::none) return refused(error, warnings);
  const Prepared prepared = prepare(setting);
  const Profiles<One> path{profile_m.data(),
                           static_cast<int>(profile_m.size()) - 1,
                           {One(step_m)},
                           {{One(tx_height_m)}, {One(rx_height_m)}},
                           {One(0)}};
  return finish(geometry_of(path, prepared), prepared, 10, warnings);
}

ItmResult point_to_point_confidence(Setting setting, double confidence_percent, double reliability_percent,
                                    double tx_height_m, double rx_height_m, std::span<const double> profile_m,
                                    double step_m) {
  setting = by_confidence(setting, confidence_percent, reliability_percent);
  return renamed(point_to_point(setting, tx_height_m, rx_height_m, profile_m, step_m));
}

ItmResult area(const Setting& setting, const AreaPath& path) {
  std::uint32_t warnings = 0;
  ItmError error = check_heights(path.tx_height_m, path.rx_height_m, warnings);
  if (error == ItmError::none) error = check(setting, warnings);
  if (error == ItmError::none) error = check_area(path);
  if (error != ItmError::none) return refused(error, warnings);
  const Prepared prepared = prepare(setting);
  Geometry<One> geometry;
  geometry.distance_m = One(path.distance_km * 1e3);
  geometry.antenna_m[0] = One(path.tx_height_m);
  geometry.antenna_m[1] = One(path.rx_height_m);
  geometry.delta_h_m = One(path.delta_h_m);
  geometry.surface_n = One(setting.refractivity_n);
  geometry.curvature_per_m = curvature_of(geometry.surface_n);
  geometry.effective_m[0] = One(sited_height(path.tx_height_m, path.tx_siting, path.delta_h_m));
  geometry.effective_m[1] = One(sited_height(path.rx_height_m, path.rx_siting, path.delta_h_m));
  smooth_horizons(geometry);
  return finish(geometry, prepared, 0, warnings);
}

ItmResult area_confidence(Setting setting, double confidence_percent, double reliability_percent,
                          const AreaPath& path) {
  return renamed(area(by_confidence(setting, confidence_percent, reliability_percent), path));
}

}  // namespace shakedown::radio
