// The ITU's diffraction over any ground, Bullington's edge and what the round earth loses beyond it; and the latter
// alone.
#include "diffraction.hpp"
#include "model_kinds.hpp"

namespace shakedown::radio {
namespace {

constexpr const char* kReads[] = {"frequency_mhz", "earth_factor", "polarization", "permittivity",
                                  "conductivity_s_per_m"};
constexpr Range kFrequency{10, 1e6, 1, 1e6};  // below 10 MHz the ground wave has P.368

constexpr TermMeaning kFree{"free_space_db", true, "spreading over the straight line between the antennas",
                            "ITU-R P.525-4, equation 3"};
constexpr TermMeaning kSphericalTerms[] = {
    kFree,
    {"horizon_distance_m", false, "distance up to which the antennas see each other over the smooth earth",
     "ITU-R P.526-15, equation 21"},
    {"clearance_m", false,
     "least height of the line between the antennas above the smooth earth; none beyond the horizon",
     "ITU-R P.526-15, equation 22"},
    {"required_clearance_m", false, "from which the smooth earth loses nothing", "ITU-R P.526-15, equation 23"},
    {"spherical_earth_db", true, "loss over the smooth earth", "ITU-R P.526-15, section 3.2"},
};

void add_spherical(const SphericalEarth& earth, PathLoss& result) {
  result.add("horizon_distance_m", earth.horizon_m);
  result.add("clearance_m", earth.clearance_m);
  result.add("required_clearance_m", earth.required_m);
}

void spherical_loss(const PreparedModel& prepared, const RadioPath& path, PathLoss& result) {
  const double free = free_space_db(slant_distance_m(path), prepared.wavelength_m);
  const SphericalEarth earth = spherical_earth(ground_distance_m(path), path.tx_height_m, path.rx_height_m,
                                               prepared.earth_radius_m, prepared.wavelength_m, prepared.setting.radio);
  result.add("free_space_db", free);
  add_spherical(earth, result);
  result.add("spherical_earth_db", earth.loss_db);
  result.loss_db = free + earth.loss_db;
}

constexpr TermMeaning kDeltaTerms[] = {
    kFree,
    {"smooth_tx_m", false, "height above sea level of the smooth ground at the transmitter",
     "ITU-R P.1812-6, equation 89"},
    {"smooth_rx_m", false, "height above sea level of the smooth ground at the receiver",
     "ITU-R P.1812-6, equation 89"},
    {"edge_m", false, "distance of the equivalent edge from the transmitter", "ITU-R P.526-15, 4.5.1"},
    {"edge_parameter", false, "of diffraction of that edge", "ITU-R P.526-15, 4.5.1"},
    {"bullington_db", true, "Bullington's loss over the ground", "ITU-R P.526-15, 4.5.1"},
    {"horizon_distance_m", false, "distance up to which the antennas see each other over the smooth earth",
     "ITU-R P.526-15, equation 21"},
    {"clearance_m", false,
     "least height of the line between the antennas above the smooth earth; none beyond the horizon",
     "ITU-R P.526-15, equation 22"},
    {"required_clearance_m", false, "from which the smooth earth loses nothing", "ITU-R P.526-15, equation 23"},
    {"spherical_earth_db", false, "loss over the smooth earth", "ITU-R P.526-15, section 3.2"},
    {"smooth_bullington_db", false, "Bullington's loss over the smooth earth", "ITU-R P.526-15, 4.5.2"},
    {"earth_beyond_edge_db", true,
     "what the smooth earth loses beyond Bullington's edge: the difference of both, at least 0",
     "ITU-R P.526-15, 4.5.2"},
};

void delta_loss(const PreparedModel& prepared, const RadioPath& path, PathLoss& result) {
  const double free = free_space_db(slant_distance_m(path), prepared.wavelength_m);
  DiffractionPath over = diffraction_path(prepared, path);
  const SmoothGround ground = smooth_ground(over);
  const Bullington actual = bullington(over);
  over.tx_m -= ground.tx_m;
  over.rx_m -= ground.rx_m;
  over.smooth = true;
  const Bullington smooth = bullington(over);
  const SphericalEarth earth = spherical_earth(over.distance_m(), over.tx_m, over.rx_m, prepared.earth_radius_m,
                                               prepared.wavelength_m, prepared.setting.radio);
  const double beyond = std::fmax(earth.loss_db - smooth.loss_db(), 0);
  result.add("free_space_db", free);
  result.add("smooth_tx_m", ground.tx_m);
  result.add("smooth_rx_m", ground.rx_m);
  result.add("edge_m", actual.distance_m);
  result.add("edge_parameter", actual.parameter);
  result.add("bullington_db", actual.loss_db());
  add_spherical(earth, result);
  result.add("spherical_earth_db", earth.loss_db);
  result.add("smooth_bullington_db", smooth.loss_db());
  result.add("earth_beyond_edge_db", beyond);
  result.loss_db = free + actual.loss_db() + beyond;
}

}  // namespace

const Model kSphericalEarth{
    .name = "spherical_earth",
    .title = "the smooth round earth",
    .source = "ITU-R P.526-15, section 3.2",
    .about = "sea or plain: diffraction round the earth by heights above ground; hills are not seen",
    .frequency_mhz = kFrequency,
    .distance_m = kAnyDistance,
    .higher_m = kAnyHeight,
    .lower_m = kAnyHeight,
    .parameters = kReads,
    .terms = kSphericalTerms,
    .loss = spherical_loss,
};

const Model kDeltaBullington{
    .name = "delta_bullington",
    .title = "delta-Bullington",
    .source = "ITU-R P.526-15, section 4.5.2; P.1812-6, section 4.3",
    .about = "any ground, by its profile: the ITU's method of diffraction (P.452, P.1812, P.2001)",
    .frequency_mhz = {30, 50e3, 1, 1e6},
    .distance_m = {250, 3e6, 0, kFarthest_m},
    .higher_m = {1, 3000, 0, kHighest_m},
    .lower_m = {1, 3000, 0, kHighest_m},
    .uses_profile = true,
    .parameters = kReads,
    .terms = kDeltaTerms,
    .loss = delta_loss,
};

}  // namespace shakedown::radio
