// A libcufft.so for tests: what the backend calls of cuFFT. Each transform is a kernel that the fake driver launches,
// so that a device that is lost there is lost here. FAKE_CUFFT is a word: "refused" has no plan for lengths with a
// factor of 5, "full" has no memory for a plan, "old" asks for a newer driver, "wrong" damages a point, "nothing"
// writes none, "backwards" takes the sign the other way, "scaled" divides on the way back, "greedy" works in 1 GiB,
// "lazy" does only the first transform of a batch.
#include <complex>
#include <cstdlib>
#include <vector>

#include "fault.hpp"
#include "gpu/gpu.hpp"
#include "gpu/transforms.hpp"

#pragma GCC diagnostic ignored "-Wmissing-declarations"
extern "C" {
int cuLaunchKernel(shakedown::gpu::Handle function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   unsigned, shakedown::gpu::Handle stream, void** arguments, void** extra);
}

namespace {

namespace gpu = shakedown::gpu;
using gpu::Handle;
using gpu::TransformShape;

bool fault(const char* name) { return shakedown::testing::fault_is("FAKE_CUFFT", name); }

void transform(const gpu::Grid&, const TransformShape* shape, int direction, const void* in, void* out) {
  const auto plan = gpu::host_transforms()->plan(*shape);
  plan->run(in, out, direction < 0 ? gpu::Way::forward : gpu::Way::backward, nullptr);
}
const gpu::HostKernel kTransform = gpu::host_kernel<transform>("transform");

struct Plan {
  TransformShape shape;
  void* work = nullptr;
};
std::vector<Plan>& plans() {
  static std::vector<Plan> all;
  return all;
}
std::size_t work_of(const TransformShape& shape) {
  return fault("greedy") && shape.points() > 16 ? std::size_t{1} << 30 : 64;
}

template <class T>
void damage(const TransformShape& shape, int direction, std::complex<T>* out) {
  const auto count = static_cast<std::size_t>(shape.points() * shape.batch);
  if (fault("wrong")) out[count - 1] += std::complex<T>(0, static_cast<T>(0.01));
  if (fault("scaled") && direction > 0) {
    for (std::size_t i = 0; i < count; ++i) out[i] /= static_cast<T>(shape.points());
  }
}

int execute(int plan, void* in, void* out, int direction) {
  const Plan& one = plans()[static_cast<std::size_t>(plan)];
  if (one.work == nullptr) return 13;
  if (fault("nothing")) return 0;
  TransformShape shape = one.shape;
  if (fault("lazy")) shape.batch = 1;
  const TransformShape* address = &shape;
  int sign = fault("backwards") ? -direction : direction;
  void* arguments[] = {static_cast<void*>(&address), &sign, static_cast<void*>(&in), static_cast<void*>(&out)};
  // A function of the fake driver is a kernel of the host.
  if (cuLaunchKernel(const_cast<gpu::HostKernel*>(&kTransform), 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr) != 0)
    return 6;
  shape.in_double ? damage(shape, direction, static_cast<std::complex<double>*>(out))
                  : damage(shape, direction, static_cast<std::complex<float>*>(out));
  return 0;
}

}  // namespace

extern "C" {

int cufftGetProperty(int part, int* value) { return *value = part == 0 ? 12 : part == 1 ? 0 : 3, 0; }
int cufftCreate(int* plan) {
  if (fault("old")) return 5;
  plans().emplace_back();
  return *plan = static_cast<int>(plans().size()) - 1, 0;
}
int cufftDestroy(int) { return 0; }
int cufftSetAutoAllocation(int, int own) { return own == 0 ? 0 : 4; }
int cufftMakePlanMany64(int plan, int rank, long long* lengths, long long* in_embed, long long in_step,
                        long long in_apart, long long* out_embed, long long out_step, long long out_apart, int type,
                        long long batch, std::size_t* work) {
  TransformShape& shape = plans()[static_cast<std::size_t>(plan)].shape;
  shape = {{lengths, lengths + rank}, batch, type == 0x69};
  const bool plain = in_embed == nullptr && out_embed == nullptr && in_step == 1 && out_step == 1;
  if (!plain || in_apart != shape.points() || out_apart != shape.points() || (type != 0x69 && type != 0x29)) return 4;
  if (fault("full") && shape.points() > 16) return 2;
  if (fault("refused") && shape.points() % 5 == 0) return 8;
  return *work = work_of(shape), 0;
}
int cufftSetWorkArea(int plan, void* work) { return plans()[static_cast<std::size_t>(plan)].work = work, 0; }
int cufftSetStream(int, Handle stream) { return stream == nullptr ? 4 : 0; }
int cufftExecC2C(int plan, void* in, void* out, int direction) { return execute(plan, in, out, direction); }
int cufftExecZ2Z(int plan, void* in, void* out, int direction) { return execute(plan, in, out, direction); }

}  // extern "C"
