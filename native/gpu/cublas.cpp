// cuBLAS, loaded at run time. Constants and signatures are those of its headers cublas_api.h and cublasLt.h (version
// 13), which have kept them since version 11.
#include <dlfcn.h>

#include <climits>
#include <map>
#include <tuple>
#include <vector>

#include "cuda.hpp"

namespace shakedown::gpu {
namespace {

constexpr int kTransposed = 1;
// cudaDataType
constexpr int kF16 = 2, kF32 = 0, kF64 = 1, kI8 = 3, kI32 = 10, kBf16 = 14, kE4m3 = 28;
// cublasComputeType_t
constexpr int kCompute32F = 68, kCompute64F = 70, kCompute32I = 72, kComputeTf32 = 77;
constexpr std::size_t kWorkspace = std::size_t{32} << 20;  // what NVIDIA advises for Hopper

struct Types {
  int in, out, compute, scale;
};
Types types_of(Format format) {
  switch (format) {
    case Format::f64:
      return {kF64, kF64, kCompute64F, kF64};
    case Format::f32:
      return {kF32, kF32, kCompute32F, kF32};
    case Format::tf32:
      return {kF32, kF32, kComputeTf32, kF32};
    case Format::bf16:
      return {kBf16, kBf16, kCompute32F, kF32};
    case Format::f16:
      return {kF16, kF16, kCompute32F, kF32};
    case Format::i8:
      return {kI8, kI32, kCompute32I, kI32};
    case Format::f8:
      return {kE4m3, kBf16, kCompute32F, kF32};
  }
  return {};
}

/// A factor in the type that a product scales with, kept where cuBLAS reads it.
struct Scalar {
  Scalar(double value, int type) : real(value), single(static_cast<float>(value)), whole(static_cast<int>(value)) {
    at = type == kF64 ? static_cast<const void*>(&real) : type == kF32 ? static_cast<const void*>(&single) : &whole;
  }
  Scalar(const Scalar&) = delete;
  Scalar& operator=(const Scalar&) = delete;
  double real;
  float single;
  int whole;
  const void* at;
};

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr)
    throw Failure(State::no_library, std::string("this cuBLAS has no ") + name, "install cuBLAS 11 or newer");
}

