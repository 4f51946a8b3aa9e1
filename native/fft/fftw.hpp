// FFTW's interface in a library that is loaded at run time: FFTW 3 itself, AOCL's build of it, MKL, Arm's and NVIDIA's
// performance libraries. Nothing is linked; the declarations are those of FFTW's manual, "FFTW Reference".
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "common/blas.hpp"
#include "common/error.hpp"
#include "common/json.hpp"

namespace shakedown::fft {

enum class Sign : int { forward = -1, backward = 1 };

/// The planner's flags (fftw3.h).
enum class Effort : unsigned { measure = 0, patient = 1U << 5, estimate = 1U << 6 };

/// The calls of one precision.
template <class T>
struct Api {
  using Complex = std::complex<T>;  // the layout of fftw_complex: section "Complex numbers" of the manual
  using Plan = void*;
  Plan (*plan_many_dft)(int, const int*, int, Complex*, const int*, int, int, Complex*, const int*, int, int, int,
                        unsigned) = nullptr;
  void (*execute_dft)(Plan, Complex*, Complex*) = nullptr;
  void (*destroy_plan)(Plan) = nullptr;
  int (*init_threads)() = nullptr;            // null: no threads
  void (*plan_with_nthreads)(int) = nullptr;  // null: no threads
  void (*set_timelimit)(double) = nullptr;
  int (*import_wisdom)(const char*) = nullptr;
  int (*export_wisdom)(const char*) = nullptr;
};

/// One loaded library; it stays loaded to the end of the program.
struct Fftw {
  std::string path, name, version, description;
  std::string threading = "serial";  // serial, openmp, pthread
  Api<double> in_double;
  Api<float> in_single;

  template <class T>
  [[nodiscard]] const Api<T>& api() const {
    if constexpr (sizeof(T) == 8)
      return in_double;
    else
      return in_single;  // NOLINT(readability-else-after-return): the other branch of a constexpr
  }
  [[nodiscard]] std::string title() const { return version.empty() ? name : name + ' ' + version; }
  [[nodiscard]] Object facts() const {
    Object out;
    out.add("library", title()).add("library_path", path).add("library_name", name).add("library_version", version);
    return out.add("library_threading", threading).add("library_description", description);
  }
};

namespace fftw_detail {

/// Turns of the loop; of x86's a turn is a pause of 10 to 40 ns, elsewhere a nanosecond.
#if defined(__x86_64__)
inline constexpr const char* kSpins = "20000";
#else
inline constexpr const char* kSpins = "200000";
#endif

inline const char* next_step() {
  return "install it: Debian and Ubuntu libfftw3-double3 and libfftw3-single3, Red Hat and SUSE fftw-libs or "
         "libfftw3-3; "
         "or load its module, or name a library: --library /path/of/libfftw3.so.3 or libmkl_rt.so.2";
}

/// Names that the loader is asked for, by what the user calls the library.
inline std::vector<std::string> sonames(const std::string& word) {
  std::vector<std::string> fftw = {"libfftw3.so.3", "libfftw3.so"};
  std::vector<std::string> mkl = {"libmkl_rt.so.3", "libmkl_rt.so.2", "libmkl_rt.so.1", "libmkl_rt.so"};
  std::vector<std::string> armpl = {"libarmpl_lp64_mp.so", "libarmpl_mp.so", "libarmpl_lp64.so", "libarmpl.so"};
  std::vector<std::string> nvpl = {"libnvpl_fftw.so.0", "libnvpl_fftw.so"};
  if (word == "fftw") return fftw;
  if (word == "mkl") return mkl;
  if (word == "armpl") return armpl;
  if (word == "nvpl") return nvpl;
  if (word != "auto") return {word};
  std::vector<std::string> all = fftw;
  for (const auto* more : {&mkl, &armpl, &nvpl}) all.insert(all.end(), more->begin(), more->end());
  return all;
}

inline void* open_first(const std::vector<std::string>& names, std::string& errors) {
  for (const auto& name : names) {
    if (void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL)) return handle;
    const char* why = dlerror();
    errors = why == nullptr ? "unknown" : why;
  }
  return nullptr;
}

/// The file beside `path` whose name has `word` for the first "fftw3" in it: libfftw3f.so.3, libfftw3_omp.so.3. Debian
/// numbers them alike; where the full version differs, the name that the link of the main version has is tried.
inline std::string beside(const std::string& path, const std::string& word) {
  const std::filesystem::path at(path);
  std::string file = at.filename().string();
  const auto found = file.find("fftw3");
  if (found == std::string::npos) return "";
  file.replace(found, 5, word);
  return at.has_parent_path() ? (at.parent_path() / file).string() : file;
}

template <class T>
void find_calls(Api<T>& api, void* handle) {
  const std::string prefix = sizeof(T) == 8 ? "fftw_" : "fftwf_";
  const auto get = [&](auto*& function, const char* name) {
    using Function = std::remove_reference_t<decltype(function)>;
    if (function == nullptr) function = reinterpret_cast<Function>(dlsym(handle, (prefix + name).c_str()));
  };
  get(api.plan_many_dft, "plan_many_dft");
  get(api.execute_dft, "execute_dft");
  get(api.destroy_plan, "destroy_plan");
  get(api.init_threads, "init_threads");
  get(api.plan_with_nthreads, "plan_with_nthreads");
  get(api.set_timelimit, "set_timelimit");
  get(api.import_wisdom, "import_wisdom_from_filename");
  get(api.export_wisdom, "export_wisdom_to_filename");
}

/// The calls of threads lie in a file of their own, but in MKL and its like. OpenMP's threads stay from call to call
/// and can be bound, so that file goes first.
template <class T>
std::string find_threads(Api<T>& api, const std::string& path) {
  const std::string base = sizeof(T) == 8 ? "fftw3" : "fftw3f";
  if (api.plan_with_nthreads != nullptr) return "unknown";
  for (const char* kind : {"openmp", "pthread"}) {
    const std::string file = beside(path, base + (std::string(kind) == "openmp" ? "_omp" : "_threads"));
    void* handle = file.empty() ? nullptr : dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (handle == nullptr) continue;
    find_calls(api, handle);
    if (api.plan_with_nthreads != nullptr && api.init_threads != nullptr) return kind;
  }
  return "serial";
}

inline void describe(Fftw& library, void* handle) {
  Blas vendor;  // MKL's FFTW interface lies in the library of its BLAS, and takes its threads the same way
  vendor.handle = handle;
  vendor.path = library.path;
  if (blas_detail::describe_mkl(vendor)) {
    library.name = "mkl";
    library.description = vendor.description;
    library.version = blas_detail::version_in(vendor.description);
    library.threading = vendor.threading;
    return;
  }
  const auto* words = static_cast<const char*>(dlsym(handle, "fftw_version"));  // "fftw-3.3.10-sse2-avx"
  if (words != nullptr) {
    library.name = "fftw";
    library.description = words;
    library.version = blas_detail::version_in(library.description);
    return;
  }
  const std::string file = std::filesystem::path(library.path).filename().string();
  library.name = file.find("armpl") != std::string::npos  ? "armpl"
                 : file.find("nvpl") != std::string::npos ? "nvpl"
                                                          : file.substr(0, file.find(".so"));
}

}  // namespace fftw_detail

