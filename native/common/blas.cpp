#include "blas.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <iterator>
#include <mutex>
#include <system_error>

#include "error.hpp"
#include "isa.hpp"

namespace shakedown {
namespace {

static_assert(std::endian::native == std::endian::little, "integers are handed over as the low half of 64 bits");

using Int = Blas::Int;
template <class T>
using Gemm = void(const char*, const char*, const Int*, const Int*, const Int*, const T*, const T*, const Int*,
                  const T*, const Int*, const T*, T*, const Int*, std::size_t, std::size_t);
using Copy = void(const Int*, const double*, const Int*, double*, const Int*);

template <class Function>
Function* find(void* handle, const std::string& name) {
  return reinterpret_cast<Function*>(dlsym(handle, name.c_str()));
}

/// A service function of OpenBLAS: builds for other programs add a prefix and, with 64-bit integers, a suffix.
template <class Function>
Function* find_openblas(void* handle, const std::string& name) {
  for (const char* prefix : {"", "scipy_"}) {
    for (const char* suffix : {"", "64_", "_64"}) {
      if (auto* found = find<Function>(handle, prefix + ("openblas_" + name) + suffix)) return found;
    }
  }
  return nullptr;
}

/// Whether integers have 64 bits. The name does not tell (Debian's libopenblas64 exports dgemm_). So a vector of length
/// 1 - 2^32 is copied: 32 bits of it read as 1 and the element is copied; 64 bits read as negative, which copies
/// nothing, without an error, in every version of this level-1 routine.
bool has_64_bit_integers(const Blas& blas) {
  auto* copy = blas.routine<Copy>("dcopy");
  if (copy == nullptr) return blas.suffix.find("64") != std::string::npos;
  const Int length = 1 - (Int{1} << 32), step = 1;
  const double from = 1;
  double to = 0;
  copy(&length, &from, &step, &to, &step);
  return to == 0;
}

bool describe_openblas(Blas& blas) {
  auto* config = find_openblas<const char*()>(blas.handle, "get_config");
  if (config == nullptr) return false;
  blas.name = "openblas";
  blas.description = config();
  if (auto* core = find_openblas<const char*()>(blas.handle, "get_corename")) blas.kernel = core();
  if (auto* parallel = find_openblas<int()>(blas.handle, "get_parallel")) {
    const int kind = parallel();
    blas.threading = kind == 0 ? "serial" : kind == 1 ? "pthread" : kind == 2 ? "openmp" : "unknown";
  }
  blas.setter = find_openblas<void(Int)>(blas.handle, "set_num_threads");
  blas.getter = find_openblas<int()>(blas.handle, "get_num_threads");
  return true;
}

bool describe_blis(Blas& blas) {
  auto* version = find<const char*()>(blas.handle, "bli_info_get_version_str");
  if (version == nullptr) return false;
  blas.description = version();
  blas.name = blas.description.find("AOCL") != std::string::npos ? "aocl" : "blis";
  auto* query = find<int()>(blas.handle, "bli_arch_query_id");
  auto* word = find<const char*(int)>(blas.handle, "bli_arch_string");
  if (query != nullptr && word != nullptr) blas.kernel = word(query());
  auto* openmp = find<Int()>(blas.handle, "bli_info_get_enable_openmp");
  auto* pthreads = find<Int()>(blas.handle, "bli_info_get_enable_pthreads");
  if (openmp != nullptr && pthreads != nullptr)
    blas.threading = openmp() != 0 ? "openmp" : pthreads() != 0 ? "pthread" : "serial";
  blas.setter = find<void(Int)>(blas.handle, "bli_thread_set_num_threads");
  blas.getter = find<int()>(blas.handle, "bli_thread_get_num_threads");
  return true;
}

/// MKL's single library takes its threads from Intel's OpenMP and ends the program where that is absent: take GNU's
/// then, or none. A choice by the user (MKL_THREADING_LAYER) stands.
void choose_mkl_layer(Blas& blas) {
  auto* choose = find<int(int)>(blas.handle, "MKL_Set_Threading_Layer");
  const char* chosen = std::getenv("MKL_THREADING_LAYER");
  blas.threading = "openmp";
  if (chosen != nullptr && std::string(chosen) == "SEQUENTIAL") blas.threading = "serial";
  if (choose == nullptr || chosen != nullptr) return;
  const std::string beside = (std::filesystem::path(blas.path).parent_path() / "libiomp5.so").string();
  if (dlopen("libiomp5.so", RTLD_NOW | RTLD_GLOBAL) != nullptr) return;
  if (dlopen(beside.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr) return;
  constexpr int kSequential = 1, kGnu = 3;  // mkl_service.h
  const bool gnu = dlopen("libgomp.so.1", RTLD_NOW | RTLD_GLOBAL) != nullptr;
  choose(gnu ? kGnu : kSequential);
  if (!gnu) blas.threading = "serial";
}

bool describe_flexiblas(Blas& blas) {
  auto* set = find<void(Int)>(blas.handle, "flexiblas_set_num_threads");
  if (set == nullptr) return false;
  blas.name = "flexiblas";
  if (auto* version = find<void(int*, int*, int*)>(blas.handle, "flexiblas_get_version")) {
    int major = 0, minor = 0, patch = 0;
    version(&major, &minor, &patch);
    blas.version = std::to_string(major) + '.' + std::to_string(minor) + '.' + std::to_string(patch);
  }
  if (auto* backend = find<int(char*, std::size_t)>(blas.handle, "flexiblas_current_backend")) {
    std::array<char, 256> words{};
    backend(words.data(), words.size());
    blas.kernel = blas.description = words.data();
  }
  blas.setter = set;
  blas.getter = find<int()>(blas.handle, "flexiblas_get_num_threads");
  return true;
}

bool describe_nvpl(Blas& blas) {
  auto* version = find<int()>(blas.handle, "nvpl_blas_get_version");
  if (version == nullptr) return false;
  const int number = version();
  blas.name = "nvpl";
  blas.version =
      std::to_string(number / 10000) + '.' + std::to_string(number / 100 % 100) + '.' + std::to_string(number % 100);
  blas.threading = blas.path.find("_seq") != std::string::npos ? "serial" : "openmp";
  blas.setter = find<void(Int)>(blas.handle, "nvpl_blas_set_num_threads");
  blas.getter = find<int()>(blas.handle, "nvpl_blas_get_max_threads");
  return true;
}

/// Those that say little: what is known of them is that they are there.
void describe_other(Blas& blas) {
  const std::string file = std::filesystem::path(blas.path).filename().string();
  blas.name = file.substr(file.starts_with("lib") ? 3 : 0, file.find(".so") - (file.starts_with("lib") ? 3 : 0));
  if (dlsym(blas.handle, "ATL_buildinfo") != nullptr) blas.name = "atlas";
  if (dlsym(blas.handle, "armplversion") != nullptr) blas.name = "armpl";
  if (dlsym(blas.handle, "omp_set_num_threads") != nullptr) {  // found where the library depends on an OpenMP
    blas.threading = "openmp";
    blas.setter = find<void(Int)>(blas.handle, "omp_set_num_threads");
    blas.getter = find<int()>(blas.handle, "omp_get_max_threads");
  }
}

void spell(Blas& blas) {
  for (const char* prefix : {"", "scipy_"}) {
    for (const char* suffix : {"_", "", "_64_", "_64", "__"}) {
      blas.prefix = prefix;
      blas.suffix = suffix;
      blas.symbol = prefix + std::string("dgemm") + suffix;
      blas.dgemm_ = blas.routine<void()>("dgemm");
      blas.sgemm_ = blas.routine<void()>("sgemm");
      if (blas.dgemm_ != nullptr) return;
    }
  }
  throw cannot("no DGEMM in " + blas.path, "name a BLAS library, such as libopenblas.so.0 or libmkl_rt.so.2");
}

void narrow(const Blas& blas, std::initializer_list<Int> numbers) {
  for (const Int number : numbers) {
    if (!blas.ilp64 && number > INT_MAX)
      throw usage(std::to_string(number) + " does not fit the 32-bit integers of " + blas.title());
  }
}

}  // namespace

namespace blas_detail {

std::string version_in(const std::string& text) {
  const auto digit = [&](std::size_t i) { return i < text.size() && text[i] >= '0' && text[i] <= '9'; };
  for (std::size_t begin = 0; begin < text.size(); ++begin) {
    if (!digit(begin)) continue;
    std::size_t end = begin;
    bool point = false;
    while (digit(end) || (end < text.size() && text[end] == '.' && digit(end + 1))) point |= text[end++] == '.';
    if (point) return text.substr(begin, end - begin);
    begin = end;
  }
  return "";
}

bool describe_mkl(Blas& blas) {
  auto* version = find<void(char*, int)>(blas.handle, "MKL_Get_Version_String");
  if (version == nullptr) return false;
  blas.name = "mkl";
  choose_mkl_layer(blas);
  std::array<char, 256> words{};
  version(words.data(), static_cast<int>(words.size()) - 1);
  blas.description = words.data();
  blas.description.erase(blas.description.find_last_not_of(' ') + 1);
  blas.setter = find<void(Int)>(blas.handle, "MKL_Set_Num_Threads");
  blas.getter = find<int()>(blas.handle, "MKL_Get_Max_Threads");
  return true;
}

}  // namespace blas_detail

Blas::Doubt Blas::kernel_doubt() const {
  // As OpenBLAS and BLIS call them.
  static const char* const kWithout[] = {"Haswell", "Zen",     "Sandybridge", "Nehalem",   "Prescott", "Core2",
                                         "generic", "haswell", "sandybridge", "Excavator", "Bulldozer"};
  const auto isas = machine_isas();
  if (std::find(isas.begin(), isas.end(), "avx512") == isas.end()) return {};
  if (std::find(std::begin(kWithout), std::end(kWithout), kernel) == std::end(kWithout)) return {};
  Doubt doubt{"the BLAS uses its kernels for " + kernel + ", and this processor has AVX-512",
              "take a newer library, or one made for this processor"};
  for (const char* variable : {"OPENBLAS_CORETYPE", "BLIS_ARCH_TYPE"}) {
    if (const char* value = std::getenv(variable))
      doubt.advice = std::string("unset ") + variable + ", which is " + value;
  }
  return doubt;
}

Blas Blas::load(const std::string& path, int threads) {
  // setenv and a library's own start are for one thread at a time; ranks of a test are threads of one process.
  static std::mutex one_at_a_time;
  const std::scoped_lock guard(one_at_a_time);
  const std::string count = std::to_string(threads);
  for (const char* variable : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS",
                               "GOTO_NUM_THREADS", "NVPL_BLAS_NUM_THREADS"}) {
    setenv(variable, count.c_str(), 1);
  }
  setenv("MKL_DYNAMIC", "FALSE", 1);  // else MKL takes fewer threads than it was told to
  Blas blas;
  blas.handle = dlopen(path.c_str(), RTLD_LOCAL | RTLD_NOW);
  if (blas.handle == nullptr) {
    const char* why = dlerror();
    throw cannot("cannot load the BLAS library '" + path + "': " + (why == nullptr ? "unknown" : why),
                 "give the path of a shared library; set LD_LIBRARY_PATH for what it depends on");
  }
  blas.path = path;
  spell(blas);
  Dl_info at{};
  if (dladdr(reinterpret_cast<void*>(blas.dgemm_), &at) != 0 && at.dli_fname != nullptr) blas.path = at.dli_fname;
  std::error_code ignored;
  if (const auto real = std::filesystem::canonical(blas.path, ignored); !ignored) blas.path = real.string();
  blas.threading = "unknown";
  // FlexiBLAS first: it answers to the service functions of others too.
  if (!describe_flexiblas(blas) && !describe_openblas(blas) && !describe_blis(blas) &&
      !blas_detail::describe_mkl(blas) && !describe_nvpl(blas)) {
    describe_other(blas);
  }
  if (blas.version.empty()) blas.version = blas_detail::version_in(blas.description);
  blas.sets_threads = blas.setter != nullptr && blas.threading != "serial";
  blas.ilp64 = has_64_bit_integers(blas);
  return blas;
}

int Blas::set_threads(int threads) const {
  if (setter != nullptr) setter(threads);  // an int parameter reads the low half of the register
  return getter != nullptr ? getter() : 0;
}

std::string Blas::title() const {
  std::size_t end = 0;
  for (int parts = 0; parts < 3 && end < version.size(); ++parts) end = version.find('.', end + (parts > 0));
  return version.empty() ? name : name + ' ' + version.substr(0, end);
}

Object Blas::facts() const {
  Object facts;
  facts.add("library", title()).add("library_path", path).add("library_name", name).add("library_version", version);
  facts.add("library_kernel", kernel).add("library_threading", threading).add("library_description", description);
  facts.add("library_symbol", symbol).add("library_ilp64", ilp64).add("library_sets_threads", sets_threads);
  return facts;
}

void Blas::gemm(char trans_a, char trans_b, Int m, Int n, Int k, double alpha, const double* a, Int lda,
                const double* b, Int ldb, double beta, double* c, Int ldc) const {
  narrow(*this, {m, n, k, lda, ldb, ldc});
  reinterpret_cast<Gemm<double>*>(dgemm_)(&trans_a, &trans_b, &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc, 1,
                                          1);
}

void Blas::gemm(char trans_a, char trans_b, Int m, Int n, Int k, float alpha, const float* a, Int lda, const float* b,
                Int ldb, float beta, float* c, Int ldc) const {
  if (sgemm_ == nullptr) throw cannot("no SGEMM in " + path, "leave --precision s out");
  narrow(*this, {m, n, k, lda, ldb, ldc});
  reinterpret_cast<Gemm<float>*>(sgemm_)(&trans_a, &trans_b, &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc, 1,
                                         1);
}

}  // namespace shakedown
