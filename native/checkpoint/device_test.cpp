// Memory of GPUs: what lies on devices comes back bit for bit, between it nothing is touched, a driver that fails takes
// no checkpoint away. The stand-ins' memory cannot be reached but through their drivers.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <span>

#include "include/shakedown/checkpoint.hpp"
#include "testing/check.hpp"

namespace shakedown::ckpt {
namespace {

/// A stand-in, loaded as a program loads its driver: before it protects what lies there.
struct Driver {
  void* (*allocate)(std::uint64_t bytes, int device, std::uint8_t** real) = nullptr;
  void (*copies)(long left) = nullptr;
  long (*held)() = nullptr;
  int (*current)() = nullptr;

  explicit Driver(const char* path) {
    void* library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(::dlerror());
    allocate = reinterpret_cast<decltype(allocate)>(::dlsym(library, "fake_device_memory"));
    copies = reinterpret_cast<decltype(copies)>(::dlsym(library, "fake_device_copies"));
    held = reinterpret_cast<decltype(held)>(::dlsym(library, "fake_device_held"));
    current = reinterpret_cast<decltype(current)>(::dlsym(library, "fake_device_current"));
  }
};

/// An array on a device, and how it looks from outside.
struct OnDevice {
  double* seen = nullptr;
  std::span<double> real;

  OnDevice(const Driver& driver, std::uint64_t elements, int device) {
    std::uint8_t* bytes = nullptr;
    seen = static_cast<double*>(driver.allocate(elements * sizeof(double), device, &bytes));
    real = {reinterpret_cast<double*>(bytes), elements};
  }
  [[nodiscard]] std::span<double> all() const { return {seen, real.size()}; }
};

/// Arrays that cross the bus in several pieces: dense, with short rows and small holes, with rows far apart.
struct State {
  static constexpr std::uint64_t kDense = 1'500'001;  // 12 MB
  static constexpr std::uint64_t kRows = 700, kRow = 900;
  static constexpr std::uint64_t kFew = 40, kLong = 40'000;
  OnDevice dense, ghosts, sparse;
  double time = 0;

  explicit State(const Driver& driver)
      : dense(driver, kDense, 0), ghosts(driver, (kRows + 2) * (kRow + 4), 1), sparse(driver, kFew * kLong, 0) {}

  void protect(Session& session) {
    session.protect("time", time);
    session.protect("dense", dense.all());
    session.protect("ghosts", ghosts.all(), Box{{kRows, kRow}, {kRows, kRow}, {0, 0}},
                    Inside{{kRows + 2, kRow + 4}, {1, 2}});
    session.protect("sparse", sparse.all(), Box{{kFew, 10}, {kFew, 10}, {0, 0}}, Inside{{kFew, kLong}, {0, 5}});
  }
  void for_each(const std::function<void(double& value, double number, bool saved)>& visit) const {
    for (std::uint64_t i = 0; i < kDense; ++i) visit(dense.real[i], static_cast<double>(i), true);
    for (std::uint64_t i = 0; i < ghosts.real.size(); ++i) {
      const std::uint64_t row = i / (kRow + 4);
      const std::uint64_t column = i % (kRow + 4);
      visit(ghosts.real[i], 0.5 + static_cast<double>(i), row >= 1 && row <= kRows && column >= 2 && column < kRow + 2);
    }
    for (std::uint64_t i = 0; i < sparse.real.size(); ++i)
      visit(sparse.real[i], 0.25 + static_cast<double>(i), i % kLong >= 5 && i % kLong < 15);
  }
  void set() {
    time = 3.5;
    for_each([](double& value, double number, bool) { value = number; });
  }
  void spoil() {
    time = 0;
    for_each([](double& value, double, bool) { value = -1; });
  }
  [[nodiscard]] bool back() const {
    bool right = time == 3.5;
    for_each([&](double value, double number, bool saved) { right &= value == (saved ? number : -1); });
    return right;
  }
};

void test_a_driver(Checks& checks, const char* path, const std::string& folder) {
  const Driver driver(path);
  const int before = driver.current();
  State state(driver);
  Options options;
  options.local = folder.c_str();
  options.synchronous = 1;
  state.set();
  {
    Session session(options);
    state.protect(session);
    const Status saved = session.checkpoint(SHAKEDOWN_CKPT_LOCAL);
    checks.that(static_cast<bool>(saved), "saved from devices: " + session.last_error());
    state.spoil();
    driver.copies(2);
    const Status refused = session.checkpoint(SHAKEDOWN_CKPT_LOCAL);
    checks.equal(refused.code, static_cast<int>(SHAKEDOWN_CKPT_DEVICE), "a device that fails is an error");
    checks.that(refused.text.find("'dense'") != std::string::npos && refused.text.find("719") != std::string::npos &&
                    refused.text.find("an older one holds") != std::string::npos,
                "which says where, why and what holds: " + refused.text);
    driver.copies(-1);
  }
  Session session(options);
  state.protect(session);
  driver.copies(1);
  const Status half = session.restore();
  checks.that(half.code == SHAKEDOWN_CKPT_DEVICE && half.text.find("in part only") != std::string::npos,
              "a restore that fails says so: " + half.text);
  driver.copies(-1);
  state.spoil();
  checks.that(static_cast<bool>(session.restore()), "restored: " + session.last_error());
  checks.that(state.back(), "the boxes come back on their devices, what lies around them is left alone");
  checks.equal(driver.held(), 0L, "streams and page-locked memory are given back");
  checks.equal(driver.current(), before, "what was current is current");
  const std::string name = shakedown_ckpt_error_name(SHAKEDOWN_CKPT_DEVICE);
  checks.that(name == "device", "the error has a name: " + name);
}

}  // namespace
}  // namespace shakedown::ckpt

int main() {
  shakedown::Checks checks;
  char folder[] = "/tmp/checkpoint-device-XXXXXX";
  if (::mkdtemp(folder) == nullptr) return 1;
  shakedown::ckpt::test_a_driver(checks, FAKE_CUDA_DRIVER, std::string(folder) + "/cuda");
  shakedown::ckpt::test_a_driver(checks, FAKE_HIP_RUNTIME, std::string(folder) + "/hip");
  std::filesystem::remove_all(folder);
  return checks.end();
}
