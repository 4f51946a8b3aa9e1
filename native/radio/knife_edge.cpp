// Knife edges: the main edge alone, Deygout's three edges, and Bullington's one, on the profile over the effective
// earth.
#include "diffraction.hpp"
#include "model_kinds.hpp"

namespace shakedown::radio {
namespace {

constexpr const char* kReads[] = {"frequency_mhz", "earth_factor"};
constexpr double kNone = -0.78;  // an edge so far below the line loses nothing

double free_space(const PreparedModel& prepared, const RadioPath& path, PathLoss& result) {
  const double loss = free_space_db(slant_distance_m(path), prepared.wavelength_m);
  result.add("free_space_db", loss);
  return loss;
}

double edge_distance_m(const DiffractionPath& path, const Edge& edge) {
  return edge.at == 0 ? std::numeric_limits<double>::quiet_NaN() : path.step_m * static_cast<double>(edge.at);
}

constexpr TermMeaning kFree{"free_space_db", true, "spreading over the straight line between the antennas",
                            "ITU-R P.525-4, equation 3"};
constexpr TermMeaning kMainAt{"edge_m", false, "distance of the main edge from the transmitter", "ITU-R P.526-15, 4.1"};
constexpr TermMeaning kMainParameter{
    "edge_parameter", false, "of diffraction of the main edge: h sqrt(2 d / (lambda d1 d2)), above 0 in the way",
    "ITU-R P.526-15, equation 26"};
constexpr TermMeaning kMainLoss{"main_edge_db", true, "loss over the main edge", "ITU-R P.526-15, equation 31"};

constexpr TermMeaning kEdgeTerms[] = {kFree, kMainAt, kMainParameter, kMainLoss};

Edge add_main(const DiffractionPath& path, PathLoss& result) {
  const Edge edge = main_edge(path, 0, path.height_m.size() - 1);
  result.add("edge_m", edge_distance_m(path, edge));
  result.add("edge_parameter", edge.parameter);
  result.add("main_edge_db", knife_edge_db(edge.parameter));
  return edge;
}

void edge_loss(const PreparedModel& prepared, const RadioPath& path, PathLoss& result) {
  const double free = free_space(prepared, path, result);
  const Edge edge = add_main(diffraction_path(prepared, path), result);
  result.loss_db = free + knife_edge_db(edge.parameter);
}

constexpr TermMeaning kTxEdge{"tx_edge_db", true, "loss over the edge between the transmitter and the main edge",
                              "Deygout 1966"};
constexpr TermMeaning kRxEdge{"rx_edge_db", true, "loss over the edge between the main edge and the receiver",
                              "Deygout 1966"};
constexpr TermMeaning kDeygoutTerms[] = {kFree, kMainAt, kMainParameter, kMainLoss, kTxEdge, kRxEdge};
constexpr TermMeaning kDeygoutP526Terms[] = {
    kFree,
    kMainAt,
    kMainParameter,
    kMainLoss,
    {"tx_edge_db", true, "loss over the edge on the transmitter's side, times T = 1 - exp(-main edge / 6)",
     "ITU-R P.526-11, 4.4.2"},
    {"rx_edge_db", true, "loss over the edge on the receiver's side, times T", "ITU-R P.526-11, 4.4.2"},
    {"correction_db", true, "T (10 + 0.04 d), d in km", "ITU-R P.526-11, 4.4.2"},
};

void deygout(const PreparedModel& prepared, const RadioPath& path, PathLoss& result, bool by_p526) {
  const double free = free_space(prepared, path, result);
  const DiffractionPath over = diffraction_path(prepared, path);
  const Edge main = add_main(over, result);
  double main_db = 0, tx_db = 0, rx_db = 0, correction_db = 0;
  if (main.parameter > kNone) {
    main_db = knife_edge_db(main.parameter);
    const double share = by_p526 ? 1 - std::exp(-main_db / 6) : 1;
    tx_db = share * knife_edge_db(main_edge(over, 0, main.at).parameter);
    rx_db = share * knife_edge_db(main_edge(over, main.at, over.height_m.size() - 1).parameter);
    if (by_p526) correction_db = share * (10 + 0.04 * over.distance_m() / 1000);
  }
  result.add("tx_edge_db", tx_db);
  result.add("rx_edge_db", rx_db);
  if (by_p526) result.add("correction_db", correction_db);
  result.loss_db = free + main_db + tx_db + rx_db + correction_db;
}

void deygout_loss(const PreparedModel& prepared, const RadioPath& path, PathLoss& result) {
  deygout(prepared, path, result, false);
}
void deygout_p526_loss(const PreparedModel& prepared, const RadioPath& path, PathLoss& result) {
  deygout(prepared, path, result, true);
}

constexpr TermMeaning kBullingtonTerms[] = {
    kFree,
    {"edge_m", false, "distance of the equivalent edge from the transmitter", "ITU-R P.526-15, 4.5.1"},
    {"edge_parameter", false, "of diffraction of that edge", "ITU-R P.526-15, 4.5.1"},
    {"knife_edge_db", true, "loss over it", "ITU-R P.526-15, equation 31"},
    {"correction_db", true, "(1 - exp(-knife edge / 6)) (10 + 0.02 d), d in km", "ITU-R P.526-15, 4.5.1"},
};

void bullington_loss(const PreparedModel& prepared, const RadioPath& path, PathLoss& result) {
  const double free = free_space(prepared, path, result);
  const Bullington edge = bullington(diffraction_path(prepared, path));
  result.add("edge_m", edge.distance_m);
  result.add("edge_parameter", edge.parameter);
  result.add("knife_edge_db", edge.knife_edge_db);
  result.add("correction_db", edge.correction_db);
  result.loss_db = free + edge.loss_db();
}

/// A model of edges: they differ in name, terms and function.
constexpr Model edges(const char* name, const char* title, const char* source, const char* about,
                      std::span<const TermMeaning> terms,
                      void (*loss)(const PreparedModel&, const RadioPath&, PathLoss&)) {
  return {.name = name,
          .title = title,
          .source = source,
          .about = about,
          .frequency_mhz = {30, 1e6, 1, 1e6},
          .distance_m = kAnyDistance,
          .higher_m = kAnyHeight,
          .lower_m = kAnyHeight,
          .uses_profile = true,
          .parameters = kReads,
          .terms = terms,
          .loss = loss};
}

}  // namespace

DiffractionPath diffraction_path(const PreparedModel& prepared, const RadioPath& path) {
  return {.height_m = path.profile_m,
          .step_m = path.step_m,
          .tx_m = path.profile_m.front() + path.tx_height_m,
          .rx_m = path.profile_m.back() + path.rx_height_m,
          .curvature_per_m = 1 / prepared.earth_radius_m,
          .wavelength_m = prepared.wavelength_m};
}

const Model kKnifeEdge =
    edges("knife_edge", "one knife edge", "ITU-R P.526-15, section 4.1",
          "the one edge that stands highest in the Fresnel zone; several hills lose more", kEdgeTerms, edge_loss);
const Model kDeygout =
    edges("deygout", "Deygout's three edges", "J. Deygout, IEEE Trans. Antennas Propag. 14 (4), 1966",
          "the main edge and the main one on either side of it, added; edges close together are "
          "counted too high",
          kDeygoutTerms, deygout_loss);
const Model kDeygoutP526 =
    edges("deygout_p526", "Deygout's three edges with the ITU's correction",
          "ITU-R P.526-11, section 4.4.2 (before Bullington took its place)",
          "as deygout, with an empirical correction that grows with the path", kDeygoutP526Terms, deygout_p526_loss);
const Model kBullington = edges("bullington", "Bullington's one edge", "ITU-R P.526-15, section 4.5.1",
                                "one edge where the lines over both horizons meet, with the ITU's correction; a smooth "
                                "earth loses more: delta_bullington",
                                kBullingtonTerms, bullington_loss);

}  // namespace shakedown::radio
