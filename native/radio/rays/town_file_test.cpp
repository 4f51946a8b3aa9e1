// The file of a town is read as it was written, and refused where it is not one.
#include "town_file.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "common/error.hpp"
#include "testing/check.hpp"

namespace shakedown::radio::rays {
namespace {

std::string with(const std::string& text) {
  std::string path = (std::filesystem::temp_directory_path() / ("town_file_test." + std::to_string(getpid()))).string();
  std::ofstream(path) << text;
  return path;
}

void test(Checks& checks) {
  const std::string whole =
      "town 47.25 179.5 75000.5 111200.25 2\n"
      "building 600.5 12 2\nring 4 0 0 40 0 40 40 0 40\nring 3 10 10 20 10 15 2e1\n"
      "building 0 9 1\nring 3 -1 -2 -3 -4.5 -1 -6\n";
  const std::string path = with(whole);
  const TownFile town = read_town(path);
  checks.equal(town.buildings.size(), std::size_t{2}, "buildings");
  checks.equal(town.buildings[0].rings.size(), std::size_t{2}, "rings");
  checks.that(town.buildings[0].rings[1][2] == Point{15, 20}, "a corner");
  checks.equal(town.buildings[0].ground_m, 600.5, "ground");
  checks.that(town.plane(48.25, -180) == Point{0.5 * 75000.5, 111200.25}, "over the date line");
  for (std::size_t end = 0; end + 2 < whole.size(); end += 3) {  // cut anywhere, it is refused or shorter by digits
    with(whole.substr(0, end));
    try {
      checks.that(read_town(path).buildings.size() == 2 && end > whole.size() - 4, "cut at " + std::to_string(end));
    } catch (const Error&) {
      checks.that(true, "refused");
    }
  }
  for (const char* text : {"", "town 1 2 3", "town 1 2 3 4 nan", "town 1 2 3 4 -1", "town 1 2 3 4 1\nhouse 1 1 1",
                           "town 1 2 3 4 1\nbuilding 0 9 1\nring 1e300", "town 1 2 3 4 1\nbuilding 0 inf 1"}) {
    with(text);
    checks.throws<Error>([&] { read_town(path); }, text);
  }
  std::filesystem::remove(path);
  checks.throws<Error>([&] { read_town(path); }, "no file");
}

}  // namespace
}  // namespace shakedown::radio::rays

int main() {
  shakedown::Checks checks;
  shakedown::radio::rays::test(checks);
  return checks.end();
}
