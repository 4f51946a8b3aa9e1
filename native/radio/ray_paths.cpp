// Rays through a town: the loss is what a tracer found between the two radios (rays/rays.hpp).
#include "model_kinds.hpp"

namespace shakedown::radio {
namespace {

constexpr const char* kReads[] = {"frequency_mhz",        "polarization",     "permittivity",
                                  "conductivity_s_per_m", "wall_material",    "reflections",
                                  "corner_reflections",   "roof_reflections", "path_sum"};
constexpr TermMeaning kTerms[] = {
    {"paths", false, "found: straight, by walls and the ground, round a corner, over roofs", "ray tracer"},
    {"coherent_db", false, "loss of the sum of their fields, with phases", "ray tracer"},
    {"power_db", false, "loss of the sum of their powers: the mean over some wavelengths", "ray tracer"},
    {"strongest_path_db", true, "loss of the strongest path alone", "ray tracer"},
    {"other_paths_db", true, "what the others change", "ray tracer"},
};

void loss(const PreparedModel&, const RadioPath& path, PathLoss& result) {
  if (path.traced == nullptr || std::isnan(path.traced->loss_db)) {
    result.error = path.traced == nullptr ? PathError::no_town : PathError::no_path;
    return;
  }
  const TracedPaths& traced = *path.traced;
  result.add("paths", static_cast<double>(traced.count));
  result.add("coherent_db", traced.coherent_db);
  result.add("power_db", traced.power_db);
  result.add("strongest_path_db", traced.strongest_db);
  result.add("other_paths_db", traced.loss_db - traced.strongest_db);
  result.loss_db = traced.loss_db;
}

}  // namespace

const Model kRays{
    .name = "rays",
    .title = "rays through a town",
    .source = "Kouyoumjian and Pathak 1974, Luebbers 1984, ITU-R P.2040-3, P.526-15",
    .about =
        "every path between the buildings of a town: straight, by up to two walls, round a corner, over roofs, by the "
        "ground; no trees, and nothing goes through a wall",
    .frequency_mhz = {1000, 100e3, 20, 100e3},
    .distance_m = {1, 10e3, 0, 200e3},
    .higher_m = {0.5, 1000, 0.1, 10e3},
    .lower_m = {0.5, 1000, 0.1, 10e3},
    .needs_town = true,
    .parameters = kReads,
    .terms = kTerms,
    .loss = loss,
};

}  // namespace shakedown::radio
