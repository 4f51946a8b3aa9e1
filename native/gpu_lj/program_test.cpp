// The program on the host backend, and on the fake driver with every state that a real one can be in.
#include "testing/check.hpp"
#include "testing/driver_states.hpp"

namespace {

using shakedown::Checks;
using shakedown::Ran;

const std::string kProgram = FOLDER "/gpu_lj ";
const std::string kSmall =
    "--particles 200 --samples 2 --steps 4 --equilibrate 4 --skin 0.3 --lanes 1 --start random --cutoff 2 ";

Ran host(const std::string& arguments) { return shakedown::run_command(kProgram + "--backend host " + arguments); }
Ran fake(const std::string& words, const std::string& arguments = kSmall) {
  return shakedown::run_command("FAKE_CUDA='" + words + "' " + kProgram + FAKES + arguments);
}

void states(Checks& checks) {
  auto refusals = shakedown::gpu::driver_states(3);
  refusals.push_back({"room 1000", "200 particles need", "ask for fewer --particles"});
  shakedown::gpu::refused_alike(checks, refusals, "", [](const std::string& words) { return fake(words); });
  shakedown::gpu::without_driver(checks, kProgram);
}

void others_go_on(Checks& checks) {
  const Ran lost = fake("devices 3 lost_after 3 of 1");
  checks.equal(lost.code, 3, "one of three falls off the bus");
  checks.equal(lost.count("\"event\":\"case\""), 2, "the others are measured: " + lost.text);
  checks.equal(lost.count("\"code\":\"gpu-lost\""), 1, "and it is told once");
  checks.that(lost.says("\"event\":\"end\""), "to the end");
  const Ran held = fake("devices 2 retain 46 mode 3 retain_of 0");
  checks.equal(held.code, 3, "one of two is held by another process");
  checks.equal(held.count("\"event\":\"case\""), 1, "the other is measured: " + held.text);
  checks.equal(held.count("\"code\":\"gpu-busy\""), 1, "and the state is told");
  const Ran large = fake("room 1000000", kSmall + "--particles 20000,200,10000");
  checks.equal(large.code, 3, "sizes that do not fit: " + large.text);
  checks.equal(large.count("\"event\":\"case\""), 1, "the other is measured");
  checks.equal(large.count("\"code\":\"gpu-out-of-memory\""), 2, "and each is told");
}

void measured(Checks& checks) {
  for (const Ran& ran : {host(kSmall), fake("", kSmall)}) {
    checks.equal(ran.code, 0, ran.text);
    checks.equal(ran.count("\"kernel\":\"lj\""), 1, "one case");
    checks.that(ran.says("\"particle_steps\":800"), "particle steps: " + ran.text);
    checks.that(ran.says("\"n\":200,\"precision\":\"mixed\",\"density\":0.382,\"cutoff\":2,\"device\":"), ran.text);
    checks.that(ran.says("\"ok\":true"), "to the end");
  }
  const Ran both = host(kSmall + "--precision mixed,fp64 --list-room 5 --start fcc --lanes 4 --write /dev/null");
  checks.equal(both.code, 0, "both precisions, lists that must grow: " + both.text);
  checks.equal(both.count("\"lists_made_longer\":1,"), 2, "which is told");
  const Ran found = host("--particles 200 --samples 1 --equilibrate 2 --steps 2 --cutoff 2");
  checks.equal(found.code, 0, "lanes and skin found in trials: " + found.text);
  checks.that(host(kSmall + "--backend host:2 --devices 1").says("\"index\":1"), "a device of its choice");
}

void refused(Checks& checks) {
  const Ran broken = host(kSmall + "--break-force 0.01");
  checks.equal(broken.code, 1, "wrong forces fail: " + broken.text);
  checks.equal(host(kSmall + "--break-force 0.01 --no-verify").code, 0, "unless they are not looked at");
  const Ran small = host("--particles 100");
  checks.equal(small.code, 2, "a box too small");
  checks.that(small.says("too small") && small.says("next: ask for at least 371 particles"), small.text);
  const Ran nowhere = host(kSmall + "--write /nowhere/data");
  checks.that(nowhere.code == 2 && !nowhere.says("\"event\""), "a path that cannot be written: " + nowhere.text);
  const Ran full = host(kSmall + "--write /dev/full");
  checks.that(full.code == 3 && full.says("\"kernel\":\"lj\"") && full.says("\"event\":\"end\""),
              "a full file system loses no case: " + full.text);
  for (const char* words : {"--particles 1", "--precision fp32", "--lanes 3", "--devices 4", "--precision ,",
                            "--threads 2", "--particles 3000000000", "--start cubic", "--cutoff 100", "--density 3",
                            "--dt 0.1", "--dt 0", "--temperature inf"})
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
