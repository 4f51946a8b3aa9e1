// The whole program: on the host backend with ranks that are threads, and on one rank through the CUDA backend with a
// driver and a cuBLAS that are fakes, in every state that a real one can be in.
#include <dlfcn.h>

#include <atomic>
#include <stdexcept>

#define main hpl_gpu_main
#include "main.cpp"  // NOLINT(bugprone-suspicious-include): its main is called on each rank
#undef main

#include "testing.hpp"

SHAKEDOWN_TEST_IMAGE(hpl_gpu);

namespace {

using shakedown::Checks;
namespace testing = shakedown::hpl_gpu::testing;

constexpr unsigned kHang_s = 900;

const testing::Program kProgram = {"hpl_gpu", hpl_gpu_main, "hpl", {"update", "each"}, {}, FAKE_DRIVER, FAKE_CUBLAS};

void sweeps(Checks& checks) {
  testing::sweeps_alike(checks, kProgram);
  if (testing::kSlow) return;
  testing::sweep(checks, kProgram, 1, {"--n", "1,30,31", "--nb", "8,64"}, 6);
  testing::sweep(checks, kProgram, 2, {"--n", "40", "--nb", "16", "--tail-nb", "4", "--panel-blocks", "2"}, 1);
  testing::sweep(checks, kProgram, 2, {"--n", "40", "--nb", "4096"}, 0, 2);
}

void numbers(Checks& checks) {
  using shakedown::hpl_gpu::device_number;
  checks.equal(device_number("all", 4, 2, false), std::string("2"), "the rank's own");
  checks.equal(device_number("0,3", 4, 1, false), std::string("3"), "of those chosen");
  checks.equal(device_number("all", 1, 5, false), std::string("0"), "the only one that a rank sees");
  checks.equal(device_number("all", 2, 5, true), std::string("1"), "shared");
  checks.throws<shakedown::Error>([] { device_number("all", 2, 2, false); }, "more ranks than devices");
  checks.throws<shakedown::Error>([] { device_number("all", 0, 0, false); }, "no device");
}

/// What HPL.dat asks for and a device does its own way is named, and what was done stands in netlib's text.
void file(Checks& checks) {
  const std::string out = "hpl_gpu_program_test.out";
  const std::string dat = testing::write_dat("hpl_gpu_program_test.dat", out);
  const auto ran = testing::sweep(checks, kProgram, 1, {"--dat", dat, "--netlib", out}, 2);
  checks.equal(ran.count(R"("code":"ignored")"), 9, "ignored parameters, each in words: " + ran.text);
  checks.that(ran.count("PFACT 0,1,2 (line 15)") > 0, "with its values");
  const std::string text = testing::text_of(out);
  checks.that(text.find("WR10R2C32") != std::string::npos && text.find("WR13R2C32") != std::string::npos,
              "what was run: " + text);
  checks.that(text.find("2 tests completed and passed residual checks") != std::string::npos, text);
  std::remove(dat.c_str());
  std::remove(out.c_str());
}

/// With more than six panels the products are rehearsed.
void rehearsed(Checks& checks) {
  const auto ran = testing::run_on_fakes(kProgram, "devices 1", {"--n", "150", "--nb", "16"});
  checks.equal(ran.code, 0, ran.text);
  checks.equal(ran.count(R"("name":"warmup")"), 4, "two phases, begin and end: " + ran.text);
}

void emulation(Checks& checks) {
  setenv("CUBLAS_EMULATE_DOUBLE_PRECISION", "1", 1);
  const auto emulated = testing::run_on_fakes(kProgram, "devices 1", {"--n", "60", "--nb", "16"});
  checks.that(emulated.count(R"("code":"fp64-emulation")") == 1 && getenv("CUBLAS_EMULATE_DOUBLE_PRECISION") == nullptr,
              "emulated products are not heeded: " + emulated.text);
}

template <class T>
T& of_fake(const char* name) {
  void* library = dlopen(FAKE_CUBLAS, RTLD_NOW | RTLD_LOCAL);
  void* found = library == nullptr ? nullptr : dlsym(library, name);
  if (found == nullptr) throw std::runtime_error(std::string("the fake cuBLAS has no ") + name);
  return *static_cast<T*>(found);
}

/// Streams at once have a handle each, which the next stream takes over.
void handles(Checks& checks) {
  namespace gpu = shakedown::gpu;
  auto& made = of_fake<std::atomic<int>>("fake_handles");
  auto& moves = of_fake<std::atomic<int>>("fake_moves");
  auto& last = of_fake<std::atomic<void*>>("fake_stream");
  checks.equal(made.load(), 0, "handles before");
  {
    const auto devices = gpu::open({"cuda", "0", FAKE_DRIVER, FAKE_CUBLAS});
    gpu::Device& device = *devices.front();
    const gpu::Array<double> a(device, 3);
    gpu::Product product;
    product.m = product.n = product.k = product.lda = product.ldb = product.ldc = 1;
    product.a = a.data();
    product.b = a.data() + 1;
    product.c = a.data() + 2;
    const auto through = [&](const gpu::Stream& stream) {
      device.blas().gemm(product, stream);
      return last == static_cast<gpu::Handle>(stream);
    };
    const gpu::Stream first(device);
    const int before = moves;
    {
      const gpu::Stream second(device), unused(device);
      for (int turn = 0; turn < 3; ++turn)
        checks.that(through(first) && through(second), "each product in its own stream");
      checks.equal(made.load(), 2, "a handle for each stream with products");
      checks.equal(moves - before, 2, "which keeps its stream");
    }
    const gpu::Stream third(device);
    checks.that(through(third) && through(first), "a stream that comes later");
    checks.equal(made.load(), 2, "has the handle of one that is gone");
  }
  checks.equal(made.load(), 0, "handles after");
}

/// Blocks that wait for one another and do not fit the device are not begun.
void crowd(Checks& checks) {
  namespace gpu = shakedown::gpu;
  using shakedown::hpl_gpu::BaseTask;
  const auto devices = gpu::open({"cuda", "0", FAKE_DRIVER, FAKE_CUBLAS});
  gpu::Device& device = *devices.front();
  const gpu::Kernel<BaseTask> base(device, shakedown::hpl_gpu::module(hpl_gpu_image()), "hpl_base_global");
  const gpu::Stream stream(device);
  const unsigned most = base.resident_blocks({.blocks = 1, .threads = 64});
  checks.throws<gpu::Failure>([&] { base({.blocks = most + 1, .threads = 64, .waiting = true}, stream, BaseTask{}); },
                              "too many blocks");
}

}  // namespace

int main() {
  alarm(kHang_s);
  Checks checks;
  numbers(checks);
  through_cuda(checks, kProgram, 40);
  emulation(checks);
  rehearsed(checks);
  handles(checks);
  crowd(checks);
  sweeps(checks);
  file(checks);
  return checks.end();
}
