// The program on the host backend, and on the fake driver with every state that a real one can be in.
#include "testing/check.hpp"
#include "testing/driver_states.hpp"

namespace {

using shakedown::Checks;
using shakedown::Ran;

const std::string kProgram = FOLDER "/gpu_nbody --warm-ms 0 --samples 2 --steps 2 --bodies 300 ";
const std::string kSmall = "--shape r4u4 ";

Ran host(const std::string& arguments) { return shakedown::run_command(kProgram + "--backend host " + arguments); }
Ran fake(const std::string& words, const std::string& arguments = kSmall) {
  return shakedown::run_command("FAKE_CUDA='" + words + "' " + kProgram + FAKES + arguments);
}

void states(Checks& checks) {
  for (const std::string mode : {"", "--together "}) {
    shakedown::gpu::refused_alike(checks, shakedown::gpu::driver_states(7), mode,
                                  [&](const std::string& words) { return fake(words, kSmall + mode); });
  }
  shakedown::gpu::without_driver(checks, kProgram);
}

/// One of three falls off the bus while it loads, warms up, measures, is checked, and in its second case.
void others_go_on(Checks& checks) {
  for (const char* mode : {"", "--together "}) {
    for (const char* after : {"1", "6", "12", "20", "26"}) {
      const std::string words = std::string("devices 3 of 1 lost_after ") + after;
      const bool second = words.ends_with("26");
      const Ran lost = fake(words, kSmall + mode + (second ? "--precision fp32,fp64 " : ""));
      checks.equal(lost.code, 3, mode + words + ": " + lost.text);
      const int own = lost.count("\"index\":1,\"n\"");
      checks.equal(lost.count("\"event\":\"case\"") - own, second ? 4 : 2, "the others are measured: " + lost.text);
      checks.that(second || own == 0, mode + words + ": what was not checked is no case");
      checks.equal(lost.count("\"code\":\"gpu-lost\""), 1, mode + words + ": and it is told once");
      checks.that(lost.says("\"event\":\"end\""), "to the end");
    }
    const Ran held = fake("devices 2 retain 46 mode 3 retain_of 0", kSmall + mode);
    checks.equal(held.code, 3, "one of two is held by another process");
    checks.equal(held.count("\"event\":\"case\""), 1, "the other is measured: " + held.text);
    checks.equal(held.count("\"code\":\"gpu-busy\""), 1, "and the state is told");
  }
  checks.equal(fake("devices 2 retain 46 retain_of 0", kSmall + "--devices 1").code, 0, "asked for alone, it is well");
}

void fits(Checks& checks) {
  const Ran ran = fake("room 300000", kSmall + "--bodies 300,6000");
  checks.equal(ran.code, 0, "a number that does not fit is left out: " + ran.text);
  checks.equal(ran.count("gpu-size-left-out"), 1, "and told");
  checks.equal(ran.count("\"event\":\"case\""), 1, "the other is measured");
  const Ran none = fake("room 300000 devices 2", kSmall + "--together --bodies 6000");
  checks.equal(none.code, 3, "where nothing was measured that is the end: " + none.text);
  checks.that(none.says("nothing was measured: 6000 bodies") && none.says("next: name smaller --bodies"), none.text);
  const Ran mig = fake("mig 1");
  checks.that(mig.code == 0 && mig.says("\"mig\":true"), "a slice of a GPU is measured, and said to be one");
}

void measured(Checks& checks) {
  for (const Ran& ran : {host("--precision fp32,fp64"), fake("", "--precision fp32,fp64")}) {
    checks.equal(ran.code, 0, ran.text);
    checks.equal(ran.count("\"event\":\"case\""), 2, "one for each precision");
    checks.equal(ran.count("\"work\":{\"interactions\":180000,\"flop\":3600000,\"steps\":2,\"at_once\":1}"), 2,
                 "n^2 each: " + ran.text);
    checks.that(ran.says("forces") && ran.says("energy") && ran.says("momentum"), "three checks");
  }
  const Ran each = fake("devices 3"), all = fake("devices 3", kSmall + "--together");
  checks.that(each.code == 0 && all.code == 0, each.text + all.text);
  checks.equal(each.count("\"mode\":\"alone\""), 3, "each alone: " + each.text);
  checks.equal(all.count("\"mode\":\"together\""), 3, "all at once: " + all.text);
  for (const char* index : {"\"index\":0,\"n\"", "\"index\":1,\"n\"", "\"index\":2,\"n\""}) {
    checks.equal(all.count(index), 1, "each device has its case");
  }
  checks.equal(all.count("\"at_once\":3"), 3, "three of them");
  checks.equal(all.count("\"name\":\"measure\",\"edge\":\"begin\""), 1, "one phase for all");
  checks.equal(host("--backend host:2 --together").code, 0, "devices made of the host's threads");
}

/// The management library is asked of each device while it measures.
void watched(Checks& checks) {
  const std::string asked = kSmall + "--together --nvml " + FAKE_NVML;
  const Ran well = fake("devices 2", asked);
  checks.equal(well.count("\"kernel\":\"conditions\""), 2, "clock and power of each: " + well.text);
  checks.that(well.says("\"hertz\":1.5e+09") && well.says("\"watts\":500"), "as the library says: " + well.text);
  checks.equal(well.count("gpu-held-down"), 0, "a power limit that is reached is no fault");
  for (const auto& [bits, words] : {std::pair{"136", "power brake"},
                                    {"72", "heat, by the hardware"},
                                    {"32", "heat, by the driver"},
                                    {"8", "hardware slowdown"}}) {
    std::string command = "FAKE_CUDA='devices 2' FAKE_NVML_REASONS=";
    command.append(bits).append(" ").append(kProgram).append(FAKES).append(asked);
    const Ran held = shakedown::run_command(command);
    checks.equal(held.count("gpu-held-down"), 1, std::string(bits) + ": one device is told: " + held.text);
    checks.that(held.says(std::string("2 devices at once: ") + words),
                std::string(bits) + " says " + words + held.text);
    checks.that(held.says("GPU 1 (") && held.code == 0, "which; it is not yet a failure");
  }
}

void wrong_forces(Checks& checks) {
  for (const char* mode : {"", "--together --backend host:2 "}) {
    for (const char* precision : {"fp32", "fp64"}) {
      const Ran ran = host(std::string(mode) + "--break-force 0.0001 --precision " + precision);
      checks.equal(ran.code, 1, std::string(mode) + precision + ": a tenth of a per mille is found: " + ran.text);
      checks.that(ran.says("\"ok\":false"), "and said at the end");
    }
  }
  checks.equal(host("--break-force 0.0001 --no-verify").code, 0, "unless it is not looked at");
}

void refused(Checks& checks) {
  for (const char* words :
       {"--bodies 1", "--bodies 1073741825", "--precision fp16", "--shape r3", "--shape r8u2 --precision fp64",
        "--devices 4", "--softening 0", "--threads 2", "--backend hip", "--dt inf", "--dt 1"}) {
    const Ran ran = host(words);
    checks.equal(ran.code, 2, std::string(words) + ": " + ran.text);
  }
  checks.that(host("--shape r9").says("next: auto, r2u8, r4u4, r4u8, r6u4, r8u2"), "all shapes are named");
  checks.that(host("--shape r9 --precision fp64").says("next: auto, r1u8, r2u4, r4u4"), "those of the precision");
}

}  // namespace

int main() {
  Checks checks;
  measured(checks);
  watched(checks);
  wrong_forces(checks);
  states(checks);
  others_go_on(checks);
  fits(checks);
  refused(checks);
  return checks.end();
}
