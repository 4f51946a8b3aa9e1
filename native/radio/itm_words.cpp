// What errors and warnings of the model say to a person.
#include "itm.hpp"

namespace shakedown::radio {

std::string words_of(ItmError error) {
  switch (error) {
    case ItmError::none:
      return "no error";
    case ItmError::tx_height:
      return "the transmitter's antenna is not 0.5 to 3000 m above ground";
    case ItmError::rx_height:
      return "the receiver's antenna is not 0.5 to 3000 m above ground";
    case ItmError::climate:
      return "the climate is not 1 (equatorial) to 7 (maritime temperate, over sea)";
    case ItmError::time:
      return "the share of time is not between 0 and 100 %";
    case ItmError::location:
      return "the share of locations is not between 0 and 100 %";
    case ItmError::situation:
      return "the share of situations is not between 0 and 100 %";
    case ItmError::confidence:
      return "the confidence is not between 0 and 100 %";
    case ItmError::reliability:
      return "the reliability is not between 0 and 100 %";
    case ItmError::refractivity:
      return "the refractivity of the surface is not 250 to 400 N-units";
    case ItmError::frequency:
      return "the frequency is not 20 to 20000 MHz";
    case ItmError::polarization:
      return "the polarization is neither horizontal nor vertical";
    case ItmError::permittivity:
      return "the relative permittivity of the ground is below 1";
    case ItmError::conductivity:
      return "the conductivity of the ground is not above 0 S/m";
    case ItmError::ground_impedance:
      return "the impedance of this ground is beyond the model: its imaginary part is not below the real one";
    case ItmError::variability_mode:
      return "the mode of variability is not 0 to 3, plus 10, 20 or 30";
    case ItmError::effective_earth:
      return "the radius of the effective earth is not 4000 to 13333 km";
    case ItmError::path_distance:
      return "the distance is not above 0 km";
    case ItmError::delta_h:
      return "the irregularity of the terrain is below 0 m";
    case ItmError::tx_siting:
      return "the siting of the transmitter is not 0 (random), 1 (careful) or 2 (very careful)";
    case ItmError::rx_siting:
      return "the siting of the receiver is not 0 (random), 1 (careful) or 2 (very careful)";
    case ItmError::surface_refractivity_small:
      return "the refractivity at the height of the path is below 150 N-units";
    case ItmError::surface_refractivity_large:
      return "the refractivity at the height of the path is above 400 N-units";
  }
  return "unknown error " + std::to_string(static_cast<int>(error));
}

std::string words_of(ItmWarning warning) {
  switch (warning) {
    case kTxHeightUnusual:
      return "the transmitter's antenna is not 1 to 1000 m above ground";
    case kRxHeightUnusual:
      return "the receiver's antenna is not 1 to 1000 m above ground";
    case kFrequencyUnusual:
      return "the frequency is not 40 to 10000 MHz";
    case kPathTooLong1:
      return "the path is longer than 1000 km";
    case kPathTooLong2:
      return "the path is longer than 2000 km";
    case kPathTooShort1:
      return "the antennas differ in height by more than a fifth of the path";
    case kPathTooShort2:
      return "the path is shorter than 1 km";
    case kTxHorizonAngle:
      return "the transmitter's horizon is more than 0.2 rad up or down";
    case kRxHorizonAngle:
      return "the receiver's horizon is more than 0.2 rad up or down";
    case kTxHorizonNear:
      return "the transmitter's horizon is nearer than a tenth of the smooth earth's";
    case kRxHorizonNear:
      return "the receiver's horizon is nearer than a tenth of the smooth earth's";
    case kTxHorizonFar:
      return "the transmitter's horizon is farther than three times the smooth earth's";
    case kRxHorizonFar:
      return "the receiver's horizon is farther than three times the smooth earth's";
    case kExtremeVariability:
      return "a share of time, locations or situations is beyond 0.1 to 99.9 %";
    case kSurfaceRefractivity:
      return "the refractivity at the height of the path is below 250 N-units";
  }
  return "unknown warning " + std::to_string(static_cast<unsigned>(warning));
}

}  // namespace shakedown::radio
