// cuFFT, loaded at run time. Constants and signatures are those of its header cufft.h, the same from version 10 (CUDA
// 11) to 12 (CUDA 13).
#include <dlfcn.h>

#include <map>

#include "cuda.hpp"
#include "transforms.hpp"

namespace shakedown::gpu {
namespace {

// cufftType, directions, cufftResult
constexpr int kSingle = 0x29, kDouble = 0x69, kForward = -1, kBackward = 1;
constexpr int kNoMemory = 2, kInternal = 5, kSetup = 7;

/// The calls; they stay loaded to the end of the program.
struct Cufft {
  int (*property)(int, int*) = nullptr;
  int (*create)(int*) = nullptr;
  int (*destroy)(int) = nullptr;
  int (*own_memory)(int, int) = nullptr;
  int (*make)(int, int, long long*, long long*, long long, long long, long long*, long long, long long, int, long long,
              std::size_t*) = nullptr;
  int (*work)(int, void*) = nullptr;
  int (*stream)(int, Handle) = nullptr;
  int (*single)(int, void*, void*, int) = nullptr;
  int (*twice)(int, void*, void*, int) = nullptr;
};

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr)
    throw Failure(State::no_library, std::string("this cuFFT has no ") + name, "install cuFFT 10 (CUDA 11) or newer");
}