/// Load the library: a path, a name (fftw, mkl, armpl, nvpl), or auto, the first of these that is there. Single
/// precision is loaded where `single` asks for it. Throws "could not measure" with what to install.
inline Fftw load_fftw(const std::string& word, int threads, bool in_double, bool in_single) {
  using namespace fftw_detail;
  for (const char* variable : {"OMP_NUM_THREADS", "MKL_NUM_THREADS"})
    setenv(variable, std::to_string(threads).c_str(), 1);
  setenv("MKL_DYNAMIC", "FALSE", 1);
  // Where other programs want the CPUs too, a thread of GCC's OpenMP that waits uses up its time in a loop, and the one
  // that it waits for is kept waiting: calls of a microsecond then last a millisecond. So it sleeps after some tenths
  // of a millisecond, not several; the user's own word counts.
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) setenv("GOMP_SPINCOUNT", kSpins, 0);
  Fftw library;
  std::string errors;
  void* handle = open_first(sonames(word), errors);
  if (handle == nullptr) {
    const std::string what = word == "auto"
                                 ? "no library with FFTW's interface was found (libfftw3.so.3, libmkl_rt.so.2, "
                                   "libarmpl_lp64_mp.so, libnvpl_fftw.so.0)"
                                 : "cannot load the FFT library '" + word + "': " + errors;
    throw cannot(what, next_step());
  }
  find_calls(library.in_double, handle);
  find_calls(library.in_single, handle);
  auto* known = library.in_double.plan_many_dft != nullptr ? reinterpret_cast<void*>(library.in_double.plan_many_dft)
                                                           : reinterpret_cast<void*>(library.in_single.plan_many_dft);
  Dl_info at{};
  library.path = word;
  if (known != nullptr && dladdr(known, &at) != 0 && at.dli_fname != nullptr) library.path = at.dli_fname;
  describe(library, handle);
  if (in_single && library.in_single.plan_many_dft == nullptr) {
    const std::string file = beside(library.path, "fftw3f");
    if (void* single = file.empty() ? nullptr : dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL))
      find_calls(library.in_single, single);
  }
  const auto whole = [&](const auto& api, const char* precision, const char* package) {
    if (api.plan_many_dft != nullptr && api.execute_dft != nullptr && api.destroy_plan != nullptr) return;
    throw cannot(std::string("no ") + precision + " precision FFT in or beside " + library.path,
                 std::string("install it (Debian: ") + package + "), or choose the other --precision");
  };
  if (in_double) whole(library.in_double, "double", "libfftw3-double3");
  if (in_single) whole(library.in_single, "single", "libfftw3-single3");
  std::string found = "serial";
  if (in_double && threads > 1) found = find_threads(library.in_double, library.path);
  if (in_single && threads > 1) {
    const std::string second = find_threads(library.in_single, library.path);
    if (!in_double || second == "serial") found = second;
  }
  if (library.name != "mkl") library.threading = found;
  return library;
}

/// A plan of a transform from one array to another, which keeps its input.
template <class T>
class Planned {
 public:
  Planned(const Api<T>& api, const std::vector<int>& lengths, std::complex<T>* in, std::complex<T>* out, Sign sign,
          Effort effort, int threads)
      : api_(&api) {
    if (api.plan_with_nthreads != nullptr) api.plan_with_nthreads(threads);
    constexpr unsigned kPreserveInput = 1U << 4;
    plan_ = api.plan_many_dft(static_cast<int>(lengths.size()), lengths.data(), 1, in, nullptr, 1, 0, out, nullptr, 1,
                              0, static_cast<int>(sign), static_cast<unsigned>(effort) | kPreserveInput);
    if (plan_ == nullptr) throw cannot("the library has no plan for this transform", "leave this size out");
  }
  ~Planned() { api_->destroy_plan(plan_); }
  Planned(const Planned&) = delete;
  Planned& operator=(const Planned&) = delete;
  /// Arrays of the same alignment as those of the plan. Any number of threads may call at once.
  void operator()(std::complex<T>* in, std::complex<T>* out) const { api_->execute_dft(plan_, in, out); }

 private:
  const Api<T>* api_;
  void* plan_ = nullptr;
};

}  // namespace shakedown::fft
