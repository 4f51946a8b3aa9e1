// Free space: ITU-R P.525-4.
#include "model_kinds.hpp"

namespace shakedown::radio {
namespace {

constexpr const char* kReads[] = {"frequency_mhz"};
constexpr TermMeaning kTerms[] = {
    {"free_space_db", true, "spreading over the straight line between the antennas: 20 log(4 pi d / lambda)",
     "ITU-R P.525-4, equation 3"},
};

void loss(const PreparedModel& prepared, const RadioPath& path, PathLoss& result) {
  result.loss_db = free_space_db(slant_distance_m(path), prepared.wavelength_m);
  result.add("free_space_db", result.loss_db);
}

}  // namespace

const Model kFreeSpace{
    .name = "free_space",
    .title = "free space",
    .source = "ITU-R P.525-4",
    .about = "nothing in the way: the least loss that a path can have on average",
    .frequency_mhz = kAnyFrequency,
    .distance_m = kAnyDistance,
    .higher_m = kAnyHeight,
    .lower_m = kAnyHeight,
    .parameters = kReads,
    .terms = kTerms,
    .loss = loss,
};

}  // namespace shakedown::radio
