// What must be true of the program as a whole: its exit codes, its replies, and what it makes of broken requests.
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "testing/expect_program.hpp"

namespace {

constexpr const char* kTerrain = "radio-engine-test-heights.bin";

constexpr const char* kTown = "radio-engine-test-town.txt";

/// Requests as a shell writes them into the program.
std::string with(const std::string& requests, const std::string& arguments) {
  std::ofstream("radio-engine-test-requests.bin", std::ios::binary) << requests;
  return arguments + " < radio-engine-test-requests.bin";
}

std::string doubles(const std::vector<double>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(double)};
}

}  // namespace

int main() {
  shakedown::Checks checks;
  {
    const std::vector<short> heights(std::size_t{20} * 30, 100);
    std::ofstream(kTerrain, std::ios::binary).write(reinterpret_cast<const char*>(heights.data()), 1200);
  }
  const std::string grid = "--rows 20 --columns 30 --north-deg 47 --west-deg 11 --threads 1";
  const std::string map = "--terrain " + std::string(kTerrain) + " " + grid;
  const std::string placed =
      "{\"op\":\"place\",\"count\":2,\"bytes\":48}\n" + doubles({46.998, 46.996, 11.001, 11.006, 2, 3});
  expect(checks, with("", map), 0, "\"engine\":\"radio_engine\"");
  expect(checks, with(placed, map), 0, "\"ok\":true,\"bytes\":2");
  expect(checks, with(placed + "{\"op\":\"losses\"}\n", map), 0, "\"ok\":true,\"bytes\":4");
  expect(checks, with(placed + "{\"op\":\"explain\",\"i\":0,\"j\":1}\n", map), 0, "\"model\":\"itm\"");
  expect(checks, with(placed + "{\"op\":\"explain\",\"i\":0,\"j\":0}\n", map), 0, "no link between radios 0 and 0");
  expect(checks, with(placed + "{\"op\":\"explain\",\"i\":0,\"j\":1}\n", map + " --model hata --frequency-mhz 900"), 0,
         "\"model\":\"hata\"");
  // A request that is refused changes nothing, and the next is answered.
  expect(checks, with("{\"op\":\"place\",\"count\":3,\"bytes\":8}\n12345678" + placed, map), 0, "too few",
         "\"ok\":true,\"bytes\":2");
  expect(checks, with("{\"op\":\"move\",\"count\":1,\"bytes\":28}\n" + std::string(28, '\0'), map), 0, "not one of 0");
  expect(checks, with("{\"op\":\"fly\"}\n{}\n", map), 0, "unknown op 'fly'");
  expect(checks, with("{}\n", map), 0, "lacks the text 'op'");
  expect(checks, with("{\"op\":\"place\",\"count\":65535}\n", map), 0, "up to 65534");
  expect(checks, with("{\"op\":\"links\"}\n", map), 0, "lacks the number 'below_db'");
  expect(checks, with("{\"op\":\"losses\"}\n", map), 0, "\"ok\":true,\"bytes\":0");
  // A frame that is broken ends the session: what follows would be read as something else.
  for (const char* const broken :
       {"nonsense\n", "{\"op\" \"x\"}\n", "{\"op\":\"x\"} more\n", "{\"op\":nan}\n", "{\"op\":1e999}\n",
        "{\"op\":\"x\n", "{\"op\":\"losses\"}", "{\"op\":\"place\",\"count\":2,\"bytes\":48}\nshort",
        "{\"op\":\"x\",\"bytes\":-1}\n", "{\"op\":\"x\",\"bytes\":99999999}\n", "{\"op\":\"\\u0041\"}\n"}) {
    expect(checks, with(broken, map), 2, "radio_engine: a request ");
  }
  expect(checks, with(std::string(70000, ' '), map), 2, "more than 65536 characters");
  expect(checks, with("", grid), 2, "no terrain was given");
  expect(checks, with("", map + " --rows 21"), 2, "has 1200 bytes, its grid 1260");
  expect(checks, with("", map + " --terrain /nowhere/at/all"), 3, "cannot be read");
  expect(checks, with("", map + " --north-deg -89.999"), 2, "beyond the South Pole");
  expect(checks, with("", map + " --model tea"), 2, "model 'tea' is not known");
  expect(checks, with("", map + " --frequency-mhz 5"), 2, "radio_engine: ");
  expect(checks, with("", map + " --climate 8"), 2, "climate '8'");
  expect(checks, with("", map + " --spacing-m 0.01"), 2, "larger --spacing-m");
  expect(checks, with("", map + " --precision fp16"), 2, "fp64 or fp32");
  expect(checks, with("", map + " --model rays"), 2, "the model rays needs a town");
  std::ofstream(kTown) << "town 46.997 11.003 76057 111170 1\nbuilding 100 9 1\nring 4 0 0 9 0 9 9 0 9\n";
  const std::string town = map + " --town " + std::string(kTown);
  expect(checks, with("", town), 2, "the model itm reads no buildings");
  expect(checks, with(placed + "{\"op\":\"explain\",\"i\":0,\"j\":1}\n", town + " --model rays"), 0, "\"paths\":[{");
  expect(checks, with("", map + " --model rays --town " + std::string(kTerrain)), 2, "line 1: it does not begin");
  expect(checks, with("", map + " --model rays --town /nowhere/at/all"), 3, "cannot be read");
  std::remove(kTown);
  expect(checks, "--models", 0, "\"name\":\"itm\"");
  expect(checks, "--model-of-losses itm", 2, "unknown argument");
  std::remove(kTerrain);
  std::remove("radio-engine-test-requests.bin");
  return checks.end();
}