void* load(const std::string& library, int speaks) {
  if (library != "auto") {
    if (void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
    const char* why = dlerror();
    throw Failure(State::no_library, std::string("cannot load cuFFT: ") + (why == nullptr ? library : why),
                  "name the path of libcufft.so with --cufft");
  }
  // That of the driver's own generation first: its number is one behind CUDA's.
  for (const int major : {speaks / 1000 - 1, 12, 11, 10}) {
    if (void* handle = dlopen(("libcufft.so." + std::to_string(major)).c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
  }
  if (void* handle = dlopen("libcufft.so", RTLD_NOW | RTLD_LOCAL)) return handle;
  throw Failure(State::no_library, "there is no cuFFT where the loader looks",
                "load the site's CUDA module, or pip install nvidia-cufft and name it with --cufft "
                "PATH/libcufft.so.12");
}

const char* words_of(int code) {
  static const std::map<int, const char*> kWords = {
      {1, "invalid plan"},   {2, "allocation failed"},   {3, "invalid type"},      {4, "invalid value"},
      {5, "internal error"}, {6, "execution failed"},    {7, "setup failed"},      {8, "invalid size"},
      {9, "unaligned data"}, {11, "invalid device"},     {13, "no workspace"},     {14, "not implemented"},
      {16, "not supported"}, {17, "missing dependency"}, {18, "failure of NVRTC"}, {19, "failure of nvJitLink"}};
  const auto found = kWords.find(code);
  return found == kWords.end() ? "error" : found->second;
}

/// What every plan of one device shares.
struct Library {
  Cufft calls;
  std::string title;
  int major = 0;
  const Info& info;
  const CudaDriver& driver;
  Handle context;

  void enter() const { driver.current(context); }

  /// What a refusal means. cuFFT has no word for a device that is gone; the driver has.
  void check(int code, const char* call, const std::string& what) const {
    if (code == 0) return;
    const std::string said =
        info.name + ": " + title + ": " + call + what + ": " + words_of(code) + " (" + std::to_string(code) + ")";
    std::size_t free = 0, total = 0;
    const int driver_says = driver.memory(&free, &total);
    for (const int gone : {46, 100, 101, 999}) {
      if (driver_says != gone) continue;
      throw Failure(State::lost, said + "; " + driver.words(driver_says) + ": it was there and is gone",
                    "dmesg shows the Xid (79: fallen off the bus); drain the node, power it off and on");
    }
    if (driver_says == 214 || driver_says == 220)
      throw Failure(State::corrupted, said + "; " + driver.words(driver_says),
                    "drain the node; reset the GPU; see `nvidia-smi -q -d ECC` and dmesg for its Xid");
    if (code == kNoMemory)
      throw Failure(State::out_of_memory, said, "ask for less; `nvidia-smi` shows which processes hold memory");
    const int asks_for = major + 1;
    if ((code == kInternal || code == kSetup) && asks_for * 1000 > driver.speaks) {
      throw Failure(State::driver_too_old,
                    said + ": it asks for a driver of CUDA " + std::to_string(asks_for) + ", and this one speaks " +
                        cuda_version_word(driver.speaks),
                    "update the driver, or use an older cuFFT (--cufft PATH)");
    }
    throw Failure(State::failed, said,
                  "leave this size out; look for NVRM: Xid in dmesg; another cuFFT can be named with --cufft");
  }
};

std::string words_of(const TransformShape& shape) {
  std::string text = " of ";
  if (shape.batch > 1) text += std::to_string(shape.batch) + " x ";
  const char* between = "";
  for (const int length : shape.lengths) {
    text.append(between).append(std::to_string(length));
    between = "x";
  }
  return text + (shape.in_double ? " double" : " single");
}

class CudaTransform final : public Transform {
 public:
  CudaTransform(const Library& library, const TransformShape& shape)
      : library_(library), words_(words_of(shape)), in_double_(shape.in_double) {
    const Cufft& calls = library_.calls;
    library_.enter();
    check(calls.create(&plan_), "cufftCreate");
    made_ = true;
    try {
      check(calls.own_memory(plan_, 0), "cufftSetAutoAllocation");
      std::vector<long long> lengths(shape.lengths.begin(), shape.lengths.end());
      const auto apart = static_cast<long long>(shape.points());
      check(calls.make(plan_, static_cast<int>(lengths.size()), lengths.data(), nullptr, 1, apart, nullptr, 1, apart,
                       in_double_ ? kDouble : kSingle, static_cast<long long>(shape.batch), &work_bytes_),
            "cufftMakePlanMany64");
    } catch (...) {
      drop();
      throw;
    }
  }
  ~CudaTransform() override { drop(); }
  CudaTransform(const CudaTransform&) = delete;
  CudaTransform& operator=(const CudaTransform&) = delete;

  [[nodiscard]] std::size_t work_bytes() const override { return work_bytes_; }
  void lend(void* work) override {
    library_.enter();
    check(library_.calls.work(plan_, work), "cufftSetWorkArea");
  }
  void run(const void* in, void* out, Way way, Handle stream) override {
    library_.enter();
    if (stream != stream_) {
      check(library_.calls.stream(plan_, stream), "cufftSetStream");
      stream_ = stream;
    }
    const int direction = way == Way::forward ? kForward : kBackward;
    const auto execute = in_double_ ? library_.calls.twice : library_.calls.single;
    // An out-of-place transform of complex data keeps its input (cuFFT, section "Data layout").
    check(execute(plan_, const_cast<void*>(in), out, direction), in_double_ ? "cufftExecZ2Z" : "cufftExecC2C");
  }

 private:
  void check(int code, const char* call) const { library_.check(code, call, words_); }
  void drop() noexcept {
    library_.enter();
    if (made_) library_.calls.destroy(plan_);
    made_ = false;
  }

  const Library& library_;
  std::string words_;
  bool in_double_, made_ = false;
  int plan_ = -1;
  std::size_t work_bytes_ = 0;
  Handle stream_ = nullptr;
};

class CudaTransforms final : public Transforms {
 public:
  CudaTransforms(const std::string& library, const Info& info, const CudaDriver& driver, Handle context)
      : library_{{}, "cufft", 0, info, driver, context} {
    void* handle = load(library, driver.speaks);
    Cufft& calls = library_.calls;
    find(handle, "cufftGetProperty", calls.property);
    find(handle, "cufftCreate", calls.create);
    find(handle, "cufftDestroy", calls.destroy);
    find(handle, "cufftSetAutoAllocation", calls.own_memory);
    find(handle, "cufftMakePlanMany64", calls.make);
    find(handle, "cufftSetWorkArea", calls.work);
    find(handle, "cufftSetStream", calls.stream);
    find(handle, "cufftExecC2C", calls.single);
    find(handle, "cufftExecZ2Z", calls.twice);
    int version[3] = {};
    for (int part = 0; part < 3; ++part) calls.property(part, &version[part]);  // works without a driver too
    library_.major = version[0];
    library_.title =
        "cufft " + std::to_string(version[0]) + '.' + std::to_string(version[1]) + '.' + std::to_string(version[2]);
  }
  [[nodiscard]] std::string title() const override { return library_.title; }
  std::unique_ptr<Transform> plan(const TransformShape& shape) override {
    return std::make_unique<CudaTransform>(library_, shape);
  }

 private:
  Library library_;
};

}  // namespace

std::unique_ptr<Transforms> cuda_transforms(const std::string& library, const Info& info, const CudaDriver& driver,
                                            Handle context) {
  return std::make_unique<CudaTransforms>(library, info, driver, context);
}

}  // namespace shakedown::gpu
