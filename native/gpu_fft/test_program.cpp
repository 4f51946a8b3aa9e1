// The program on the host backend, and on the fake driver with a fake cuFFT in every state; transforms that are wrong.
#include "gpu/program.hpp"
#include "gpu_fft.hpp"
#include "testing/check.hpp"
#include "testing/driver_states.hpp"
#include "testing/sanitized.hpp"

namespace {

using shakedown::Checks;
using shakedown::Ran;
namespace own = shakedown::gpu_fft;
namespace gpu = shakedown::gpu;

const std::string kProgram = FOLDER "/gpu_fft --warm-ms 0 --samples 2 --sample-ms 0 ";
const std::string kSmall = "--sizes 64,6x5 --batch 1,3 --precision d ";

Ran host(const std::string& arguments) { return shakedown::run_command(kProgram + "--backend host " + arguments); }
Ran fake(const std::string& words, const std::string& arguments = kSmall) {
  return shakedown::run_command((words.empty() ? "FAKE_CUDA=" : words) + ' ' + kProgram + FAKES + FAKE_CUFFT +
                                arguments);
}
bool near(std::complex<double> a, std::complex<double> b) { return std::abs(a - b) < 1e-12; }

/// The host's transforms against the sum as it is defined.
void reference(Checks& checks) {
  for (const auto& lengths : std::vector<std::vector<int>>{{2}, {3}, {8}, {30}, {49}, {97}, {4, 6}, {2, 3, 5}}) {
    const gpu::TransformShape shape{lengths, 2, true};
    const auto n = shape.points();
    std::vector<std::complex<double>> in(static_cast<std::size_t>(2 * n)), out(in.size()), back(in.size());
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = shakedown::fft::entry<double>(static_cast<std::int64_t>(i));
    const auto plan = gpu::host_transforms()->plan(shape);
    plan->run(in.data(), out.data(), gpu::Way::forward, nullptr);
    plan->run(out.data(), back.data(), gpu::Way::backward, nullptr);
    bool right = true;
    for (std::int64_t one = 0; one < 2; ++one) {
      for (std::int64_t k = 0; k < n; ++k) {
        std::complex<double> sum = 0;
        for (std::int64_t j = 0; j < n; ++j) {
          double turns = 0;
          auto a = j, b = k;
          for (std::size_t d = lengths.size(); d-- > 0;) {
            turns += static_cast<double>((a % lengths[d]) * (b % lengths[d])) / lengths[d];
            a /= lengths[d];
            b /= lengths[d];
          }
          sum += in[static_cast<std::size_t>(one * n + j)] * std::polar(1.0, -2 * M_PI * turns);
        }
        const auto at = static_cast<std::size_t>(one * n + k);
        right = right && near(out[at], sum) && near(back[at], in[at] * static_cast<double>(n));
      }
    }
    checks.that(right, "as defined, both ways: " + std::to_string(n) + " points");
  }
}

void measured(Checks& checks) {
  for (const Ran& ran : {host(kSmall), fake("")}) {
    checks.equal(ran.code, 0, ran.text);
    checks.equal(ran.count("\"kernel\":\"mod2f\""), 1, "one dimension, double, one by one");
    checks.equal(ran.count("\"kernel\":\"fft\""), 3, "the others");
    checks.equal(ran.count("\"kernel\":\"fft_plan\""), 4, "each planned for itself");
    checks.equal(ran.count("\"limit\":16"), 4, "all checked");
    checks.that(ran.says("\"flop\":1920,\"bytes\":2048,\"transforms\":1,\"calls\":1"), "5 N log2 N, once in and out");
    checks.that(ran.says("\"flop\":5760,\"bytes\":6144,\"transforms\":3,\"calls\":1"), "three times in a batch");
    checks.that(ran.says("\"shape\":\"6x5\",\"batch\":3"), "by shape and batch");
  }
  const Ran named = fake("");
  checks.that(named.says("\"library\":\"cufft 12.0.3\"") && named.says("work area of 3 x 64 double, device 0\":64"),
              "the library and its work area: " + named.text);
  const std::string both = "--sizes 8 --batch 1 --precision ";
  checks.equal(host(both + "both").count("\"kernel\":\"fft_plan\""), 2, "both precisions by one word");
  checks.equal(host(both + "s").count("\"kernel\":\"fft_plan\""), 1, "or one");
  const Ran many = host("--sizes 8,27,2x2x2 --batch auto,200 --bytes 65536 --precision d,s");
  checks.equal(many.code, 0, "more transforms than sets of modes: " + many.text);
  checks.that(many.says("\"batch\":512") && many.says("\"batch\":1024"), "as many as read 64 KiB, in each precision");
  checks.equal(host("--sizes 64 --batch auto --bytes 16 --precision s").count("\"batch\":1,"), 2, "at least one");
}

void wrong(Checks& checks) {
  for (const char* fault : {"wrong", "nothing", "backwards", "scaled", "lazy"}) {
    for (const char* words : {"--sizes 60 --batch 3 --precision d", "--sizes 4x9 --batch 200 --precision s"}) {
      const Ran ran = fake(std::string("FAKE_CUFFT=") + fault + " FAKE_CUDA=", words);
      checks.equal(ran.code, 1, std::string(fault) + ", " + words + ": " + ran.text);
      checks.that(ran.says("\"ok\":false"), "and the end says so");
    }
  }
  checks.that(fake("FAKE_CUFFT=nothing FAKE_CUDA=").says("\"value\":null"), "what was not written is no number");
  const std::string large = shakedown::kSanitized ? "--sizes 256 --batch 4 " : "--sizes 4096 --batch 4 ";
  const std::string broken = shakedown::kSanitized ? "--break-point 600 " : "--break-point 9000 ";
  checks.equal(host(large + broken + "--precision d").code, 1, "one damaged point is seen");
  checks.equal(host(large + broken + "--precision s").code, 1, "in single precision too");
  checks.equal(host(large + broken + "--no-verify").code, 0, "unless it is not looked at");
}

void states(Checks& checks) {
  const std::vector<shakedown::gpu::Refusal> refusals = {
      {"FAKE_CUDA='init 100'", "shows no device", "--gres=gpu:1"},
      {"FAKE_CUDA='retain 46 mode 3'", "exclusive mode and another process holds it", "nvidia-smi -c 0"},
      {"FAKE_CUDA='retain 2'", "no memory left even to start", "nvidia-smi"},
      {"FAKE_CUDA='lost_after 2'", "it was there and is gone", "fallen off the bus"},
      {"FAKE_CUDA='lost_after 2 code 214'", "ECC_UNCORRECTABLE", "drain the node"},
      {"FAKE_CUFFT=full FAKE_CUDA=", "gpu-out-of-memory", "nvidia-smi"},
      {"FAKE_CUFFT=old FAKE_CUDA='driver 12040'", "asks for a driver of CUDA 13, and this one speaks 12.4",
       "use an older cuFFT"},
      {"FAKE_CUFFT=old FAKE_CUDA=", "cufftCreate of 16 double: internal error (5)", "another cuFFT"},
  };
  shakedown::gpu::refused_alike(checks, refusals, "", [](const std::string& state) { return fake(state); });
  const Ran none =
      shakedown::run_command("FAKE_CUDA= " + kProgram + FAKES + "--cufft /nowhere/libcufft.so.12 " + kSmall);
  checks.that(none.code == 3 && none.says("gpu-no-library") && none.says("--cufft"), "no cuFFT: " + none.text);
  const Ran foreign = shakedown::run_command("FAKE_CUDA= " + kProgram + FAKES + "--cufft libm.so.6 " + kSmall);
  checks.that(foreign.code == 3 && foreign.says("this cuFFT has no cufft"), "something else: " + foreign.text);
}

void the_rest_goes_on(Checks& checks) {
  const Ran refused = fake("FAKE_CUFFT=refused FAKE_CUDA=");
  checks.equal(refused.code, 3, "a plan that is refused: " + refused.text);
  checks.that(refused.says("cufftMakePlanMany64 of 3 x 6x5 double: invalid size (8)"), refused.text);
  checks.equal(refused.count("\"limit\":16"), 2, "the other size is measured");
  const Ran greedy = fake("FAKE_CUFFT=greedy FAKE_CUDA='room 1000000'", "--sizes 16,64 --batch 1 --precision d");
  checks.equal(greedy.code, 0, "a work area that does not fit: " + greedy.text);
  checks.equal(greedy.count("gpu-size-left-out"), 1, "is told");
  checks.equal(greedy.count("\"limit\":16"), 1, "and the rest measured");
  const Ran large = fake("FAKE_CUDA='room 1000000'", "--sizes 64,65536 --batch 1 --precision d");
  checks.equal(large.count("gpu-size-left-out"), 1, "arrays that do not fit: " + large.text);
  checks.equal(large.count("\"kernel\":\"fft_plan\""), 1, "are not planned");
  const Ran none = fake("FAKE_CUDA='room 1000000'", "--sizes 65536,1048576 --batch 1 --precision d");
  checks.equal(none.code, 3, "where no case is left: " + none.text);
  checks.that(none.says("nothing was measured") && none.says("next: name smaller --sizes"), none.text);
  const Ran lost = fake("FAKE_CUDA='devices 3 lost_after 2 of 1'", "--sizes 64 --batch 1 --precision d");
  checks.equal(lost.code, 3, "one of three falls off the bus");
  checks.equal(lost.count("\"kernel\":\"mod2f\""), 2, "the others are measured: " + lost.text);
  checks.equal(lost.count("\"code\":\"gpu-lost\""), 1, "and it is told once");
}

void refused(Checks& checks) {
  for (const char* words :
       {"--sizes 1", "--sizes 4x", "--sizes ,", "--precision h", "--batch 0", "--batch many", "--batch ,",
        "--batch 999999999 --sizes 1048576", "--devices 4", "--length 3", "--sizes 4000000000"})
    checks.equal(host(words).code, 2, words);
}

}  // namespace

int main() {
  Checks checks;
  checks.equal(shakedown::gpu::level_of(1 << 20, 4 << 20), std::string("l2"), "half of the cache or less is in it");
  checks.equal(shakedown::gpu::level_of(16 << 20, 4 << 20), std::string("memory"), "four times the cache is in memory");
  checks.equal(shakedown::gpu::level_of(4 << 20, 4 << 20), std::string(), "between is neither");
  reference(checks);
  measured(checks);
  wrong(checks);
  states(checks);
  the_rest_goes_on(checks);
  refused(checks);
  return checks.end();
}
