// The program on the host backend, the fake driver and the fake cuBLAS; the check against products that are wrong.
#include <cmath>
#include <vector>

#include "gpu/host.hpp"
#include "gpu_gemm.hpp"
#include "testing/check.hpp"
#include "testing/driver_states.hpp"

namespace {

using shakedown::Checks;
using shakedown::Ran;
namespace own = shakedown::gpu_gemm;

const std::string kProgram = FOLDER "/gpu_gemm --warm-ms 0 --samples 2 --sample-ms 0 --sizes 48 ";

Ran host(const std::string& arguments) { return shakedown::run_command(kProgram + "--backend host " + arguments); }
Ran fake(const std::string& words, const std::string& arguments = "") {
  return shakedown::run_command(words + ' ' + kProgram + FAKES + arguments);
}

void measured(Checks& checks) {
  for (const Ran& ran : {host(""), fake("FAKE_CUDA=")}) {
    checks.equal(ran.code, 0, ran.text);
    checks.equal(ran.count("\"event\":\"case\""), 14, "seven formats, random and ones");
    checks.equal(ran.count("\"work\":{\"flop\":221184,\"calls\":1}"), 14, "2 n^3 each");
    for (const char* format : own::kFormats)
      checks.equal(ran.count(std::string("\"kernel\":\"gemm_") + format + '"'), 2, format);
  }
  checks.that(fake("FAKE_CUDA=", "--formats f64").says("cublas 13.0.2"), "the library's name");
  const Ran old = fake("FAKE_CUDA='architecture 80'");
  checks.equal(old.code, 0, "a device without 8-bit floating point: " + old.text);
  checks.equal(old.count("gpu-gemm-left-out"), 1, "says so");
  checks.equal(old.count("\"event\":\"case\""), 12, "and does the rest");
  const Ran beside = fake("FAKE_CUDA=", "--bare --data random");
  checks.equal(beside.code, 0, "cuBLAS alone beside ours: " + beside.text);
  checks.equal(beside.count("\"kernel\":\"bare\""), 6, "in every format that takes one call");
  checks.equal(beside.count("\"kernel\":\"beside\""), 6, "by turns with ours");
  const Ran none = fake("FAKE_CUDA='architecture 80'", "--formats f8");
  checks.that(none.code == 3 && none.says("gpu-no-library") && none.says("next: name other --formats"), none.text);
  const Ran odd = host("--sizes 50 --formats i8,f8,f64");
  checks.equal(odd.count("gpu-gemm-left-out"), 2, "8-bit formats ask for multiples of 16: " + odd.text);
}

void wrong(Checks& checks) {
  for (const char* format : own::kFormats) {
    const std::string words = std::string("--data random --formats ") + format;
    checks.equal(fake("FAKE_CUBLAS=wrong FAKE_CUDA=", words).code, 1, std::string(format) + ": a damaged corner");
    checks.equal(fake("FAKE_CUBLAS=nothing FAKE_CUDA=", words).code, 1, std::string(format) + ": nothing written");
    checks.equal(host(words + " --spoil").code, 1, std::string(format) + ": zeros in the middle");
  }
  checks.equal(host("--formats f64 --spoil --no-verify").code, 0, "unless it is not looked at");
}

void states(Checks& checks) {
  const Ran old = fake("FAKE_CUBLAS=old FAKE_CUDA='driver 12040'", "--formats f64");
  checks.equal(old.code, 3, old.text);
  checks.that(old.says("gpu-driver-too-old") && old.says("asks for a driver of CUDA 13, and this one speaks 12.4"),
              old.text);
  const Ran none = shakedown::run_command("FAKE_CUDA= " + kProgram + FAKES + "--cublas /nowhere/libcublas.so");
  checks.equal(none.code, 3, "no cuBLAS");
  checks.that(none.says("gpu-no-library") && none.says("--cublas"), none.text);
  const Ran full = fake("FAKE_CUDA='room 40000'", "--formats f64");
  checks.equal(full.code, 3, "what does not fit is left out, and nothing else was asked for: " + full.text);
  checks.that(full.says("do not fit") && full.says("next: name smaller --sizes"), full.text);
  const Ran some = fake("FAKE_CUDA='room 40000'", "--formats f64 --sizes 16,48");
  checks.equal(some.code, 0, "beside a size that does: " + some.text);
  checks.that(some.says("\"advice\":\"name smaller --sizes\""), "and told what to do: " + some.text);
  for (const char* order : {"10000000", "2147483647"}) {
    const Ran huge = host(std::string("--formats f64,i8 --sizes ") + order);
    checks.that(huge.code == 3 && huge.says("nothing was measured"), "beyond all memory: " + huge.text);
  }
  for (const char* words : {"--formats f128", "--data sevens", "--sizes 0", "--sizes 4294967296"})
    checks.equal(host(words).code, 2, words);
}

/// The check by itself: the right product passes in every format, one wrong entry in a row that is not computed again
/// is seen by the random signs.
void reference(Checks& checks) {
  const std::size_t n = 96;
  for (int format = 0; format < 7; ++format) {
    const own::Problem problem{.format = format, .data = own::kRandom, .n = n};
    std::vector<unsigned char> c(n * n * 8);
    std::vector<double> exact(n * n);
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t l = 0; l < n; ++l) {
        const double b = own::entry(format, own::kRandom, 2, l, j).value;
        for (std::size_t i = 0; i < n; ++i) exact[j * n + i] += own::entry(format, own::kRandom, 1, i, l).value * b;
      }
    }
    const auto write = [&](std::size_t at, double value) {
      namespace gpu = shakedown::gpu;
      const auto x = static_cast<float>(value);
      switch (format) {
        case own::kF64:
          own::put(c.data(), at, 8, own::double_bits(value));
          break;
        case own::kF32:
        case own::kTf32:
          own::put(c.data(), at, 4, gpu::bits_of(x));
          break;
        case own::kI8:
          own::put(c.data(), at, 4, static_cast<std::uint32_t>(static_cast<std::int32_t>(value)));
          break;
        case own::kF16:
          own::put(c.data(), at, 2, gpu::narrow(x, gpu::kHalf));
          break;
        default:
          own::put(c.data(), at, 2, gpu::narrow(x, gpu::kBfloat));
      }
    };
    const auto residual = [&](std::size_t rows) {
      own::Reference one(problem, rows);
      one.look(c.data(), 0, n / 2);
      one.look(c.data() + n / 2 * n * static_cast<std::size_t>(own::result_width(format)), n / 2, n);
      return one.residual() <= one.limit();
    };
    for (std::size_t at = 0; at < n * n; ++at) write(at, exact[at]);
    checks.that(residual(8), std::string(own::kFormats[format]) + ": the right product passes");
    const double off = format == own::kI8 ? 1 : format >= own::kBf16 ? 64 : 0.25;
    for (std::size_t at = 0; at < n * n; at += 397) {
      write(at, exact[at] + off);
      if (residual(2))
        checks.that(false, std::string(own::kFormats[format]) + ": a wrong entry at " + std::to_string(at));
      write(at, exact[at]);
    }
    if (format == own::kI8) continue;
    write(n * n / 2, std::nan(""));
    own::put(c.data(), n * n / 2, format == own::kF64 ? 8 : own::result_width(format), ~std::uint64_t{0});
    checks.that(!residual(2), std::string(own::kFormats[format]) + ": NaN");
  }
}

}  // namespace

int main() {
  Checks checks;
  measured(checks);
  wrong(checks);
  states(checks);
  reference(checks);
  return checks.end();
}
