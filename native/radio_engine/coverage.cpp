#include "coverage.hpp"

#include <atomic>
#include <cmath>
#include <string>

#include "common/error.hpp"
#include "common/memory.hpp"

namespace shakedown::radio {

std::vector<float> coverage(Team& team, const Finder& finder, const Station& from, const Picture& picture) {
  if (picture.rows == 0 || picture.columns == 0 || !(picture.south_deg < picture.north_deg) ||
      !(picture.west_deg < picture.east_deg)) {
    throw usage("a picture of no area", "give rows and columns, south below north, west below east");
  }
  const std::size_t cells = picture.rows * picture.columns;
  require_memory(cells * sizeof(float), "a picture of " + std::to_string(cells) + " cells");
  std::vector<float> loss_db(cells);
  const double down = (picture.north_deg - picture.south_deg) / static_cast<double>(picture.rows);
  const double right = (picture.east_deg - picture.west_deg) / static_cast<double>(picture.columns);
  Station sender = from;
  if (finder.tracing() != nullptr && sender.view == nullptr) {
    Tracing::Scratch scratch;
    sender.view = finder.tracing()->view(sender, scratch);
  }
  std::atomic<std::size_t> next{0};
  team.run([&](int) {
    Finder::Scratch scratch;
    std::vector<Station> stations(picture.columns);
    std::vector<Way> ways;
    ways.reserve(stations.size());
    for (const Station& station : stations) ways.push_back({&sender, &station});
    for (std::size_t row = next.fetch_add(1); row < picture.rows; row = next.fetch_add(1)) {
      const double latitude = picture.north_deg - (static_cast<double>(row) + 0.5) * down;
      for (std::size_t column = 0; column < picture.columns; ++column) {
        const double longitude = picture.west_deg + (static_cast<double>(column) + 0.5) * right;
        stations[column] = finder.station(latitude, longitude, picture.receiver_m);
        stations[column].id = static_cast<std::uint32_t>(row * picture.columns + column + 1);
      }
      finder.losses(ways, scratch, &loss_db[row * picture.columns]);
    }
  });
  return loss_db;
}

}  // namespace shakedown::radio
