// How much of the time, at how many places and in how many situations a loss is not exceeded: S13 of README.md.
#pragma once

#include "itm_loss.hpp"

namespace shakedown::radio {

/// The curve at an effective distance.
template <class L>
SHAKEDOWN_LANES L curve_db(const Curve& curve, L distance_m) {
  const L off = (distance_m - L(curve.x2)) * L(1 / curve.x3), of = distance_m * L(1 / curve.x1), square = of * of;
  return (L(curve.c1) + L(curve.c2) / (L(1) + off * off)) * square / (L(1) + square);
}

/// The loss above free space that the deviates ask for, from the reference attenuation.
template <class L>
SHAKEDOWN_LANES L variability_db(const Terms<L>& terms, const Prepared& prepared, L reference_db) {
  const Geometry<L>& g = terms.geometry;
  const double k = prepared.wavenumber_per_m;
  const auto [z_time, z_location, z_situation] = prepared.deviates;
  const L reach = sqrt(L(18e6) * g.effective_m[0]) + sqrt(L(18e6) * g.effective_m[1]) + L(prepared.scatter_reach_m);
  const L distance = select(g.distance_m < reach, L(130e3) * g.distance_m / reach, L(130e3) + g.distance_m - reach);

  const L situation = prepared.no_situation ? L(0) : L(5) + L(3) * exp(distance * L(-1 / 100e3));
  L location = 0;
  if (!prepared.no_location) {
    const L rough = L(k) * irregularity(terms, g.distance_m);
    location = L(10) * rough / (rough + L(13));
  }
  const L above = curve_db(prepared.above, distance) * L(prepared.above_factor);
  L time;
  if (z_time < 0) {
    time = curve_db(prepared.below, distance) * L(prepared.below_factor);
  } else if (z_time <= prepared.ducting_deviate) {
    time = above;
  } else {
    const L ducting = L(prepared.ducting_factor) * above;
    time = ducting + (above - ducting) * L(prepared.ducting_deviate / z_time);
  }
  const L y_time = time * L(z_time), y_location = location * L(z_location);
  const double z2 = z_situation * z_situation;
  const L u = situation * situation + y_time * y_time * L(1 / (7.8 + z2)) + y_location * y_location * L(1 / (24 + z2));
  L sure = 0, unsure = u;
  switch (prepared.mode) {
    case 0:
      unsure += time * time + location * location;
      break;
    case 1:
      sure = y_time;
      unsure += location * location;
      break;
    case 2:
      sure = sqrt(time * time + location * location) * L(z_time);
      break;
    default:
      sure = y_time + y_location;
  }
  const L loss = reference_db - curve_db(prepared.median, distance) - sure - sqrt(unsure) * L(z_situation);
  return select(loss < L(0), loss * (L(29) - loss) / (L(29) - L(10) * loss), loss);
}

/// The whole of a path: S8 to S13, its loss and what led to it.
template <class L>
struct Loss {
  L loss_db, reference_db, free_space_db;
  L smooth_m[2];
  typename L::Truth sight, scatters;
};

template <class L>
SHAKEDOWN_LANES Loss<L> loss_of(const Geometry<L>& geometry, const Prepared& prepared, double clutter_m2) {
  const Terms<L> terms = terms_of(geometry, prepared, clutter_m2);
  Loss<L> loss;
  loss.sight = geometry.distance_m < terms.smooth_sum_m;
  loss.scatters = (!loss.sight) & loss.sight;
  L reference = 0;
  if (loss.sight.any()) reference = line_of_sight_db(terms, prepared);
  if ((!loss.sight).any()) {
    typename L::Truth scatters;
    const L beyond = beyond_db(terms, prepared, scatters);
    reference = select(loss.sight, reference, beyond);
    loss.scatters = scatters & (!loss.sight);
  }
  loss.reference_db = larger(reference, L(0));
  loss.free_space_db = free_space_db(prepared, geometry.distance_m);
  loss.loss_db = variability_db(terms, prepared, loss.reference_db) + loss.free_space_db;
  for (int end = 0; end < 2; ++end) loss.smooth_m[end] = terms.smooth_m[end];
  return loss;
}

}  // namespace shakedown::radio
