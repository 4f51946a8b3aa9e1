#include "town_file.hpp"

#include <cmath>
#include <fstream>
#include <sstream>

#include "common/error.hpp"

namespace shakedown::radio::rays {
namespace {

constexpr std::size_t kMostCorners = 1'000'000;  // of a ring

class Lines {
 public:
  explicit Lines(const std::string& path) : path_(path), file_(path) {
    if (!file_) throw cannot("the town " + path + " cannot be read", "write it again");
  }

  /// The numbers of the next line, behind its first word.
  void next(const char* word) {
    std::string line, first;
    ++number_;
    if (!std::getline(file_, line)) refuse("the file ends before its " + std::string(word));
    text_ = std::istringstream(line);
    text_.imbue(std::locale::classic());
    if (!(text_ >> first) || first != word) refuse("it does not begin with '" + std::string(word) + "'");
  }

  double real() {
    double number = 0;
    if (!(text_ >> number) || !std::isfinite(number)) refuse("a number is missing");
    return number;
  }

  std::size_t count(std::size_t most) {
    const double number = real();
    if (number < 0 || number > static_cast<double>(most) || number != std::floor(number)) refuse("a count is wrong");
    return static_cast<std::size_t>(number);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) {
    throw usage("the town " + path_ + ", line " + std::to_string(number_) + ": " + what, "write it again");
  }
  std::string path_;
  std::ifstream file_;
  std::istringstream text_;
  int number_ = 0;
};

}  // namespace

Point TownFile::plane(double latitude, double longitude) const {
  const double away = longitude - longitude_deg, turns = std::floor((away + 180) / 360);
  return {(away - 360 * turns) * east_m_per_deg, (latitude - latitude_deg) * north_m_per_deg};
}

TownFile read_town(const std::string& path) {
  Lines lines(path);
  TownFile town;
  lines.next("town");
  town.latitude_deg = lines.real();
  town.longitude_deg = lines.real();
  town.east_m_per_deg = lines.real();
  town.north_m_per_deg = lines.real();
  const std::size_t buildings = lines.count(100'000'000);
  for (std::size_t i = 0; i < buildings; ++i) {
    lines.next("building");
    Building building;
    building.ground_m = lines.real();
    building.height_m = lines.real();
    building.rings.resize(lines.count(kMostCorners));
    for (std::vector<Point>& ring : building.rings) {
      lines.next("ring");
      ring.resize(lines.count(kMostCorners));
      for (Point& at : ring) {
        at.x = lines.real();
        at.y = lines.real();
      }
    }
    town.buildings.push_back(std::move(building));
  }
  return town;
}

}  // namespace shakedown::radio::rays
