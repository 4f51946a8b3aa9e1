// The program on the host backend, and on the fake driver with every state that a real one can be in.
#include "testing/check.hpp"
#include "testing/driver_states.hpp"
#include "testing/sanitized.hpp"

namespace {

using shakedown::Checks;
using shakedown::Ran;

const std::string kProgram = FOLDER "/gpu_path_loss --warm-ms 0 --sample-ms 0 --samples 2 ";
constexpr int kRadios = shakedown::kSanitized ? 5 : 12, kLinks = kRadios * (kRadios - 1) / 2;
const std::string kCount = std::to_string(kRadios);
const std::string kSmall = "--radios " + kCount + " --points 40 --side 65 ";

Ran host(const std::string& arguments) { return shakedown::run_command(kProgram + "--backend host " + arguments); }
Ran fake(const std::string& words, const std::string& arguments = kSmall) {
  return shakedown::run_command("FAKE_CUDA='" + words + "' " + kProgram + FAKES + arguments);
}

void states(Checks& checks) {
  auto refusals = shakedown::gpu::driver_states(2);
  refusals.push_back({"room 10000", kCount + " radios and the terrain need", "ask for fewer --radios"});
  shakedown::gpu::refused_alike(checks, refusals, "", [](const std::string& words) { return fake(words); });
  shakedown::gpu::without_driver(checks, kProgram);
}

void others_go_on(Checks& checks) {
  const Ran lost = fake("devices 3 lost_after 2 of 1");
  checks.equal(lost.code, 3, "one of three falls off the bus");
  checks.equal(lost.count("\"event\":\"case\""), 2, "the others are measured: " + lost.text);
  checks.equal(lost.count("\"code\":\"gpu-lost\""), 1, "and it is told once");
  checks.that(lost.says("\"event\":\"end\""), "to the end");
  const Ran held = fake("devices 2 retain 46 mode 3 retain_of 0");
  checks.equal(held.code, 3, "one of two is held by another process");
  checks.equal(held.count("\"event\":\"case\""), 1, "the other is measured: " + held.text);
  const Ran large = host(kSmall + "--points 100000,40,90000");
  checks.equal(large.code, 3, "profiles that do not fit: " + large.text);
  checks.equal(large.count("\"event\":\"case\""), 1, "the other is measured");
  checks.equal(large.count("\"code\":\"gpu-out-of-memory\""), 2, "and each is told");
}

void measured(Checks& checks) {
  for (const Ran& ran : {host(kSmall), fake("", kSmall)}) {
    checks.equal(ran.code, 0, ran.text);
    checks.equal(ran.count("\"kernel\":\"itm\""), 1, "one case");
    checks.that(
        ran.says("\"links\":" + std::to_string(kLinks) + ",\"points\":" + std::to_string(40 * kLinks) + ",\"calls\":1"),
        "what one sample did: " + ran.text);
    checks.that(ran.says("\"n\":" + kCount + ",\"points\":40,\"precision\":\"fp32\",\"heights\":\"int16\",\"device\":"),
                ran.text);
    checks.that(ran.says("third largest difference"), "checked in the sense of single precision: " + ran.text);
    checks.that(ran.says("\"ok\":true"), "to the end");
  }
  const Ran both = host(kSmall + "--precision fp32,fp64 --moved 0,3," + kCount + " --heights float32 --climate 7");
  checks.equal(both.code, 0, "both precisions, some and all radios moved: " + both.text);
  checks.equal(both.count("\"kernel\":\"itm_moved\""), 4, "cases of their own");
  const int moved = kLinks - (kRadios - 3) * (kRadios - 4) / 2;  // all but those among the others
  checks.equal(both.count("\"links\":" + std::to_string(moved) + ","), 2, "links of three");
  checks.equal(both.count("\"links\":" + std::to_string(kLinks) + ","), 4, "all links, of all");
  checks.that(host(kSmall + "--backend host:2 --devices 1").says("\"index\":1"), "a device of its choice");
}

void refused(Checks& checks) {
  for (const char* precision : {"fp32", "fp64"}) {
    const std::string broken = kSmall + "--break-loss-db 0.06 --precision " + precision;
    const Ran wrong = host(broken);
    checks.equal(wrong.code, 1, "wrong losses fail: " + wrong.text);
    checks.equal(host(broken + " --no-verify").code, 0, "unless they are not looked at");
  }
  for (const char* words :
       {"--radios 1", "--points 1", "--side 2", "--precision mixed", "--precision ,", "--heights int8",
        "--moved 13 --radios 12", "--radios 100001", "--relief-m 9001", "--frequency-mhz 20001", "--antenna-m 3001",
        "--polarization circular", "--devices 4", "--threads 2", "--climate 8"})
    checks.equal(host(words).code, 2, words);
}

}  // namespace

int main() {
  Checks checks;
  measured(checks);
  states(checks);
  others_go_on(checks);
  refused(checks);
  return checks.end();
}
