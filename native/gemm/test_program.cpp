// The program against libraries that are right, wrong, broken or absent: exit codes, words, and no score without proof.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <string>

#include "common/blas.hpp"
#include "common/isa.hpp"
#include "testing/check.hpp"
#include "testing/run_program.hpp"
#include "testing/sanitized.hpp"

namespace {

using shakedown::Blas;
using shakedown::Checks;
using shakedown::Ran;

Ran run(const std::string& arguments) { return shakedown::run_command(FOLDER "/gemm " + arguments); }

/// The fake BLAS, whole or without some of its routines: see native/testing/CMakeLists.txt.
std::string fake(const std::string& lack = "") { return FAKE_FOLDER "/libfake_blas" + lack + ".so"; }

Ran run_library(const std::string& library, const std::string& more = "") {
  const std::string sizes = shakedown::kSanitized ? "33,100" : "33,260";  // the fake's loops are plain
  return run("--library " + library + " --sizes " + sizes + " --samples 2 --sample-flop 1e5 --threads 1 " + more);
}

/// With this fault of native/testing/fake_blas.cpp.
Ran run_fault(const std::string& fault, const std::string& more = "") {
  setenv("FAKE_BLAS", fault.c_str(), 1);
  Ran ran = run_library(fake(), more);
  unsetenv("FAKE_BLAS");
  return ran;
}

void right_and_wrong(Checks& checks) {
  const auto right = run_library(fake());
  checks.equal(right.code, 0, "a right library: " + right.text);
  checks.that(right.says("\"kernel\":\"dgemm\"") && right.says("\"kernel\":\"sgemm\""), "both precisions");
  checks.that(right.says("\"ok\":true"), "and the end says so");
  for (const char* beta : {"1", "-0.5"}) {
    const auto added = run_library(fake(), std::string("--alpha -1 --beta ") + beta);
    checks.equal(added.code, 0, "C is added to: " + added.text);
  }
  for (const char* fault : {"wrong_entry", "nan", "unwritten"}) {
    for (const char* precision : {"d", "s"}) {
      const auto wrong = run_fault(fault, std::string("--precision ") + precision);
      if (std::string(fault) == "wrong_entry" && *precision == 's') continue;  // 1e-3 is near single's rounding
      checks.equal(wrong.code, 1, std::string(fault) + precision);
      checks.that(wrong.says("\"ok\":false"), "the end says that a check failed");
    }
  }
  checks.that(run_fault("nan").says("\"value\":null"), "NaN is null, which is not a pass");
  checks.equal(run_fault("wrong_small", "--precision d").code, 1, "double computed in single");
  checks.equal(run_fault("wrong_entry", "--no-verify").code, 0, "unless the check is left out");
  checks.that(!run_fault("wrong_entry", "--no-verify").says("residual"), "and then nothing claims a check");
}

void broken(Checks& checks) {
  const auto crash = run_fault("crash");
  checks.equal(crash.code, 1000 + SIGSEGV, "a library that crashes ends the program by the signal");
  checks.that(!crash.says("\"event\":\"case\"") && !crash.says("\"event\":\"end\""), "and leaves no case and no end");
  const auto lacks = run_library(fake("_no_dgemm"));
  checks.equal(lacks.code, 3, "a library without DGEMM");
  checks.that(lacks.says("no DGEMM in"), "says so: " + lacks.text);
  const auto half = run_library(fake("_no_sgemm"));
  checks.equal(half.code, 3, "a library without SGEMM when both are asked for");
  checks.that(half.says("\"kernel\":\"dgemm\"") && half.says("no SGEMM in"), "keeps what was measured");
  checks.equal(run_library(fake("_no_sgemm"), "--precision d").code, 0, "and is enough for double alone");
  const auto absent = run("--library /nowhere/libblas.so --sizes 8 --threads 1");
  checks.equal(absent.code, 3, "an absent library");
  checks.that(absent.says("/nowhere/libblas.so"), "is named");
}

void refusals(Checks& checks) {
  checks.equal(run("--sizes 8").code, 2, "no library named");
  checks.equal(run("--sizes 0 --library x").code, 2, "order 0");
  checks.equal(run("--threads 0 --library x").code, 2, "no threads");
  checks.equal(run("--threads 100000 --library x").code, 2, "more threads than CPUs");
  checks.equal(run("--precision q --library x").code, 2, "an unknown precision");
  checks.equal(run("--beta 2 --library x").code, 2, "a beta that makes C grow without bound");
  const auto huge = run_library(fake(), "--sizes 3000000");
  checks.that(huge.code == 3 || huge.code == 2, "matrices beyond the memory");
  const auto unknown = run_library(fake(), "--librari x");
  checks.that(unknown.code == 2 && unknown.says("did you mean --library"), "a misspelt argument");
}

void identity(Checks& checks) {
  Blas held = Blas::load(fake(), 1);
  const auto isas = shakedown::machine_isas();
  const bool wide_vectors = std::find(isas.begin(), isas.end(), "avx512") != isas.end();
  for (const char* kernel : {"SkylakeX", "Zen4", ""}) {
    held.kernel = kernel;
    checks.that(held.kernel_doubt().text.empty(), std::string("nothing is wrong with the kernels '") + kernel + "'");
  }
  held.kernel = "Haswell";
  checks.that(held.kernel_doubt().text.empty() != wide_vectors, "Haswell's kernels are doubted where there is AVX-512");
  setenv("OPENBLAS_CORETYPE", "Haswell", 1);
  checks.that((held.kernel_doubt().advice == "unset OPENBLAS_CORETYPE, which is Haswell") == wide_vectors,
              "and the variable that is behind it is named");
  unsetenv("OPENBLAS_CORETYPE");
  checks.that(!Blas::load(fake(), 1).ilp64, "32-bit integers are recognised");
  setenv("FAKE_BLAS", "ilp64", 1);
  const Blas wide = Blas::load(fake(), 1);
  unsetenv("FAKE_BLAS");
  checks.that(wide.ilp64, "64-bit integers too, though the symbol has the usual name");
  checks.equal(run_fault("ilp64").code, 0, "and are called right");
  const Blas serial = Blas::load(fake("_serial"), 1);
  checks.equal(serial.name, "openblas", "its name");
  checks.equal(serial.version, "9.8.7.6", "its version");
  checks.equal(serial.title(), "openblas 9.8.7", "its title");
  checks.equal(serial.kernel, "Plaincore", "its kernel");
  checks.equal(serial.threading, "serial", "its threading");
  checks.that(!serial.sets_threads, "it sets none");
  const Blas plain = Blas::load(fake(), 1);
  checks.equal(plain.name, "fake_blas", "a library that says nothing is called by its file");
  checks.equal(plain.version, "", "and has no version");
  checks.that(plain.routine<void()>("dsyrk") == nullptr, "a routine that is not there is null");
  checks.that(plain.routine<void()>("dcopy") != nullptr, "one that is there is found by its plain name");
  const auto label = run_library(fake(), "--label 'mine 1'");
  checks.that(label.says("\"library\":\"mine 1\""), "the label stands in the cases");
  using shakedown::blas_detail::version_in;
  checks.equal(version_in("OpenBLAS 0.3.21 NO_LAPACKE MAX_THREADS=64"), "0.3.21", "OpenBLAS's words");
  checks.equal(version_in("Library Version 2026.2-Product Build 20260915 for 64 architecture"), "2026.2", "MKL's");
  checks.equal(version_in("AOCL-BLIS 4.2.1 Build 20240303"), "4.2.1", "AOCL's");
  checks.equal(version_in("no number 64 here."), "", "none");
}

/// A library that keeps to one thread must not be scored as if it had used more.
void serial_threads(Checks& checks) {
  if (sysconf(_SC_NPROCESSORS_ONLN) < 2) return;
  for (const char* lack : {"_serial", ""}) {
    const auto ran = run("--library " + fake(lack) + " --sizes 100 --samples 1 --sample-flop 1 --threads 2");
    if (ran.says("requested, with 1 CPUs")) return;  // the affinity leaves one CPU
    checks.equal(ran.code, 0, ran.text);
    checks.that(ran.says("\"threads\":1,") && !ran.says("\"threads\":2,"), "one thread is what it used: " + ran.text);
    checks.that(ran.says("blas-serial"), "and a notice says so");
  }
}

}  // namespace

int main() {
  setenv("ASAN_OPTIONS", "handle_segv=0", 1);  // else a sanitizer turns the fake's signal into an exit code
  setenv("TSAN_OPTIONS", "handle_segv=0", 1);
  Checks checks;
  right_and_wrong(checks);
  broken(checks);
  refusals(checks);
  identity(checks);
  serial_threads(checks);
  return checks.end();
}