void* load(const std::string& library, int speaks) {
  if (library != "auto") {
    if (void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
    const char* why = dlerror();
    throw Failure(State::no_library, std::string("cannot load cuBLAS: ") + (why == nullptr ? library : why),
                  "name the path of libcublas.so with --cublas");
  }
  // That of the driver's own generation first: a newer one asks for a newer driver.
  for (const int major : {speaks / 1000, 13, 12, 11}) {
    if (void* handle = dlopen(("libcublas.so." + std::to_string(major)).c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
  }
  if (void* handle = dlopen("libcublas.so", RTLD_NOW | RTLD_LOCAL)) return handle;
  throw Failure(
      State::no_library, "there is no cuBLAS where the loader looks",
      "load the site's CUDA module, or pip install nvidia-cublas and name it with --cublas PATH/libcublas.so.13");
}

class CudaBlas final : public Blas {
 public:
  CudaBlas(const std::string& library, const Info& info, const CudaDriver& driver) : info_(info), driver_(driver) {
    void* handle = load(library, driver.speaks);
    find(handle, "cublasCreate_v2", create_);
    find(handle, "cublasDestroy_v2", destroy_);
    find(handle, "cublasSetStream_v2", set_stream_);
    find(handle, "cublasGetProperty", property_);
    find(handle, "cublasGemmEx", gemm_);
    find(handle, "cublasDtrsm_v2", trsm_);
    find(handle, "cublasStrsm_v2", trsm_single_);
    find_lt(handle);
    int version[3] = {};
    for (int part = 0; part < 3; ++part) property_(part, &version[part]);  // works without a driver too
    title_ =
        "cublas " + std::to_string(version[0]) + '.' + std::to_string(version[1]) + '.' + std::to_string(version[2]);
    major_ = version[0];
    idle_.push_back(made());  // now: where there is no memory, or too old a driver, it is told before anything is begun
  }
  ~CudaBlas() override {
    for (const auto& [key, plan] : plans_) drop(plan);
    for (const auto& [stream, seat] : seats_) drop(seat);
    for (const Seat& seat : idle_) drop(seat);
    if (lt_ != nullptr) lt_destroy_(lt_);
  }
  CudaBlas(const CudaBlas&) = delete;
  CudaBlas& operator=(const CudaBlas&) = delete;

  [[nodiscard]] std::string title() const override { return title_; }

  [[nodiscard]] bool supports(Format format) const override {
    const double capability = std::stod(info_.architecture);
    switch (format) {
      case Format::tf32:
      case Format::bf16:
        return capability >= 8.0;
      case Format::f16:
        return capability >= 5.3;
      case Format::i8:
        return capability >= 6.1;
      case Format::f8:
        return capability >= 8.9 && has_lt_;
      default:
        return true;
    }
  }

  void gemm(const Product& product, Handle stream) override {
    for (const auto size : {product.m, product.n, product.k, product.lda, product.ldb, product.ldc}) {
      if (size < 0 || size > INT_MAX) throw usage("a matrix of " + std::to_string(size) + " does not fit cuBLAS");
    }
    product.format == Format::f8 ? gemm_lt(product, stream) : gemm_plain(product, stream);
  }

  void trsm(const Triangular& solve, Handle stream) override { trsm_of(solve, trsm_, "cublasDtrsm", stream); }
  void trsm_single(const TriangularSingle& solve, Handle stream) override {
    trsm_of(solve, trsm_single_, "cublasStrsm", stream);
  }

  void forget(Handle stream) noexcept override {
    const auto found = seats_.find(stream);
    if (found == seats_.end()) return;
    driver_.record(found->second.left, stream);
    idle_.push_back(found->second);
    seats_.erase(found);
  }

 private:
  /// What a stream has for itself. A handle has one workspace, which products in two streams at once would both write;
  /// and cublasSetStream takes a workspace of one's own away again.
  struct Seat {
    Handle blas = nullptr;
    void* workspace = nullptr;  // of cublasLt, once it is used
    Handle left = nullptr;      // the event after all that a dropped stream had begun
  };
  struct Plan {
    Handle operation = nullptr, a = nullptr, b = nullptr, c = nullptr;
    unsigned long long algorithm[8] = {};
    std::size_t workspace = 0;
  };
  /// cublasLtMatmulHeuristicResult_t
  struct Advice {
    unsigned long long algorithm[8];
    std::size_t workspace;
    int state;
    float waves;
    int reserved[4];
  };
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

  Seat made() {
    Seat seat;
    const int code = create_(&seat.blas);
    if (code == 1 && major_ * 1000 > driver_.speaks) {
      throw Failure(State::driver_too_old,
                    title_ + " asks for a driver of CUDA " + std::to_string(major_) + ", and this one speaks " +
                        cuda_version_word(driver_.speaks),
                    "update the driver, or use an older cuBLAS (--cublas PATH)");
    }
    if (code == 3)
      throw Failure(State::out_of_memory, title_ + " finds no memory to start", "see who holds it (nvidia-smi)");
    check(code, "cublasCreate");
    constexpr unsigned kNoTiming = 2;
    if (driver_.make_event(&seat.left, kNoTiming) != 0) {
      destroy_(seat.blas);
      throw Failure(State::failed, info_.name + ": cuEventCreate", "look for NVRM: Xid in dmesg");
    }
    return seat;
  }

  /// The stream's own: that of one that was dropped, whose work goes first, or a new one.
  Seat& at(Handle stream) {
    if (const auto found = seats_.find(stream); found != seats_.end()) return found->second;
    if (idle_.empty()) idle_.push_back(made());
    const Seat seat = idle_.back();
    check(set_stream_(seat.blas, stream), "cublasSetStream");
    driver_.await(stream, seat.left, 0);
    idle_.pop_back();
    return seats_.emplace(stream, seat).first->second;
  }

  void drop(const Seat& seat) const {
    if (seat.workspace != nullptr) driver_.release(seat.workspace);
    driver_.drop_event(seat.left);
    destroy_(seat.blas);
  }

  template <class T, class Function>
  void trsm_of(const TriangularOf<T>& solve, Function* function, const char* call, Handle stream) {
    const T alpha = static_cast<T>(solve.alpha);
    check(function(at(stream).blas, solve.side == 'R', solve.uplo == 'U', solve.trans == 'T', solve.diag == 'U',
                   static_cast<int>(solve.m), static_cast<int>(solve.n), &alpha, solve.a, static_cast<int>(solve.lda),
                   solve.b, static_cast<int>(solve.ldb)),
          call);
  }

  void find_lt(void* handle) {
    const auto look = [&](const char* symbol, auto& function) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, symbol));
      has_lt_ = has_lt_ && function != nullptr;
    };
    look("cublasLtCreate", lt_create_);
    look("cublasLtDestroy", lt_destroy_);
    look("cublasLtMatmulDescCreate", make_operation_);
    look("cublasLtMatmulDescDestroy", drop_operation_);
    look("cublasLtMatmulDescSetAttribute", set_operation_);
    look("cublasLtMatrixLayoutCreate", make_layout_);
    look("cublasLtMatrixLayoutDestroy", drop_layout_);
    look("cublasLtMatmulPreferenceCreate", make_preference_);
    look("cublasLtMatmulPreferenceDestroy", drop_preference_);
    look("cublasLtMatmulPreferenceSetAttribute", set_preference_);
    look("cublasLtMatmulAlgoGetHeuristic", advise_);
    look("cublasLtMatmul", matmul_);
  }

  void gemm_plain(const Product& p, Handle stream) {
    Types types = types_of(p.format);
    if (p.single_c) types.out = kF32;
    const Scalar alpha(p.alpha, types.scale), beta(p.beta, types.scale);
    constexpr int kDefaultAlgorithm = -1;
    check(gemm_(at(stream).blas, p.trans_a == 'T', p.trans_b == 'T', static_cast<int>(p.m), static_cast<int>(p.n),
                static_cast<int>(p.k), alpha.at, p.a, types.in, static_cast<int>(p.lda), p.b, types.in,
                static_cast<int>(p.ldb), beta.at, p.c, types.out, static_cast<int>(p.ldc), types.compute,
                kDefaultAlgorithm),
          "cublasGemmEx");
  }

  void gemm_lt(const Product& p, Handle stream) {
    if (!supports(Format::f8))
      throw Failure(State::failed, info_.name + " or its cuBLAS has no 8-bit floating point", "leave f8 out");
    const Types types = types_of(p.format);
    const Plan& plan = planned(p, types);
    const Scalar alpha(p.alpha, types.scale), beta(p.beta, types.scale);
    Seat& seat = at(stream);
    if (seat.workspace == nullptr && driver_.allocate(&seat.workspace, kWorkspace) != 0)
      throw Failure(State::out_of_memory, "no 32 MiB for cuBLAS to work in", "ask for smaller matrices");
    check(matmul_(lt_, plan.operation, alpha.at, p.a, plan.a, p.b, plan.b, beta.at, p.c, plan.c, p.c, plan.c,
                  plan.algorithm, seat.workspace, plan.workspace, stream),
          "cublasLtMatmul");
  }

  const Plan& planned(const Product& p, const Types& types) {
    const Key key{p.m, p.n, p.k, p.lda, p.ldb, p.ldc};
    if (const auto found = plans_.find(key); found != plans_.end()) return found->second;
    if (lt_ == nullptr) check(lt_create_(&lt_), "cublasLtCreate");
    Plan plan;
    constexpr int kTransA = 3, kTransB = 4;  // cublasLtMatmulDescAttributes_t
    const int trans_a = p.trans_a == 'T' ? kTransposed : 0, trans_b = p.trans_b == 'T' ? kTransposed : 0;
    check(make_operation_(&plan.operation, types.compute, types.scale), "cublasLtMatmulDescCreate");
    check(set_operation_(plan.operation, kTransA, &trans_a, sizeof trans_a), "cublasLtMatmulDescSetAttribute");
    check(set_operation_(plan.operation, kTransB, &trans_b, sizeof trans_b), "cublasLtMatmulDescSetAttribute");
    const auto layout = [&](Handle* made, int type, bool turned, std::int64_t rows, std::int64_t columns,
                            std::int64_t ld) {
      const auto high = static_cast<std::uint64_t>(turned ? columns : rows);
      const auto wide = static_cast<std::uint64_t>(turned ? rows : columns);
      check(make_layout_(made, type, high, wide, ld), "cublasLtMatrixLayoutCreate");
    };
    layout(&plan.a, types.in, trans_a != 0, p.m, p.k, p.lda);
    layout(&plan.b, types.in, trans_b != 0, p.k, p.n, p.ldb);
    layout(&plan.c, types.out, false, p.m, p.n, p.ldc);
    choose(plan);
    return plans_.emplace(key, plan).first->second;
  }

  void choose(Plan& plan) {
    constexpr int kMostWorkspace = 1;  // cublasLtMatmulPreferenceAttributes_t
    Handle preference = nullptr;
    const std::size_t most = kWorkspace;
    Advice advice{};
    int found = 0;
    check(make_preference_(&preference), "cublasLtMatmulPreferenceCreate");
    int code = set_preference_(preference, kMostWorkspace, &most, sizeof most);
    if (code == 0) code = advise_(lt_, plan.operation, plan.a, plan.b, plan.c, plan.c, preference, 1, &advice, &found);
    drop_preference_(preference);
    check(code, "cublasLtMatmulAlgoGetHeuristic");
    if (found == 0)
      throw Failure(State::failed, title_ + " has no algorithm for this product", "another size or format");
    std::copy(std::begin(advice.algorithm), std::end(advice.algorithm), plan.algorithm);
    plan.workspace = advice.workspace;
  }

  void drop(const Plan& plan) const {
    drop_operation_(plan.operation);
    for (Handle layout : {plan.a, plan.b, plan.c}) drop_layout_(layout);
  }

  void check(int code, const char* call) const {
    if (code == 0) return;
    static const std::map<int, const char*> kWords = {
        {1, "not initialized"},       {3, "allocation failed"}, {7, "invalid value"},
        {8, "architecture mismatch"}, {11, "mapping error"},    {13, "execution failed"},
        {14, "internal error"},       {15, "not supported"},    {16, "license error"}};
    const auto found = kWords.find(code);
    throw Failure(code == 3 ? State::out_of_memory : State::failed,
                  info_.name + ": " + title_ + ": " + call + ": " + (found == kWords.end() ? "error" : found->second) +
                      " (" + std::to_string(code) + ")",
                  "look for NVRM: Xid in dmesg; another cuBLAS can be named with --cublas");
  }

  const Info& info_;
  const CudaDriver& driver_;
  std::string title_ = "cublas";
  bool has_lt_ = true;
  int major_ = 0;  // of its version
  Handle lt_ = nullptr;
  std::map<Handle, Seat> seats_;  // by stream
  std::vector<Seat> idle_;
  std::map<Key, Plan> plans_;
  using Attribute = int(Handle, int, const void*, std::size_t);
  int (*create_)(Handle*) = nullptr;
  int (*destroy_)(Handle) = nullptr;
  int (*set_stream_)(Handle, Handle) = nullptr;
  int (*property_)(int, int*) = nullptr;
  int (*gemm_)(Handle, int, int, int, int, int, const void*, const void*, int, int, const void*, int, int, const void*,
               void*, int, int, int, int) = nullptr;
  int (*trsm_)(Handle, int, int, int, int, int, int, const double*, const double*, int, double*, int) = nullptr;
  int (*trsm_single_)(Handle, int, int, int, int, int, int, const float*, const float*, int, float*, int) = nullptr;
  int (*lt_create_)(Handle*) = nullptr;
  int (*lt_destroy_)(Handle) = nullptr;
  int (*make_operation_)(Handle*, int, int) = nullptr;
  int (*drop_operation_)(Handle) = nullptr;
  Attribute* set_operation_ = nullptr;
  int (*make_layout_)(Handle*, int, std::uint64_t, std::uint64_t, std::int64_t) = nullptr;
  int (*drop_layout_)(Handle) = nullptr;
  int (*make_preference_)(Handle*) = nullptr;
  int (*drop_preference_)(Handle) = nullptr;
  Attribute* set_preference_ = nullptr;
  int (*advise_)(Handle, Handle, Handle, Handle, Handle, Handle, Handle, int, Advice*, int*) = nullptr;
  int (*matmul_)(Handle, Handle, const void*, const void*, Handle, const void*, Handle, const void*, const void*,
                 Handle, void*, Handle, const void*, void*, std::size_t, Handle) = nullptr;
};

}  // namespace

std::unique_ptr<Blas> cuda_blas(const std::string& library, const Info& info, const CudaDriver& driver) {
  return std::make_unique<CudaBlas>(library, info, driver);
}

}  // namespace shakedown::gpu
