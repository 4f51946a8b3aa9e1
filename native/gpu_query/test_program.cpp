// The query against the fake driver: devices in every mode are told, none is taken.
#include "testing/check.hpp"
#include "testing/driver_states.hpp"

namespace {

using shakedown::Checks;
using shakedown::Ran;

Ran fake(const std::string& words) {
  return shakedown::run_command("FAKE_CUDA='" + words + "' " FOLDER "/gpu_query " FAKES);
}

}  // namespace

int main() {
  Checks checks;
  const Ran two = fake("devices 2");
  checks.equal(two.code, 0, two.text);
  checks.that(two.says("\"compute_capability\":\"9.0\"") && two.says("\"multiprocessors\":132"), two.text);
  checks.that(two.says("\"clock_hz\":1.98e+09") && two.says("\"memory_bus_bits\":6144"), "units are SI: " + two.text);
  checks.that(two.says("\"reaches\":[1]") && two.says("\"reaches\":[0]"), "who reaches whom");
  checks.that(!two.says("warp_size"), "what the driver does not tell is left out");
  checks.that(fake("devices 2 peers 0").says("\"reaches\":[]"), "nobody");
  checks.that(fake("retain 46 mode 3").says("exclusive process"), "a device that is held is told all the same");
  checks.equal(fake("retain 46 mode 2").code, 0, "or prohibited");
  checks.equal(fake("init 100").code, 3, "no device");
  shakedown::gpu::without_driver(checks, FOLDER "/gpu_query ");
  for (const char* argument : {"--bogus", "--x"}) {
    const Ran far = shakedown::run_command(std::string(FOLDER "/gpu_query ") + argument);
    checks.that(far.code == 2 && far.says("see --help") && !far.says("did you mean"), "nothing is near: " + far.text);
  }
  const Ran near = shakedown::run_command(FOLDER "/gpu_query --divers x");
  checks.that(near.code == 2 && near.says("did you mean --driver?"), near.text);
  checks.equal(shakedown::run_command(FOLDER "/gpu_query --backend host:2").count("\"backend\":\"host\""), 2, "host");
  return checks.end();
}
