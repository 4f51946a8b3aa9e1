// The program against libraries that are right, wrong, broken or absent: exit codes, words, and no score without proof.

#include <csignal>
#include <cstdlib>
#include <string>

#include "testing/check.hpp"
#include "testing/run_program.hpp"

namespace {

using shakedown::Checks;
using shakedown::Ran;

Ran run(const std::string& arguments) { return shakedown::run_command(FOLDER "/fft " + arguments); }

/// The fake FFTW, with this fault of native/testing/fake_fftw.cpp; `lack`: without some of its routines.
Ran fake(const std::string& fault, const std::string& more = "", const std::string& lack = "") {
  setenv("FAKE_FFTW", fault.c_str(), 1);
  Ran ran = run("--library " FAKE_FOLDER "/libfake_fftw" + lack +
                ".so --sizes 16,6x5 --samples 1 --sample-flop 1 --threads 1 --pages base " + more);
  unsetenv("FAKE_FFTW");
  return ran;
}

void right_and_wrong(Checks& checks) {
  const auto right = fake("", "--precision d,s --batch together,each --data warm,cold");
  checks.equal(right.code, 0, "a right library: " + right.text);
  checks.that(right.says("\"kernel\":\"mod2f\"") && right.says("\"kernel\":\"fft\""), "one dimension and more");
  checks.that(right.says("\"kernel\":\"fft_plan\"") && right.says("\"plans\":1"), "planning stands apart");
  checks.that(right.says("\"library\":\"fftw 9.8.7\"") && right.says("\"ok\":true"), "and by its name");
  checks.that(right.says("\"data\":\"cold\"") && right.says("\"batch\":\"each\""), "in every way that was asked for");
  for (const char* fault : {"wrong_point", "nan", "unwritten", "swapped", "identity", "rough"}) {
    const auto wrong = fake(fault);
    checks.equal(wrong.code, 1, std::string(fault) + ": " + wrong.text);
    checks.that(wrong.says("\"ok\":false"), "the end says that a check failed");
    checks.that(wrong.says("fft: 2 of 2 checks failed; the first: mod2f {"), "which one, in words: " + wrong.text);
    checks.equal(fake(fault, "--batch each").code, 1, std::string(fault) + ", each its own");
    if (std::string(fault) != "rough")
      checks.equal(fake(fault, "--precision s").code, 1, std::string(fault) + ", single");
  }
  checks.that(fake("nan").says("\"value\":null"), "NaN is null, which is not a pass");
  const auto unproved = fake("wrong_point", "--no-verify");
  checks.equal(unproved.code, 0, "unless the check is left out");
  checks.that(!unproved.says("residual"), "and then nothing claims a check");
}

void broken(Checks& checks) {
  const auto crash = fake("crash");
  checks.equal(crash.code, 1000 + SIGSEGV, "a library that crashes ends the program by the signal");
  checks.that(!crash.says("\"kernel\":\"mod2f\"") && !crash.says("\"event\":\"end\""), "and leaves no case and no end");
  const auto none = fake("no_plan");
  checks.that(none.code == 3 && none.says("no plan"), "a library without a plan: " + none.text);
  const auto half = fake("", "--precision s", "_no_single");
  checks.that(half.code == 3 && half.says("no single precision") && half.says("libfftw3-single3"), half.text);
  checks.equal(fake("", "", "_no_single").code, 0, "and is enough for double");
  const auto absent = run("--library /nowhere/libfftw3.so.3 --threads 1");
  checks.that(absent.code == 3 && absent.says("/nowhere/libfftw3.so.3") && absent.says("libfftw3-double3"),
              "an absent library is named, and what to install: " + absent.text);
  const auto foreign = run("--library libm.so.6 --threads 1");
  checks.that(foreign.code == 3 && foreign.says("no double precision FFT"), "a library of something else");
  const auto serial = run("--library " FAKE_FOLDER "/libfake_fftw.so --threads 2 --sizes 16");
  checks.that(serial.says("has no threads") || serial.says("CPUs to pin to"), "one without threads: " + serial.text);
}

/// Files that cannot be read or written are found before anything is measured.
void files(Checks& checks) {
  for (const char* words : {"--wisdom /nowhere/wisdom", "--save-wisdom /nowhere/wisdom"}) {
    const auto ran = fake("", words);
    checks.that(ran.code == 2 && !ran.says("\"event\"") && ran.says("/nowhere/wisdom"), words + (": " + ran.text));
  }
  const auto foreign = fake("", "--wisdom /dev/null");
  checks.that(foreign.code == 0 && foreign.says("fft-wisdom"), "plans that are not taken are told: " + foreign.text);
  const auto mute = fake("", "--save-wisdom /dev/null");
  checks.that(mute.code == 3 && mute.says("does not write plans") && !mute.says("\"event\":\"case\""), mute.text);
}

void refusals(Checks& checks) {
  for (const char* words : {"--sizes 0", "--sizes 4x", "--sizes 4x4x4x4", "--threads 0", "--threads 100000",
                            "--precision q", "--batch alone", "--data hot", "--plan exhaustive", "--pages small"}) {
    const auto ran = run(words);
    checks.equal(ran.code, 2, std::string(words) + ": " + ran.text);
  }
  const auto large = run("--sizes 4000000000");
  checks.that(large.code == 2 && large.says("too large") && large.says("2147483647"), "says the limit: " + large.text);
  const auto volume = run("--sizes 1048576x1048577");
  checks.that(volume.code == 2 && volume.says("too large") && volume.says("2^40"), volume.text);
  checks.that(run("--sizes 99999999999999999999").says("too large"), "beyond any integer");
  checks.that(run("--sizes -4").says("not a valid shape"), "what is none is none");
  const auto both = fake("", "--precision both --batch both --data both");
  checks.equal(both.code, 0, "both, as help and advice say: " + both.text);
  checks.equal(both.count("\"limit\":"), 16, "of each: two shapes, precisions, batches and data");
  checks.that(run("--precision q").says("next: known: d, s, both"), "which its advice names");
  const auto unknown = run("--librari x");
  checks.that(unknown.code == 2 && unknown.says("did you mean --library"), "a misspelt argument");
  const auto huge = fake("", "--sizes 1048576x1048576");
  checks.equal(huge.code, 3, "arrays beyond the memory: " + huge.text);
}

}  // namespace

int main() {
  setenv("ASAN_OPTIONS", "handle_segv=0:detect_leaks=0", 1);  // else a sanitizer turns the signal into an exit code
  setenv("TSAN_OPTIONS", "handle_segv=0", 1);
  Checks checks;
  right_and_wrong(checks);
  broken(checks);
  files(checks);
  refusals(checks);
  return checks.end();
}
